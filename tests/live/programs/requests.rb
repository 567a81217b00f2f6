# Requests that time themselves. ARGV[0]: threads, fibers or nested. A line is "NAME TID NS NS NS NS", CLOCK_MONOTONIC: before
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
end
sleep 0.1
puts TIMES.pop.join(" ") until TIMES.empty?
puts "done"
$stdout.flush
$stdin.gets
