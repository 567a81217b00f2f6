# Work for requests with labels, each in a method of its own. The work is between two readings of the thread's own
# CPU clock. Argument: how the requests change: threads, fibers, nested, exceptions.
KIND = ARGV[0]
USED = Thread::Queue.new

def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

def work_a(n) = (i = 0; i += 1 while i < n)
def work_b(n) = (i = 0; i += 1 while i < n)
def work_none(n) = (i = 0; i += 1 while i < n)

# The clocks of a thread are its own: no other thread adds to them.
def clocks = Thread.current.thread_variable_get(:clocks)

def work(name, turns)
  before = now
  turns.times { send(:"work_#{name}", rand(200_000)) }
  clocks[name] += now - before
end

# A scheduler that gives each fiber that sleeps its turn after the others.
class Turns
  def initialize = @ready = []
  def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)
  def kernel_sleep(*) = (@ready << Fiber.current; Fiber.yield)
  def block(*) = kernel_sleep
  def unblock(*) = nil
  def io_wait(_, events, _) = events
  def close = (@ready.shift.resume until @ready.empty?)
end

def request(name, turns)
  Fiber.with_labels(request: name) do
    work(name, turns)
    yield if block_given?
    work(name, turns)
  end
end

def turn
  case KIND
  when "threads"
    work("none", 1)
    request("a", 3)
    request("b", 1)
    # A thread begins without labels, and can be given those of the one that made it.
    Fiber.with_labels(request: "b") { threads(1) { work("none", 1) } }
    Fiber.with_labels(request: "b") { labels = Fiber.labels; threads(1) { Fiber.with_labels(**labels) { work("b", 1) } } }
  when "fibers"
    Fiber.set_scheduler(Turns.new)
    # Both are switched away in the middle.
    2.times { Fiber.schedule { request("a", 2) { sleep 0; work("a", 1); sleep 0 } } }
    Fiber.schedule { request("b", 1) { sleep 0 } }
    Fiber.schedule { work("none", 1); sleep 0; work("none", 1) }
    Fiber.set_scheduler(nil)
  when "nested"
    request("a", 1) do
      request("b", 1) { Fiber.with_labels(tenant: 1) { work("b", 1) } }
      Fiber.with_labels(tenant: 2) { work("a", 2) }
      Fiber.with_labels(request: nil) { work("none", 1) }
    end
    work("none", 1)
  when "exceptions"
    begin
      request("a", 2) { request("b", 1) { raise "x" } }
    rescue
      work("none", 1)
    end
    catch(:done) { request("a", 1) { throw :done } }
    work("none", 1)
    [1].each { request("b", 1) { break } }
    work("none", 1)
  end
end

def threads(n)
  n.times.map do
    Thread.new do
      Thread.current.thread_variable_set(:clocks, Hash.new(0))
      yield
      USED << clocks
    end
  end.each(&:join)
end

puts "ready"
$stdout.flush
finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + $stdin.gets.to_f
threads(KIND == "threads" ? 3 : 1) { turn while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish }
sum = Hash.new(0)
sum.update(USED.pop) { |_, a, b| a + b } until USED.empty?
sum.each { |name, ns| puts "#{name} #{ns}" }
puts "done"
$stdout.flush
$stdin.gets
