# 6. One hot loop with YJIT: eight lines that do the same thing, so each has an eighth.
def hot(n)
  a = 1
  n.times do
    a = (((((((a * 3 + 1) & 65535) * 5 + 7) & 65535) * 3 + 9) & 65535) * 7 + 1) & 65535 # line A
    a = (((((((a * 3 + 1) & 65535) * 5 + 7) & 65535) * 3 + 9) & 65535) * 7 + 1) & 65535
    a = (((((((a * 3 + 1) & 65535) * 5 + 7) & 65535) * 3 + 9) & 65535) * 7 + 1) & 65535
    a = (((((((a * 3 + 1) & 65535) * 5 + 7) & 65535) * 3 + 9) & 65535) * 7 + 1) & 65535
    a = (((((((a * 3 + 1) & 65535) * 5 + 7) & 65535) * 3 + 9) & 65535) * 7 + 1) & 65535
    a = (((((((a * 3 + 1) & 65535) * 5 + 7) & 65535) * 3 + 9) & 65535) * 7 + 1) & 65535
    a = (((((((a * 3 + 1) & 65535) * 5 + 7) & 65535) * 3 + 9) & 65535) * 7 + 1) & 65535
    a = (((((((a * 3 + 1) & 65535) * 5 + 7) & 65535) * 3 + 9) & 65535) * 7 + 1) & 65535
  end
  a
end

FIRST = File.foreach(__FILE__).with_index(1).find { |text, _| text.include?("# line A") }.last
hot(10_000)
sum = nil
Truth.measure { 10.times { sum = hot(1_000_000) } }
Truth.tell([{ "what" => "an eighth of the time on each of eight lines: the line that is farthest off", "kind" => "lines",
              "any" => "\\bhot\\z", "lines" => [*FIRST...FIRST + 8], "file" => File.basename(__FILE__), "truth" => 1 / 8.0 }],
           "fixed" => true, "sum" => sum, "yjit" => RubyVM::YJIT.enabled?)
