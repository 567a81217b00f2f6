# Is stuck in an extension at a place that is known; see native_stuck.c.
require ARGV[0]
def Stuck.pong(depth, spins) = ping(depth, spins)

def reads = Stuck.read
def framed = Stuck.framed
def polls = Stuck.polled
def epolls = Stuck.epoll
def writes
  Stuck.written(File.open(ARGV[2], "w").fileno)
  puts "written"
  $stdout.flush
  sleep
end
def conds = Stuck.cond
def spins = Stuck.spin
def pings = Stuck.ping(5, false)
def pings_and_spins = Stuck.ping(5, true)
def sorts = Stuck.sorted { |a, b| Stuck.read; a <=> b }
def many
  threads = Array.new(40) { Thread.new { Thread.current.name = "spins"; Stuck.spin_without } }
  Thread.pass until threads.all?(&:stop?)
  puts "many"
  $stdout.flush
  sleep
end
def warm = 50.times { [1].each { |i| i + 1 } }

200.times { warm }
threads = [Thread.new { Thread.current.name = "conds"; conds }, Thread.new { Thread.current.name = "sleeps"; sleep }]
Thread.pass until threads.all?(&:stop?)
puts "ready"
$stdout.flush
__send__(ARGV[1])
