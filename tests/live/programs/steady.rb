# Uses CPU time on request: a line "SECONDS" makes it work that long. It answers with three figures:
# the CPU time by the clock of the process, the part of it in GC, and the part in gaps of this clock. A
# piece of work that took longer than a slice of the scheduler did not run all the time, but the clock went on.
$stdout.sync = true
HOW = ARGV[0] || "loop"

def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)

GAP = 4_000_000

def work_loop
  i = 0
  i += 1 while i < 20_000
end

Node = Struct.new(:left, :right)

def tree(depth) = depth == 0 ? nil : Node.new(tree(depth - 1), tree(depth - 1))

KEPT = HOW == "gc" ? tree(15) : nil

def work_gc
  20.times { tree(10) }
  GC.start
end

GC.measure_total_time = true
work = method(:"work_#{HOW}")
work.call
puts "ready"
while (line = $stdin.gets)
  finish = cpu + (line.to_f * 1_000_000_000).to_i
  gc, before, gaps = GC.total_time, cpu, 0
  last = before
  while last < finish
    work.call
    now = cpu
    gaps += now - last if now - last > GAP
    last = now
  end
  puts "#{last - before} #{GC.total_time - gc} #{gaps}"
end
