# 10. 90 of 100 objects are small, and 10 have 99.6 % of the bytes.
def small = Object.new # 40 bytes
def large = "x" * 100_000

Truth.measure do
  20_000.times do
    small; small; small; small; small; small; small; small; small
    large
  end
end
large_size = 100_000 + 1
share = 10 * large_size / (10.0 * large_size + 90 * 40)
Truth.tell([{ "what" => "share of the bytes of the method that makes one of ten", "kind" => "share", "any" => "\\blarge\\z",
              "among" => "\\b(small|large)\\z", "truth" => share }], "fixed" => true, "objects" => 200_000)
