# 8. A busy thread of 2.0 s of CPU time: the weights of its samples are 2.0 s. TRUTH_NEIGHBOURS processes compete.
def burns
  i = 0
  i += 1 while i < 20_000
end

others = Array.new(ENV["TRUTH_NEIGHBOURS"].to_i) { spawn("/bin/sh", "-c", "while :; do :; done") }
at_exit { others.each { |pid| Process.kill(:KILL, pid) } }
used = 0.0
Truth.measure do
  from = Truth.thread_cpu
  burns while Truth.thread_cpu - from < 2.0
  used = Truth.thread_cpu - from
end
Truth.tell([{ "what" => "seconds of the busy thread", "kind" => "total", "any" => "\\bburns\\z|thread_cpu|clock_gettime", "truth" => used }])
