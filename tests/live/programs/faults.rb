# A line of compiled code that spends nearly all of its time in the kernel: each of its writes is
# the first one to a page since fork. The program tells the time of such writes, and the time of writes
# to the same objects without faults.
class Thing
  def initialize = @value = 0
  def write(value)
    @value = value
  end
end

def write_all(things)
  i = 0
  n = things.size
  while i < n
    things[i].write(i)
    i += 1
  end
end

def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

def timed
  before = now
  yield
  now - before
end

GC.disable
# About one in each page of 4 KiB.
ALL = Array.new(400_000) { Thing.new }
THINGS = ALL.each_slice(100).map(&:first)
30.times { write_all(THINGS) }
$stdout.sync = true
puts "ready"
finish = now + $stdin.gets.to_f * 1_000_000_000
with = without = 0
while now < finish
  Process.wait(fork { exit! })
  with += timed { write_all(THINGS) }
  without += timed { write_all(THINGS) }
end
puts "#{with} #{without}"
$stdin.gets
