# Threads that compute, sleep and touch memory for some seconds, and count all of it by their own means. A line on stdin with a
# number of seconds begins; a line of JSON says what was counted. Threads live until the end of stdin, so that /proc has them.
require "json"
$stdout.sync = true
GC.measure_total_time = true

def wall = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def used = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
def process_used = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)

def heavy = 300.times { |i| "x" * 40; i * i }
def light = 100.times { |i| "y" * 40; i * i }

# Methods whose share of the CPU time the program knows.
def compute(till, counts)
  heavy_used = light_used = 0
  while wall < till
    a = used
    20.times { heavy }
    b = used
    20.times { light }
    heavy_used += b - a
    light_used += used - b
  end
  counts[:heavy] = heavy_used
  counts[:light] = light_used
end

def nap(till, counts)
  naps = late = asleep = 0
  while wall < till
    from = wall
    sleep 0.005
    took = wall - from
    naps += 1
    asleep += 5_000_000
    late += took - 5_000_000
  end
  counts.update(naps: naps, late: late, asleep: asleep)
end

def touch(till, counts)
  touched = late = 0
  while wall < till
    ("z" * 1_000_000).setbyte(0, 1)
    touched += 1
    from = wall
    sleep 0.02
    late += wall - from - 20_000_000
  end
  counts.update(touched: touched, touched_late: late)
end

go, done = {}, Queue.new
%i[compute nap touch].each do |name|
  go[name] = Queue.new
  t = Thread.new { while (till = go[name].pop) do done << send(name, till, counts = {}).then { counts } end }
  t.name = name.to_s
end
puts "ready"
while (line = $stdin.gets)
  from, cpu, gc, objects, gc_time = wall, process_used, GC.count, GC.stat(:total_allocated_objects), GC.total_time
  major = GC.stat(:major_gc_count)
  till = from + (line.to_f * 1e9).to_i
  go.each_value { |q| q << till }
  counts = 3.times.map { done.pop }.reduce(:merge)
  counts.update(wall: wall - from, cpu: process_used - cpu, gc: GC.count - gc, major: GC.stat(:major_gc_count) - major,
                objects: GC.stat(:total_allocated_objects) - objects, gc_time: GC.total_time - gc_time)
  puts counts.to_json
end
