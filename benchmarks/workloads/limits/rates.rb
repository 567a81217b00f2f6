# Switches and allocations per second of CPU time.
def rate(n)
  t = Workload.cpu
  yield
  (n / (Workload.cpu - t)).round
end

scale = Integer(ARGV[0] || 1)
results = {}
n = 40_000 * scale
results[:thread_pass] = rate(n) { Array.new(4) { Thread.new { (n / 4).times { Thread.pass } } }.each(&:join) }
n = 20_000 * scale
results[:thread_queue] = rate(n) do
  a, b = Queue.new, Queue.new
  t = Thread.new { n.times { b << a.pop } }
  n.times { |i| a << i; b.pop }
  t.join
end
n = 3_000 * scale
results[:thread_create] = rate(n) { n.times { Thread.new {}.join } }
n = 1_000_000 * scale
fiber = Fiber.new { Fiber.yield while true }
results[:fiber_switch] = rate(n) { n.times { fiber.resume } }
n = 40_000 * scale
results[:fiber_create] = rate(n) { n.times { Fiber.new {}.resume } }
n = 2_000_000 * scale
results[:allocate] = rate(n) { i = 0; while i < n; Object.new; i += 1; end }
Workload.report(results)
