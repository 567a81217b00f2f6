# Runs slices of the same work on request, so that the same process can be measured with and
# without a profiler attached to it. On stdin: a number of slices, or end.
# ARGV[0]: the depth at which a loop runs, or "mix": says what CPU time each slice took; or
# "ticks": slices of some microseconds, says when each began (ns) and when the last one ended.

class Shape
  def initialize(n) = @n = n
  def area(k) = scaled(k) + @n
  def scaled(k) = [k, @n].map { |x| x * 2 }.sum
end
SHAPES = Array.new(16) { |i| Shape.new(i) }

def mix(turns = 6_000) = turns.times { |k| SHAPES.each { |s| s.area(k) } }

def spin
  i = 0
  i += 1 while i < 1_000_000
  i
end

def nested(depth) = depth <= 1 ? spin : nested(depth - 1)

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

def ticks
  20_000.times { mix(2) }
  t = now
  20_000.times { mix(2) }
  turns = [(2 * 20_000 * 7_000.0 / (now - t)).round, 1].max
  $stdout.sync = true
  puts "ready"
  while (line = $stdin.gets)
    starts = Array.new(Integer(line) + 1, 0)
    i = 0
    while i < starts.size
      starts[i] = now
      mix(turns)
      i += 1
    end
    puts starts.join(" ")
  end
  exit
end

ticks if ARGV[0] == "ticks"

# Frames below this one: <main>, the loop's block and `nested` itself are part of the depth.
depth = ARGV[0] == "mix" ? nil : Integer(ARGV[0])
work = depth ? -> { nested([depth - 5, 1].max) } : -> { mix }
40.times { work.call }
$stdout.sync = true
puts "ready"
while (line = $stdin.gets)
  cpu = Array.new(Integer(line)) do
    t = Workload.cpu
    work.call
    Workload.cpu - t
  end
  puts cpu.map { |c| "%.9f" % c }.join(" ")
end
