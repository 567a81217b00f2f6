# 5a. String#scan with a block: what the block does is not what scan does.
# Turns of 5 ms: a reading of the clock takes up to 2 us, and is in what the block is said to take.
TEXT = ("a" * 80_000 + "b") * 100

def burns(n)
  i = 0
  i += 1 while i < n
end

def scans
  inside = 0.0
  from = Truth.thread_cpu
  TEXT.scan(/b/) do
    at = Truth.thread_cpu
    burns(200_000)
    inside += Truth.thread_cpu - at
  end
  [Truth.thread_cpu - from, inside]
end

all = inside = 0.0
Truth.measure do
  while all < 1.0
    a, i = scans
    all += a
    inside += i
  end
end
Truth.tell([{ "what" => "share of the block", "kind" => "share", "any" => "\\bburns\\z", "among" => "\\bscans\\z", "truth" => inside / all }])
