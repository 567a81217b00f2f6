# Work for spans of traces, each in a method of its own. The work is between two readings of the thread's own CPU clock.
# Argument: how the spans change: threads, fibers, native (in a variable of the native thread).
require_relative "trace_context"
KIND = ARGV[0]
USED = Thread::Queue.new
TRACES = { "a" => "0af7651916cd43dd8448eb211c80319c", "b" => "ffffffffffffffff0000000000000001" }
RECORDS = %w[a1 a2 b1].to_h { |name| [name, TraceContext.memory(TRACES[name[0]], "00000000000000#{name}")] }

def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

def work_a1(n) = (i = 0; i += 1 while i < n)
def work_a2(n) = (i = 0; i += 1 while i < n)
def work_b1(n) = (i = 0; i += 1 while i < n)
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

def span(name, turns)
  TraceContext.with(RECORDS[name]) do
    work(name, turns)
    yield if block_given?
    work(name, turns)
  end
end

def turn
  case KIND
  when "threads"
    work("none", 1)
    span("a1", 2) { span("a2", 1) }
    span("b1", 1)
    # A thread begins without a context, and so does a fiber.
    span("b1", 1) { threads(1) { work("none", 1) } }
    span("a1", 1) { Fiber.new { work("none", 1) }.resume }
  when "native", "forked"
    work("none", 1)
    span("a1", 2) { span("a2", 1) }
    span("b1", 1) { threads(1) { work("none", 1) } }
    # The variable is the thread's, whichever fiber runs.
    span("a1", 1) { Fiber.new { work("a1", 1) }.resume }
  when "fibers"
    Fiber.set_scheduler(Turns.new)
    # Each is switched away in the middle.
    2.times { Fiber.schedule { span("a1", 1) { sleep 0; span("a2", 1) { sleep 0 }; sleep 0 } } }
    Fiber.schedule { span("b1", 2) { sleep 0 } }
    Fiber.schedule { work("none", 1); sleep 0; work("none", 1) }
    Fiber.set_scheduler(nil)
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
# What works is a child, which is made then.
fork ? (Process.wait; exit) : nil if KIND == "forked" && $stdin.gets
finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + $stdin.gets.to_f
threads(KIND == "fibers" ? 1 : 3) { turn while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish }
sum = Hash.new(0)
sum.update(USED.pop) { |_, a, b| a + b } until USED.empty?
sum.each { |name, ns| puts "#{name} #{ns}" }
puts "done"
$stdout.flush
$stdin.gets
