# 12. Two ractors of different methods, and the main one waits.
Warning[:experimental] = false
def one(n)
  i = 0
  i += 1 while i < n
end

def two(n)
  i = 0
  i += 1 while i < n
end

times = nil
Truth.measure do
  a = Ractor.new { from = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID); 40.times { one(3_000_000) }; Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - from }
  b = Ractor.new { from = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID); 20.times { two(3_000_000) }; Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - from }
  times = [a.take, b.take]
end
Truth.tell([{ "what" => "seconds in ractor 1", "kind" => "total", "any" => "\\bone\\z", "truth" => times[0] },
            { "what" => "seconds in ractor 2", "kind" => "total", "any" => "\\btwo\\z", "truth" => times[1] }], "fixed" => true)
