# Fibers that wait under a small scheduler: for time, input and a queue, each in a method of its own. It begins when it is
# told, and says of each fiber how long it waited by its own clock, in ns.
$stdout.sync = true
SECONDS = ARGV[0].to_f

def wall = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

class Scheduler
  def initialize
    @ready, @readers, @sleepers, @blocked = [], {}, {}, 0
    @lock, @urgent = Mutex.new, IO.pipe
  end

  def fiber(&block)
    fiber = Fiber.new(blocking: false, &block)
    fiber.resume
    fiber
  end

  def kernel_sleep(seconds) = wait_until(now + seconds)
  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def wait_until(time)
    @sleepers[Fiber.current] = time
    Fiber.yield
  end

  def io_wait(io, events, timeout)
    @readers[io] = Fiber.current
    Fiber.yield
    events
  end

  def block(blocker, timeout = nil)
    @blocked += 1
    Fiber.yield
    true
  ensure
    @blocked -= 1
  end

  def unblock(blocker, fiber)
    @lock.synchronize { @ready << fiber }
    @urgent[1].write_nonblock("x")
  end

  def turn
    first = @sleepers.values.min
    readable, = IO.select(@readers.keys + [@urgent[0]], nil, nil, first && [first - now, 0].max)
    (readable || []).each { |io| io == @urgent[0] ? io.read_nonblock(100) : @readers.delete(io).resume }
    due = @sleepers.select { |_, time| time <= now }.keys
    due.each { |fiber| @sleepers.delete(fiber); fiber.resume }
    @lock.synchronize { @ready.slice!(0..) }.each(&:resume)
  end

  def close
    turn until @ready.empty? && @readers.empty? && @sleepers.empty? && @blocked.zero?
  end
end

def naps(seconds) = sleep(seconds)
def reads(io) = io.wait_readable
def pops(queue) = queue.pop
def burn(ns)
  till = wall + ns
  nil while wall < till
end

def waits(name, rounds)
  sum = rounds.times.sum { from = wall; yield; wall - from }
  $said << "#{name} #{sum}"
end

puts "ready"
$stdin.gets
$said, pipe, queue = [], IO.pipe, Queue.new
# Another thread feeds them.
feeder = Thread.new { 4.times { sleep SECONDS / 4; pipe[1] << "x"; queue << 1 } }
feeder.name = "feeder"
loop_of = Thread.new do
  Fiber.set_scheduler(Scheduler.new)
  Fiber.schedule { waits("napper", 1) { naps(SECONDS) } }
  Fiber.schedule { waits("short", (SECONDS / 0.1).to_i) { naps(0.1) } }
  Fiber.schedule { waits("reader", 4) { reads(pipe[0]); pipe[0].read_nonblock(10, exception: false) } }
  Fiber.schedule { waits("popper", 4) { pops(queue) } }
  Fiber.schedule { (SECONDS / 0.1).to_i.times { burn(10_000_000); sleep 0.05 } }
end
loop_of.name = "loop"
[loop_of, feeder].each(&:join)
puts $said, "done"
$stdin.gets
