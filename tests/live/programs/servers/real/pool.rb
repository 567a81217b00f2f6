# Jobs on a pool of threads that share connections, as Sidekiq's do: eight threads, three connections.
$stdout.sync = true
require "concurrent"
require "connection_pool"
require "socket"
require_relative "measured"

# Asks the backend, again and again, on one connection.
class Connection
  def initialize = @socket = TCPSocket.new("127.0.0.1", ENV.fetch("BACKEND").to_i)

  def ask
    from = Measured.now
    @socket.write "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    nil until @socket.gets == "\r\n"
    Measured.since(from)
  end
end

CONNECTIONS = ConnectionPool.new(size: 3, timeout: 60) { Connection.new }

class Job
  def checkout
    from = Measured.now
    CONNECTIONS.checkout
    Measured.since(from)
  end

  def compute
    from = Measured.now
    till = from[1] + 2_000_000
    nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) < till
    Measured.since(from)
  end

  def perform
    from = Measured.now
    spent = { checkout: checkout }
    CONNECTIONS.with { |connection| spent[:ask] = connection.ask }
    CONNECTIONS.checkin
    spent[:compute] = compute
    spent.each { |name, ns| Measured.add(name, ns) }
    Measured.add(:perform, Measured.since(from))
  end
end

THREADS = Concurrent::FixedThreadPool.new(8)

def run_jobs(count)
  done = Concurrent::CountDownLatch.new(count)
  count.times { THREADS.post { Job.new.perform; done.count_down } }
  done.wait
end

run_jobs 50
Measured.reset
puts "ready"
while (count = $stdin.gets)
  run_jobs count.to_i
  puts Measured.report, "done"
end
