# Requests that time themselves. ARGV[0]: threads, fibers, nested, next or parked. A line is "NAME TID NS NS NS NS", CLOCK_MONOTONIC: before
# the labels and with them, at the end with them and without them.
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def compute(seconds) = (until_ = now + seconds * 1e9; i = 0; i += 1 while now < until_)

TIMES = Thread::Queue.new
LOCK = Mutex.new

def request(name)
  before, first, last = now
  Fiber.with_labels(request: name) do
    first = now
    yield
    last = now
  end
  TIMES << [name, Thread.current.native_thread_id, before, first, last, now]
end

# A scheduler that lets the other fibers run while one sleeps.
class Naps
  def initialize = @naps = {}
  def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)
  def kernel_sleep(seconds = nil) = (@naps[Fiber.current] = now + seconds * 1e9; Fiber.yield)
  def block(*) = Fiber.yield
  def unblock(*) = nil
  def io_wait(_, events, _) = events

  def close
    until @naps.empty?
      fiber, time = @naps.min_by(&:last)
      IO.select(nil, nil, nil, [(time - now) / 1e9, 0].max)
      @naps.delete(fiber)
      fiber.resume
    end
  end
end

puts "ready"
$stdout.flush
$stdin.gets
case ARGV[0]
when "threads"
  # Two threads, each with requests of several kinds; some follow another one that has the same labels.
  2.times.map do |t|
    Thread.new do
      Thread.current.name = "worker #{t}"
      4.times do
        sleep 0.03
        request("sleep") { sleep 0.12 }
        sleep 0.03
        request("compute") { compute(0.08) }
        sleep 0.03
        request("lock") { LOCK.synchronize { sleep 0.05 } }
        2.times { sleep 0.03; request("twice") { sleep 0.06 } }
      end
    end
  end.each(&:join)
when "fibers"
  # Fibers of one thread: they have the same labels at the same time.
  Thread.new do
    Fiber.set_scheduler(Naps.new)
    3.times do |i|
      Fiber.schedule do
        3.times do
          sleep 0.05
          request("same") { compute(0.02); sleep 0.1 + 0.05 * i; compute(0.02) }
        end
      end
    end
  end.join
when "nested"
  6.times do |i|
    sleep 0.03
    request("outer-#{i}") { sleep 0.05; Fiber.with_labels(step: "inner") { sleep 0.05 }; sleep 0.05 }
  end
when "next"
  # One follows the other at once, and all have the same labels; labels of less come and go in them.
  Fiber.with_labels(app: "shop") do
    12.times { |i| request("page") { Fiber.with_labels(step: 1) { compute(0.02) }; compute(0.01 * (1 + i % 3)) } }
  end
  # A fiber that ends, and the next one in its place.
  6.times { Fiber.new { request("fiber") { compute(0.03) } }.resume }
when "parked"
  # Fibers that wait in one place all the time, for one request after the other: of other labels, and of the same.
  sleep 0.3
  Thread.new do
    Fiber.set_scheduler(Naps.new)
    Fiber.schedule { 8.times { |i| request("job-#{i}") { sleep 0.2 } } }
    Fiber.schedule { 8.times { request("same") { sleep 0.21 } } }
    # It runs all the time, so that the kernel tells nothing of the others.
    Fiber.schedule { 40.times { compute(0.04); sleep 0.001 } }
  end.join
end
sleep 0.1
puts TIMES.pop.join(" ") until TIMES.empty?
puts "done"
$stdout.flush
$stdin.gets
