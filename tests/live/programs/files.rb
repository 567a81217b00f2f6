# Threads that wait for input from files of all kinds. Says which file each one waits for: "thread what", then "ready".
# The first argument is a directory for files. Told "go" they wait for half a second each, 20 times; each time of
# "brief" is on a connection of its own, which is closed at once. The end says how long each has waited, in ns.
require "socket"
require "pty"
require "io/console"
$stdout.sync = true
DIRECTORY = ARGV[0]
ROUNDS, PAUSE = 20, 0.05

def waits(io) = io.readpartial(1)
def accepts(server) = server.accept
def names(thread, what) = puts("#{thread} #{what}")

pairs = {}
tcp = TCPServer.new("127.0.0.1", 0)
client = TCPSocket.new("127.0.0.1", tcp.addr[1])
pairs["tcp"] = [client, tcp.accept]
names("tcp", "socket to 127.0.0.1:#{tcp.addr[1]}")
six = (TCPServer.new("::1", 0) rescue nil)
if six
  client = TCPSocket.new("::1", six.addr[1])
  pairs["six"] = [client, six.accept]
  names("six", "socket to [::1]:#{six.addr[1]}")
end
path = "#{DIRECTORY}/server.sock"
unix = UNIXServer.new(path)
client = UNIXSocket.new(path)
pairs["unix"] = [client, unix.accept]
names("unix", "socket to #{path}")
pairs["pipe"] = IO.pipe
names("pipe", "pipe #{File.readlink("/proc/self/fd/#{pairs["pipe"][0].fileno}")[/\d+/]}")
fifo = "#{DIRECTORY}/a fifo"
File.mkfifo(fifo)
pairs["fifo"] = [File.open(fifo, "r+"), File.open(fifo, "w")]
names("fifo", "pipe #{fifo}")
master, slave = PTY.open
slave.raw!
pairs["terminal"] = [slave, master]
names("terminal", "terminal #{slave.path}")

$waited = Hash.new(0)
def timed(name)
  from = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  yield.tap { $waited[name] += Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - from }
end

listener = TCPServer.new("127.0.0.1", 0)
names("acceptor", "socket at 127.0.0.1:#{listener.addr[1]}")
brief = TCPServer.new("127.0.0.1", 0)
names("brief", "socket to 127.0.0.1:#{brief.addr[1]}")
puts "ready"
$stdin.gets

threads = pairs.map do |name, (reader, _)|
  Thread.new { ROUNDS.times { timed(name) { waits(reader) } } }.tap { |t| t.name = name }
end
threads << Thread.new { ROUNDS.times { timed("acceptor") { accepts(listener) }.close } }.tap { |t| t.name = "acceptor" }
threads << Thread.new do
  ROUNDS.times do
    socket = TCPSocket.new("127.0.0.1", brief.addr[1])
    timed("brief") { waits(socket) }
    socket.close
  end
end.tap { |t| t.name = "brief" }
server = Thread.new { ROUNDS.times { s = brief.accept; sleep PAUSE; s.write("x"); s.close } }
ROUNDS.times do
  sleep PAUSE
  pairs.each_value { |_, writer| writer.write("x"); writer.flush }
  TCPSocket.new("127.0.0.1", listener.addr[1]).close
end
(threads + [server]).each(&:join)
$waited.each { |name, ns| puts "#{name} #{ns}" }
puts "done"
# Told once more, one thread waits for each file until the end.
$stdin.gets
waiting = pairs.map { |name, (reader, _)| Thread.new { waits(reader) }.tap { |t| t.name = name } }
sleep 0.01 until waiting.all?(&:stop?)
puts "waiting"
$stdin.gets
