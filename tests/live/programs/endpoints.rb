# A server that times its requests. Each worker takes requests one after the other: a name, and how long it is to take.
# A line at the end is "NAME ID NS NS NS NS CPU": CLOCK_MONOTONIC before the labels and with them, at the end with them and
# without them, and CPU time of the thread with them, ns.
# ARGV[0]: how many of each endpoint.
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
def compute(seconds) = (until_ = cpu + seconds * 1e9; i = 0; i += 1 while cpu < until_)

TIMES = Thread::Queue.new
LOCK = Mutex.new
COUNT = Integer(ARGV[0])
WORK = Thread::Queue.new

def request(name, id)
  first, last, used = nil
  before = now
  Fiber.with_labels(controller: name, id: id) do
    first, used = now, cpu
    yield
    last, used = now, cpu - used
  end
  TIMES << [name, id, before, first, last, now, used]
end

def serve(name, id, seconds)
  case name
  when "sleep" then request(name, id) { sleep seconds }
  when "cpu" then request(name, id) { compute(seconds) }
  # Two of them are served at a time: each holds the lock for all of its time, and waits for the other one.
  when "lock" then request(name, id) { LOCK.synchronize { sleep seconds } }
  # Two of them compute: after the sleep one waits for the GVL of the other one.
  when "gvl" then request(name, id) { compute(seconds / 2); sleep 0.001; compute(seconds / 2) }
  end
end

# One endpoint after the other, so that it is known what each waits for; slower and slower, in no order.
def phase(name, threads, random)
  COUNT.times.map { |i| 0.004 + 0.0005 * i + (i % 10 == 9 ? 0.03 : 0) }.shuffle(random: random).each_with_index { |s, i| WORK << ["#{name}-#{i}", s] }
  threads.times.map do
    Thread.new do
      until WORK.empty?
        id, seconds = WORK.pop(timeout: 0)
        break unless id
        serve(name, id, seconds)
        sleep 0.002
      end
    end
  end.each(&:join)
end

puts "ready"
$stdout.flush
$stdin.gets
random = Random.new(42)
phase("sleep", 1, random)
phase("cpu", 1, random)
phase("lock", 2, random)
phase("gvl", 2, random)
sleep 0.1
puts TIMES.pop.join(" ") until TIMES.empty?
puts "done"
$stdout.flush
$stdin.gets
