# Work in spans of opentelemetry-sdk, with the example that ties them to fibers. Arguments: how the fibers change: threads,
# fibers; and a file for the ids of the spans.
require "opentelemetry/sdk"
require_relative "../../../examples/opentelemetry_context"
KIND, IDS = ARGV
OpenTelemetry::SDK.configure { |c| c.add_span_processor(OpenTelemetry::SDK::Trace::SpanProcessor.new) }
TRACER = OpenTelemetry.tracer_provider.tracer("test")
ROOTS = %w[a b].to_h { |name| [name, TRACER.start_root_span(name)] }
INNER = Thread::Queue.new
USED = Thread::Queue.new

def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

def work_a(n) = (i = 0; i += 1 while i < n)
def work_b(n) = (i = 0; i += 1 while i < n)
def work_none(n) = (i = 0; i += 1 while i < n)
def inner_a(n) = (i = 0; i += 1 while i < n)
def inner_b(n) = (i = 0; i += 1 while i < n)

# The clocks of a thread are its own: no other thread adds to them.
def clocks = Thread.current.thread_variable_get(:clocks)

def work(name, trace, turns)
  before = now
  turns.times { send(name, rand(200_000)) }
  clocks[trace] += now - before
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
  OpenTelemetry::Trace.with_span(ROOTS[name]) do
    work(:"work_#{name}", name, turns)
    TRACER.in_span("inner") do |span|
      INNER << [name, span.context.hex_trace_id, span.context.hex_span_id]
      work(:"inner_#{name}", name, 1)
      yield if block_given?
      work(:"inner_#{name}", name, 1)
    end
    # Another context with the same span, and one that ends by an exception.
    OpenTelemetry::Context.with_value("key", 1) { work(:"work_#{name}", name, 1) }
    begin
      TRACER.in_span("fails") { raise "x" }
    rescue RuntimeError
      work(:"work_#{name}", name, 1)
    end
  end
end

def turn
  case KIND
  when "threads"
    work(:work_none, "none", 1)
    request("a", 2)
    request("b", 1) { Fiber.new { work(:work_none, "none", 1) }.resume }
    request("b", 1) { threads(1) { work(:work_none, "none", 1) } }
  when "fibers"
    Fiber.set_scheduler(Turns.new)
    2.times { Fiber.schedule { request("a", 2) { sleep 0 } } }
    Fiber.schedule { request("b", 1) { sleep 0; work(:inner_b, "b", 1); sleep 0 } }
    Fiber.schedule { work(:work_none, "none", 1); sleep 0; work(:work_none, "none", 1) }
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
finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + $stdin.gets.to_f
threads(KIND == "threads" ? 3 : 1) { turn while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish }
sum = Hash.new(0)
sum.update(USED.pop) { |_, a, b| a + b } until USED.empty?
File.open(IDS, "w") do |f|
  ROOTS.each { |name, span| f.puts "work_#{name} #{span.context.hex_trace_id} #{span.context.hex_span_id}" }
  until INNER.empty?
    name, *ids = INNER.pop
    f.puts "inner_#{name} #{ids.join(" ")}"
  end
end
sum.each { |name, ns| puts "#{name} #{ns}" }
puts "done"
$stdout.flush
$stdin.gets
