# JSON read and written in plain Ruby.
require "strscan"

class PureJSON
  def parse(text)
    @s = StringScanner.new(text)
    value
  end

  def value
    @s.skip(/\s+/)
    if @s.skip(/\{/) then object
    elsif @s.skip(/\[/) then array
    elsif @s.skip(/"/) then string
    elsif (t = @s.scan(/-?\d+(\.\d+)?/)) then t.include?(".") ? t.to_f : t.to_i
    elsif @s.skip(/true/) then true
    elsif @s.skip(/false/) then false
    elsif @s.skip(/null/) then nil
    else raise ArgumentError, "at #{@s.pos}"
    end
  end

  def object
    h = {}
    until @s.skip(/\s*\}/)
      @s.skip(/\s*,?\s*"/)
      key = string
      @s.skip(/\s*:/)
      h[key] = value
    end
    h
  end

  def array
    a = []
    until @s.skip(/\s*\]/)
      @s.skip(/\s*,/)
      a << value
    end
    a
  end

  def string = @s.scan_until(/"/).chop

  def generate(v)
    case v
    when Hash then "{" + v.map { |k, x| "#{generate(k)}:#{generate(x)}" }.join(",") + "}"
    when Array then "[" + v.map { |x| generate(x) }.join(",") + "]"
    when String then %("#{v}")
    when nil then "null"
    else v.to_s
    end
  end
end

text = PureJSON.new.generate(Array.new(60) { |i|
  { "id" => i, "name" => "user #{i}", "tags" => %w[a b c], "score" => i * 1.5, "on" => i.even?, "none" => nil }
})
Workload.run(12) do
  json = PureJSON.new
  json.generate(json.parse(text)).size
end
