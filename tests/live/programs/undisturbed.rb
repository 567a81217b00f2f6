# Does the same work until it is told to stop, and counts all that another process could disturb:
# results, system calls that were interrupted, sleeps that ended early.
$stdout.sync = true
POLL = RUBY_PLATFORM.start_with?("x86_64") ? 7 : nil
$interrupted = $early = $wrong = $rounds = 0

def work
  h = Hash.new(0)
  3000.times { |i| h[i % 17] += i; [i].each { |j| h[:x] ^= j } }
  h.values.sum
end

def nap
  before = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  begin
    POLL ? syscall(POLL, 0, 0, 2) : sleep(0.002) # of no files, for 2 ms; not repeated by Ruby
  rescue Errno::EINTR
    $interrupted += 1
  end
  $early += 1 if Process.clock_gettime(Process::CLOCK_MONOTONIC) - before < 0.0019
end

stop = false
Thread.new { $stdin.gets; stop = true }
expected = work
puts "ready"
until stop
  $wrong += 1 if work != expected
  nap
  $rounds += 1
end
puts "rounds #{$rounds} wrong #{$wrong} interrupted #{$interrupted} early #{$early}"
