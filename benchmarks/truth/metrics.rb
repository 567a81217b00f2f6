# What an ask of a program means for the samples of a tool: a number that is compared with the truth.

module Truth
  # frames: [[name, place]], outermost first. weight: seconds, objects or bytes. state: nil, gc, gvl, idle.
  Sample = Struct.new(:frames, :weight, :state) do
    def any?(pattern) = frames.any? { |name, _| name.match?(pattern) }
    # The innermost method, not what it was in ([gvl], [GC mark]).
    def leaf = frames.reverse_each.find { |name, _| !name.start_with?("[") }
  end

  module Metrics
    module_function

    # ask: as a program tells it. Gives a number, or nil if the samples say nothing about it.
    def answer(ask, samples, did)
      return did[ask["key"]] if ask["kind"] == "did"
      send(ask["kind"], ask, samples)
    end

    def pattern(ask, key) = ask[key] && Regexp.new(ask[key])

    # among, under: only samples with both on the stack count.
    def share(ask, samples)
      among, under, any, leaf = %w[among under any leaf].map { |k| pattern(ask, k) }
      of = samples.select { |s| [among, under].compact.all? { |p| s.any?(p) } }
      all = of.sum(&:weight)
      return if all.zero?
      of = of.select { |s| s.any?(any) } if any
      of = of.select { |s| s.leaf && s.leaf[0].match?(leaf) } if leaf
      of = of.select { |s| s.state == ask["state"] } if ask["state"]
      of.sum(&:weight) / all.to_f
    end

    # 0.0 where the tool saw nothing of it.
    def total(ask, samples) = samples.select { |s| s.any?(pattern(ask, "any")) }.sum(&:weight).to_f

    # Share of samples with both of a pair on the stack; nil without any of the pair's methods.
    def cross(ask, samples)
      all = samples.select { |s| s.any?(/\b(#{ask["pairs"].flatten.join("|")})\z/) }.sum(&:weight)
      return if all.zero?
      samples.select { |s| ask["pairs"].any? { |a, b| s.any?(/\b#{a}\z/) && s.any?(/\b#{b}\z/) } }.sum(&:weight) / all.to_f
    end

    # Of the samples whose innermost method is in the file, the share of the line whose share is farthest from what it
    # should be. A line that a tool marks as approximate is none.
    def lines(ask, samples)
      counts = Hash.new(0)
      samples.each do |s|
        next unless s.any?(pattern(ask, "any")) && (leaf = s.leaf)
        file, line = leaf[1].to_s.match(/([^\/]*):(\d*)\z/)&.captures
        counts[line.to_i] += s.weight if file == ask["file"]
      end
      all = counts.values.sum
      return if all.zero? || counts.keys == [0]
      ask["lines"].map { |l| counts[l] / all.to_f }.max_by { |share| (share - ask["truth"]).abs }
    end
  end
end
