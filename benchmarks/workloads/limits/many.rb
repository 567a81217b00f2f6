# Memory of many threads, then of many fibers: each has a VM stack and a control frame.
now = -> { Workload.memory[:private] }
before = now.call
queue = Queue.new
threads = Array.new(100) { Thread.new { queue.pop } }
sleep 0.01 until threads.all?(&:stop?)
with_threads = now.call
100.times { queue << 1 }
threads.each(&:join)
start = now.call
fibers = Array.new(1000) { Fiber.new { Fiber.yield }.tap(&:resume) }
with_fibers = now.call
fibers.each(&:resume)
Workload.report(file: Workload.memory[:file], private: before, private_100_threads: with_threads, private_1000_fibers: with_fibers - start + before)
