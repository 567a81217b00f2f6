# Threads whose names differ in a number, more than anybody wants to see one by one. Each says how much
# CPU time it used.
puts "ready"
$stdout.flush
$stdin.gets
def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

def work(ms)
  begin_at = now
  i = 0
  i += 1 while now < begin_at + ms * 1_000_000
  now
end

used = Hash.new(0)
[["job-%d", 60, 25], ["io %d", 3, 200], ["other", 1, 300]].each do |name, count, ms|
  count.times.map { |i| Thread.new { Thread.current.name = format(name, i); work(ms) } }.each { |t| used[name] += t.value }
end
used.each { |name, ns| puts "#{name.tr(" ", "_")} #{ns}" }
puts "done"
$stdout.flush
$stdin.gets
