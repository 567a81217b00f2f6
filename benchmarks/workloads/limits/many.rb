# Memory of many threads, then of many fibers: each has a VM stack and a control frame.
before = File.read("/proc/self/status")[/RssAnon:\s+(\d+)/, 1].to_i
now = -> { File.read("/proc/self/status")[/RssAnon:\s+(\d+)/, 1].to_i }
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
file = File.read("/proc/self/status")[/RssFile:\s+(\d+)/, 1].to_i
Workload.report(file: file, private: before, private_100_threads: with_threads, private_1000_fibers: with_fibers - start + before)
