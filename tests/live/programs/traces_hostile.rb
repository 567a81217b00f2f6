# Records of traces that are not what they should be. Each kind has a method of its own, which works while its record holds.
require_relative "trace_context"
A, B = "0af7651916cd43dd8448eb211c80319c", "b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0"
SPAN_A, SPAN_B = "00000000000000a1", "00000000000000b1"
PAGE = 4096
MAP = Fiddle::Function.new(Fiddle::Handle::DEFAULT["mmap"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, *[Fiddle::TYPE_INT] * 3,
                                                             Fiddle::TYPE_LONG], Fiddle::TYPE_VOIDP)
PROTECT = Fiddle::Function.new(Fiddle::Handle::DEFAULT["mprotect"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_INT],
                               Fiddle::TYPE_INT)

# Readable, writable, shared with a child, anonymous.
def pages(n) = MAP.call(nil, n * PAGE, 3, 0x21, -1, 0)
def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
def work(s) = (t = cpu + s; (1000.times { }) while cpu < t)

# Not unmapped: something else would be there soon.
closed = pages(1)
PROTECT.call(closed, PAGE, 0)
two = pages(2)
PROTECT.call(two + PAGE, PAGE, 0)
edge = two + PAGE - 20
edge[0, 20] = TraceContext.record(A, SPAN_A)[0, 20]
flapping, swapping = pages(1), pages(1)
flapping[0, 28] = swapping[0, 28] = TraceContext.record(A, SPAN_A)
BOTH = [TraceContext.record(A, SPAN_A), TraceContext.record(B, SPAN_B)]

# On another CPU, as fast as it can.
children = [
  fork { loop { flapping[24] = 0; flapping[24] = 1 } },
  fork { loop { BOTH.each { |r| swapping[24] = 0; swapping[0, 24] = r[0, 24]; swapping[24] = 1; 20.times { } } } },
]

ADDRESSES = {
  "low" => 1, "garbage" => 0xdead_beef_f00d, "kernel" => 0xffff_ffff_8100_0000, "not_canonical" => 1 << 62,
  "last" => (1 << 64) - 8, "closed" => closed, "edge" => edge,
  "invalid" => TraceContext.memory(A, SPAN_A, valid: 0), "valid_2" => TraceContext.memory(A, SPAN_A, valid: 2),
  "no_trace" => TraceContext.memory("0" * 32, SPAN_A),
  "no_span" => TraceContext.memory(A, "0" * 16),
  "long" => TraceContext.memory(A, SPAN_A, attributes: 0xffff),
  "flapping" => flapping, "swapping" => swapping, "own" => TraceContext.memory(A, SPAN_A),
}
ADDRESSES.each_key { |name| define_method(:"on_#{name}") { work(0.004) } }

# As a library does it: not valid, other ids, valid again.
def on_own
  p = ADDRESSES["own"]
  1000.times { BOTH.each { |r| p[24] = 0; p[0, 24] = r[0, 24]; p[24] = 1; 10.times { } } }
end

puts "ready"
$stdout.flush
finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + $stdin.gets.to_f
while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  ADDRESSES.each do |name, address|
    # Nothing else runs with it.
    TraceContext.with(address) { send(:"on_#{name}") }
  end
end
children.each { |pid| Process.kill(:KILL, pid) }
puts "done"
$stdout.flush
$stdin.gets
