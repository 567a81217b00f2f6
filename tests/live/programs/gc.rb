# Collects garbage a known number of times, and says how long that took by its own clocks.
$stdout.sync = true
GC.measure_total_time = true
GC.disable # only what is asked for, but in "work"

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

def collect(n)
  i = 0
  i += 1 while i < n && (GC.start; true)
end

# What garbage collection took in the block: number, wall time, time by the collector (of marking and sweeping), CPU time.
def measured
  count, total, wall, used = GC.count, GC.total_time, now, cpu
  yield
  "#{GC.count - count} #{now - wall} #{GC.total_time - total} #{cpu - used}"
end

def litter
  a = nil
  2000.times { a = Array.new(10) { "x" * 40 } }
  a
end

KEPT = Array.new((ENV["KEEP"] || 100_000).to_i) { Object.new }
3.times { GC.start }
puts "ready"
while (line = $stdin.gets)
  command, *words = line.split
  case command
  when "collect" # TIMES
    puts measured { collect(words[0].to_i) }
  when "threads" # TIMES TIMES
    words.each_with_index.map do |n, i|
      Thread.new { Thread.current.name = "collector #{i}"; collect(n.to_i); sleep 0.3 }
    end.each(&:join)
  when "work" # SECONDS: allocate, and collect when there is a need for it
    GC.enable
    puts(measured do
      till = now + words[0].to_f * 1e9
      litter while now < till
    end)
    GC.disable
  when "fork" # TIMES
    Process.wait(fork { collect(words[0].to_i); exit! })
  when "minor" # TIMES
    before = GC.stat(:minor_gc_count), GC.stat(:major_gc_count)
    words[0].to_i.times { GC.start(full_mark: false) }
    puts "#{GC.stat(:minor_gc_count) - before[0]} #{GC.stat(:major_gc_count) - before[1]}"
  when "malloc" # MIB: large strings, which need few slots
    GC.enable
    count = GC.count
    words[0].to_i.times { "x" * 1048576 }
    puts GC.count - count
    GC.disable
  when "compact"
    puts measured { GC.compact }
  end
  puts "done"
end
