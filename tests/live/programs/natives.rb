# A native function by Fiddle, what runs next, and String#scan with a block: each has the CPU time that this thread's own
# clock says. The first argument is not used.
require "fiddle"
LENGTH = Fiddle::Function.new(Fiddle::Handle::DEFAULT["strlen"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_SIZE_T)
LONG = Fiddle::Pointer["x" * 100_000_000]
TEXT = ("a" * 40_000 + "b") * 100

def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

# What a call of now takes: half of it is between the two that are around a block, before and behind, but none of it
# is the block's.
NOW_TAKES = begin
  n, i, from = 20_000, 0, now
  while i < n
    now
    i += 1
  end
  (now - from) / n
end

def native = LENGTH.call(LONG)

def what_runs_next
  Thread.current
  burn(60_000)
end

def burn(n)
  i = 0
  i += 1 while i < n
end

def inside = burn(3_000)

def scans
  within = 0
  TEXT.scan(/b/) do
    at = now
    inside
    within += now - at - NOW_TAKES
  end
  within
end

def run(seconds)
  spent = Hash.new(0)
  before = from = now
  while before - from < seconds * 1_000_000_000
    native
    at = now
    spent["native"] += at - before
    what_runs_next
    before = now
    spent["what_runs_next"] += before - at
    within = scans
    at = now
    spent["inside"] += within
    spent["scans"] += at - before - within
    before = at
  end
  spent
end

$stdout.sync = true
run(0.3)
puts "ready"
run($stdin.gets.to_f).each { |method, ns| puts "#{method} #{ns}" }
puts "done"
$stdin.gets
