# Names of wide letters, of letters with combining marks and of emoji, each at many widths.
NAMES = ["日本語の名前" * 3, "한국어" * 4, "e\u0301te\u0301" * 6, "💎" * 12, "ascii_name" * 3, "ж" * 25]

def burn(rounds)
  i = 0
  i += 1 while i < rounds
end

NAMES.each_with_index do |name, index|
  (1..3).each do |width|
    define_method(:"#{name}#{width}") { burn(width * width * 9000 + index) }
  end
end
ALL = NAMES.flat_map { |name| (1..3).map { |width| :"#{name}#{width}" } }

puts "ready"
$stdout.flush
ALL.each { |name| send(name) } while true
