# Does as many portions of work as it is told, and says of each: seconds of CPU time of the process, units of work, seconds,
# events of the kind that matters (switches of its threads, or units), and seconds of CPU time of the yardstick: a fixed
# computation that makes no system call, done before each slice of the portion. Another virtual machine on the same core makes
# both slower.
#   idle       64 threads that sleep 0.5 to 1 s; a unit is a request of 1 ms of CPU time and 1 ms of sleep
#   switches   two threads that wake each other, with so much work between that there are 20,000 switches a second
#   allocates  a unit is four objects
#   calls      a unit is a call of getppid, 30 frames deep
#   rests      nothing

def work(n)
  i = sum = 0
  while i < n
    sum += [i, n].map { |x| x * 2 }.sum
    i += 1
  end
  sum
end

def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
def wall = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Of all threads, by the kernel's count.
def switches
  Dir["/proc/self/task/*/status"].sum { |f| File.read(f).scan(/^(?:non)?voluntary_ctxt_switches:\s+(\d+)/).flatten.sum(&:to_i) }
end

def request(turns)
  work(turns)
  sleep 0.001
end

# So many turns of work take so long.
def turns_of(seconds)
  work(20_000)
  from = cpu
  work(200_000)
  (200_000 * seconds / (cpu - from)).round
end

class PingPong
  def initialize(turns)
    @turns, @ping, @pong = turns, Queue.new, Queue.new
    Thread.new { @pong << work(@turns) while @ping.pop }
  end

  attr_accessor :turns

  def run(n)
    n.times do
      @ping << 1
      work(@turns)
      @pong.pop
    end
  end

  # The work between switches that makes 20,000 of them a second.
  def calibrate
    @turns = turns_of(100e-6)
    4.times do
      from, before = wall, switches
      run(2_000)
      per_second = (switches - before) / (wall - from)
      @turns = (@turns * per_second / 20_000).round.clamp(1, 100_000)
    end
  end
end

Point = Struct.new(:x, :y)
def allocate(n)
  i = 0
  while i < n
    a = [i, i]
    s = "name"
    Point.new(a, s)
    { s => a }
    i += 1
  end
end

def deep(depth, calls) = depth > 0 ? deep(depth - 1, calls) : calls.times { Process.ppid }

# units: of a slice
units, slice =
  case ARGV[0]
  when "idle"
    random = Random.new(1)
    64.times { |i| Thread.new(0.5 + random.rand / 2) { |s| sleep s while true } }
    turns = turns_of(0.001)
    [10, -> { 10.times { request(turns) } }]
  when "switches"
    pair = PingPong.new(1).tap(&:calibrate)
    [60, -> { pair.run(60) }]
  when "allocates" then [8_000, -> { allocate(8_000) }]
  when "calls" then [400, -> { deep(30, 400) }]
  when "rests" then [1, -> { sleep 0.001 }]
  end
SLICES = 10
counted = ARGV[0] == "switches"
yardstick = turns_of(0.005)
2.times { slice.call }
$stdout.sync = true
puts "ready"
while (line = $stdin.gets)
  said = Array.new(Integer(line)) do
    used = took = yard = 0
    before = counted ? switches : 0
    SLICES.times do
      from = cpu
      work(yardstick)
      begins, at = cpu, wall
      slice.call
      used += cpu - begins
      took += wall - at
      yard += begins - from
    end
    "%.9f %d %.9f %d %.9f" % [used, units * SLICES, took, counted ? switches - before : units * SLICES, yard]
  end
  puts said.join(" ")
end
