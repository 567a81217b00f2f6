# Calls an extension whose native stacks are known; see native_truth.c.
require ARGV[0]
$stdout.sync = true
def Truth.pong(depth, n) = ping(depth, n)

def chain = Truth.chain(200)
def shares = Truth.shares(50)
def pings = Truth.ping(5, 200)
def direct = Truth.direct(200)
def sorts = Truth.sorted { |a, b| Truth.chain(20); a <=> b }
def jumps = Truth.jumps(100)
def frames = Truth.frames(200)
def signals = Truth.signal(200)
def here(fiber) = Truth.resumes(fiber, 2000)
def there = Truth.yields(500)
def switches = here($fiber ||= Fiber.new { there while true })
def in_thread = Thread.new { chain }.join
def in_ractor = Ractor.new { 10.times { Truth.chain(200) } }.take
def Truth.each = yield(1)
def blocks = Truth.blocks(200)
def nogvls = Truth.nogvl(100)
def foreigns = Truth.foreign(200)
def closures = Truth.closure($closure.to_i, 200)
def closure_of_chain
  require "fiddle"
  Object.const_set(:Closure, Class.new(Fiddle::Closure) { def call(n) = Truth.chain(n) && 1 })
  $closure = Closure.new(Fiddle::TYPE_LONG, [Fiddle::TYPE_LONG])
end
ALL = %i[chain shares pings direct sorts jumps frames signals switches in_thread in_ractor blocks nogvls foreigns closures]
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
# Each of them for as long as the others.
def by_turns(list)
  until_ = now + 0.01
  what = list.sample
  __send__(what) while now < until_
end
def all = by_turns(ALL)
def all_in_main = by_turns(ALL - %i[in_thread in_ractor foreigns])
def plain = (1..2000).sum { |i| i ^ 5 }

puts "ready"
while (line = $stdin.gets)
  what, seconds = line.split
  until_ = now + seconds.to_f
  __send__(what) while now < until_
  puts "done"
end
