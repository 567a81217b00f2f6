# Waits of 50 ms, each in one system call, with what the program's own clock says of all of them; and, at the end, a
# call that does not return.
require "io/wait"
$stdout.sync = true
WAIT, TURNS = 0.05, 20
reader, = IO.pipe

def nap(io) = io.wait_readable(WAIT)
def stuck(path) = File.open(path)

puts "ready"
fifo = $stdin.gets.chomp
before = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
TURNS.times { nap(reader) }
puts Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - before
File.open("/") { }
Thread.new { stuck(fifo) }
sleep 0.3
puts "done"
$stdin.gets
