# What a dump must show: threads whose state, wait and lines are known. Prints "ready" when all of them are there.
require "io/wait"

Q = Queue.new
R, W = IO.pipe
M = Mutex.new
THREADS = []

def named(name, &block)
  THREADS << Thread.new { Thread.current.name = name; block.call }
end

def deep(n, &block)
  return block.call if n == 0
  deep(n - 1, &block)
end

named("popper") { Q.pop } # line 18
named("reader") { R.read(1) } # line 19
named("napper") { sleep } # line 20
named("joiner") { THREADS[0].join } # line 21
M.lock
named("locker") { M.lock } # line 23
named("burner") { deep(3) { i = 0; i += 1 while true } } # line 24

parked = Fiber.new do
  Fiber.yield 1 # line 27
end
parked.resume

$stdout.sync = true
sleep 0.01 until THREADS.first(5).all?(&:stop?) && THREADS.all?(&:name)
puts "ready"
$stdin.read(1) # line 34
