# 1. A C call (String#count) of about 15 ms that is 38 % of the CPU time, beside a Ruby loop.
TEXT = "abcdefgh" * 2_000_000

def loops(n)
  i = 0
  i += 1 while i < n
end

def counts = TEXT.count("a-c", "^b")

def timed
  from = Truth.thread_cpu
  yield
  Truth.thread_cpu - from
end

# As many turns as make the call 38 %.
call = Array.new(5) { timed { counts } }.min
turns = (1_000_000 * call / 0.38 * 0.62 / Array.new(5) { timed { loops(1_000_000) } }.min).to_i
called = looped = 0.0
Truth.measure do
  (1.5 / (call / 0.38)).to_i.clamp(20, 200).times do
    called += timed { counts }
    looped += timed { loops(turns) }
  end
end
# under: extprof records the whole program, and so the calls above that find the number of turns.
Truth.tell([{ "what" => "share of String#count", "kind" => "share", "leaf" => "\\b(String#)?count\\z", "among" => "\\b(counts|loops)\\z",
              "under" => "\\bmeasure\\z", "truth" => called / (called + looped) }])
