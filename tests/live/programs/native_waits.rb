# Waits in an extension whose native stacks are known; see native_waits.c.
require ARGV[0]
$stdout.sync = true
def Waits.onward(depth, us) = again(depth, us)

def holds = Waits.hold(4000)
def locks = Waits.futex(4000)
def polls = Waits.poll(4000)
def agains = Waits.again(3, 4000)
def sorts = [3, 1, 2].sort { |a, b| Waits.hold(4000); a > b ? 1 : -1 }
def in_thread = Thread.new { Waits.hold(20_000) }.join
def in_ractor = Ractor.new { Waits.hold(20_000) }.take
def here(fiber) = Waits.resumes(fiber, 2000)
def there = Waits.yields(2000)
def switches = here($fiber ||= Fiber.new { there while true })
# Another thread has the GVL.
def contends
  $busy ||= Thread.new { loop { (1..1000).sum { |i| i ^ 5 } } }
  Waits.contend
end

if ARGV[1] == "rest"
  Thread.new { Thread.current.name = "rest"; Waits.poll(1_000_000_000) }
  Thread.new { Thread.current.name = "pool"; loop { $queue.pop } }
  $queue = Thread::Queue.new
end
puts "ready"
while (line = $stdin.gets)
  what, seconds = line.split
  Waits.waited
  until_ = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds.to_f
  __send__(what) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < until_
  puts Waits.waited
end
