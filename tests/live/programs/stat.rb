# Programs that count what they do, each by its own means. A line on stdin names what to do; what was counted is said
# as name=value ... when it is done.
$stdout.sync = true
GC.measure_total_time = true

def wall = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
def process_cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)

def burn(ns)
  till = wall + ns
  nil while wall < till
end

def named(name, &work)
  t = Thread.new(&work)
  t.name = name
  t
end

def say(**values) = puts(values.map { |k, v| "#{k}=#{v}" }.join(" "))

# Three threads that sleep 5 ms again and again beside one that computes: how late each of them was.  A thread waits
# for the GVL before its first line, too.
def nappers(seconds)
  till, late = wall + (seconds * 1e9).to_i, Queue.new
  threads = [named("burner") { burn((seconds * 1e9).to_i) }]
  3.times do |i|
    made = wall
    threads << named("napper #{i}") do
      late << wall - made
      while wall < till
        from = wall
        sleep 0.005
        late << wall - from - 5_000_000
      end
    end
  end
  threads.each(&:join)
  say(late: Array.new(late.size) { late.pop }.sort.join(","))
end

# It has the GVL for a known part of the time.
def holds(seconds)
  till, held, from = wall + (seconds * 1e9).to_i, 0, wall
  while (begun = wall) < till
    burn(7_000_000)
    held += wall - begun
    sleep 0.013
  end
  say(held: held, wall: wall - from)
end

def collects(seconds)
  count, major, total, from = GC.count, GC.stat(:major_gc_count), GC.total_time, wall
  keep = Array.new(100_000) { Object.new }
  20.times { GC.start }
  # The collector marks all nevertheless if it finds that this is due.
  minor = 15.times.count { GC.start(full_mark: false); GC.latest_gc_info(:major_by).nil? }
  till = wall + (seconds * 1e9).to_i
  2000.times { Array.new(10) { "x" * 40 } } while wall < till
  say(count: GC.count - count, major: GC.stat(:major_gc_count) - major, minor: minor, total: GC.total_time - total, wall: wall - from,
      kept: keep.size)
end

# Objects with slots of 40 and of 640 bytes.
def allocates(times)
  GC.start
  before = GC.stat(:total_allocated_objects)
  i = 0
  while i < times
    Object.new
    Object.new
    Object.new
    Array.new(70, nil)
    i += 1
  end
  objects = GC.stat(:total_allocated_objects) - before
  say(objects: objects, bytes: times * (3 * 40 + 640))
end

# Threads that come and go, which switch, and touch new memory.
def moves(times)
  used, from = process_cpu, wall
  times.times do
    a, b = Queue.new, Queue.new
    t = Thread.new { 50.times { b << a.pop } }
    50.times { a << 1; b.pop }
    t.join
    Thread.new { ("x" * 1_000_000).setbyte(0, 1); burn(2_000_000) }.join
  end
  say(cpu: process_cpu - used, wall: wall - from)
end

def calls(times)
  null = File.open("/dev/null", "w")
  r, w = IO.pipe # without w the collector closes it, and nothing waits
  from = wall
  times.times { null.syswrite("x") }
  20.times { r.wait_readable(0.02) }
  say(wall: wall - from)
  w.close
end

def forks
  pids = Array.new(2) { |i| fork { burn((i + 1) * 200_000_000); GC.start; exit!(0) } }
  pids.each { |pid| Process.wait(pid) }
  say(children: ((Process.times.cutime + Process.times.cstime) * 1e9).to_i)
end

if ARGV[0]
  send(*ARGV[0].split.map { |w| w =~ /\A[\d.]+\z/ ? w.to_f : w })
  exit((ARGV[1] || 0).to_i)
end
puts "ready"
while (line = $stdin.gets)
  send(*line.split.map { |w| w =~ /\A\d+\z/ ? w.to_i : w =~ /\A[\d.]+\z/ ? w.to_f : w })
end
