# Twenty fibers, each resumed at fifty frames' depth: their stacks are touched in turn.
def nest(depth, &work) = depth == 0 ? work.call : nest(depth - 1, &work) + 0

Workload.run(20) do
  fibers = Array.new(20) do |i|
    Fiber.new { nest(50) { 50.times { |k| Fiber.yield(k + i) }; 0 } }
  end
  sum = 0
  50.times { fibers.each { |f| sum += f.resume } }
  sum
end
