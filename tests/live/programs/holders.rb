# The GVL and a Mutex are held in known lines, and many threads wait for them. It says for how long each line was held, by
# its own clock, in ns. The first argument is the kind, the second one a number of seconds.
require "monitor"

KIND, TILL = ARGV[0], Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) + ARGV[1].to_f * 1e9
NUMBERS = (1..2000).to_a.shuffle(random: Random.new(1))

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

def counts
  i = 0
  i += 1 while i < 20_000 # counts
end

def sorts
  NUMBERS.sort # sorts
end

def slices
  NUMBERS.each_entry.each_slice(2000) { } # slices
end

def other
  i = 0
  i += 1 while i < 20_000 # other
end

$took = Hash.new(0)

def hold(ms, way)
  from = now
  send(way) while now < from + ms * 1_000_000
  $took[way] += now - from
end

def nappers(count)
  count.times.map { Thread.new { sleep 0.02 while now < TILL } }
end

case KIND
when "lines"
  threads = nappers(30)
  while now < TILL
    hold 35, :counts
    hold 10, :sorts
    hold 5, :slices
  end
  threads.each(&:join)
when "fibers"
  threads = nappers(10)
  fibers = [[30, :counts], [20, :other]].map { |ms, way| Fiber.new { loop { hold ms, way; Fiber.yield } } }
  fibers.each(&:resume) while now < TILL
  threads.each(&:join)
when "locks"
  lock, monitor = Mutex.new, Monitor.new
  threads = 20.times.map do
    Thread.new do
      while now < TILL
        lock.synchronize { sleep 0.01 } # lock
      end
    end
  end
  threads += 10.times.map do
    Thread.new do
      while now < TILL
        monitor.synchronize { sleep 0.01 } # monitor
      end
    end
  end
  threads.each(&:join)
end
$took.each { |way, ns| puts "#{way} #{ns}" }
