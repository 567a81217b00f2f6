# Runs slices of the same work on request and says what CPU time each took, so that the
# same process can be measured with and without a profiler attached to it.
# ARGV[0]: the depth at which a loop runs, or "mix". On stdin: a number of slices, or end.

class Shape
  def initialize(n) = @n = n
  def area(k) = scaled(k) + @n
  def scaled(k) = [k, @n].map { |x| x * 2 }.sum
end
SHAPES = Array.new(16) { |i| Shape.new(i) }

def mix = 6_000.times { |k| SHAPES.each { |s| s.area(k) } }

def spin
  i = 0
  i += 1 while i < 1_000_000
  i
end

def nested(depth) = depth <= 1 ? spin : nested(depth - 1)

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
