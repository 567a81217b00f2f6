# A pool that takes jobs, as a server's, and its own clocks: how long each thread was in jobs, of each kind. Beside it
# threads that rest, and threads that are stuck in a request.
require "socket"
require "timeout"

NS = Process::CLOCK_MONOTONIC
LOCK = Mutex.new
ASKED = Mutex.new
ANSWERED = ConditionVariable.new
SERVER = TCPServer.new("127.0.0.1", 0)
PORT = SERVER.addr[1]

def now = Process.clock_gettime(NS, :nanosecond)

# What a job waits for. Each is seen below the loop of the pool, too.
def naps = sleep(0.03)

def locks
  LOCK.synchronize { sleep 0.02 }
end

def reads = TCPSocket.open("127.0.0.1", PORT, &:read)

def waits
  ASKED.synchronize { ANSWERED.wait(ASKED, 0.03) }
end

def pops = Queue.new.pop(timeout: 0.03)

def polls
  until_ = now + 30_000_000
  loop { now > until_ ? break : sleep(0.01) }
end

def selects = IO.select([$never], nil, nil, 0.03)

def computes
  till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) + 5_000_000
  nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) < till
end

KINDS = %i[naps locks reads waits pops polls selects computes]
$never, $writer = IO.pipe
$spent = Hash.new(0)
$count = 0
jobs = Queue.new

def timed(name, kind)
  from = now
  send(kind)
ensure
  $spent["#{name} #{kind}"] += now - from
end

# -- the pool ------------------------------------------------------------------------------------
3.times do |i|
  Thread.new do
    Thread.current.name = "pool #{i}"
    loop do
      job = jobs.pop
      job.call("pool-#{i}")
    end
  end
end

2.times do |i|
  Thread.new do
    Thread.current.name = "while #{i}"
    while (job = jobs.pop)
      job.call("while-#{i}")
    end
  end
end

# -- threads that rest ---------------------------------------------------------------------------
Thread.new do
  Thread.current.name = "acceptor"
  loop do
    client = SERVER.accept
    # A thread for each request, which waits in its own block.
    Thread.new do
      Thread.current.name = "request"
      sleep 0.03
      client.close
    end
  end
end
Thread.new do
  Thread.current.name = "timer"
  loop { sleep 0.5 }
end
Timeout.timeout(1) { nil }

# -- threads that are stuck, all the time --------------------------------------------------------
def answer(queue) = queue.pop

Thread.new do
  Thread.current.name = "stuck queue"
  answer(Queue.new)
end
held = Mutex.new
Thread.new { Thread.current.name = "holder"; held.lock; answer(Queue.new) }
sleep 0.01 until held.locked?
Thread.new do
  Thread.current.name = "stuck mutex"
  loop { held.synchronize { nil } }
end
quiet = TCPServer.new("127.0.0.1", 0)
Thread.new do
  Thread.current.name = "stuck socket"
  loop { TCPSocket.open("127.0.0.1", quiet.addr[1], &:read) }
end
def handle = loop { sleep 0.1 }
Thread.new { Thread.current.name = "stuck poll"; handle }
Thread.new { Thread.current.name = "labelled"; Fiber.with_labels(request: "GET /") { loop { Queue.new.pop } } } if Fiber.respond_to?(:with_labels)

# -- work ----------------------------------------------------------------------------------------
Thread.new do
  Thread.current.name = "client"
  $stdout.sync = true
  puts "ready #{Fiber.respond_to?(:with_labels)}"
  $stdin.gets
  from = now
  rounds = ARGV[0].to_i
  rounds.times do |i|
    # Written within the client, and called by the pool.
    kind = KINDS[i % KINDS.size]
    jobs << ->(name) { timed(name, kind) }
    sleep 0.02
  end
  sleep 0.2
  $spent.each { |name, ns| puts "#{name} #{ns}" }
  puts "done"
  $stdin.gets
  exit!
end.join
