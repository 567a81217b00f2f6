# Fibers that wait in two methods of one depth in turns, under a small scheduler that switches in C. It says how long they
# were in each by their own clocks, in ns.
$stdout.sync = true
FIBERS, SECONDS = 40, ARGV[0].to_f

def wall = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

class Scheduler
  def initialize = (@sleepers, @loop = {}, Fiber.current)
  def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:transfer)
  def block(*) = raise("nobody blocks")
  def unblock(*) = nil
  def io_wait(*) = raise("nobody reads")

  def kernel_sleep(seconds)
    @sleepers[Fiber.current] = wall + (seconds * 1e9).to_i
    @loop.transfer
  end

  def close
    until @sleepers.empty?
      fiber, time = @sleepers.min_by(&:last)
      late = time - wall
      IO.select(nil, nil, nil, late / 1e9) if late > 0
      @sleepers.delete(fiber)
      fiber.transfer
    end
  end
end

def shorter = sleep(0.05)
def longer = sleep(0.15)

def takes(name)
  from = wall
  yield
  $said[name] += wall - from
end

def alternates(number)
  sleep number * 0.2 / FIBERS
  while wall < $till
    takes(:shorter) { shorter }
    takes(:longer) { longer }
  end
  $loop.transfer
end

puts "ready"
$stdin.gets
$said, $till = Hash.new(0), wall + SECONDS * 1e9
looping = Thread.new do
  $loop = Fiber.current
  Fiber.set_scheduler(Scheduler.new)
  FIBERS.times { |i| Fiber.schedule { alternates(i) } }
end
looping.name = "loop"
looping.join
$said.each { |name, ns| puts "#{name} #{ns}" }
puts "done"
$stdin.gets
