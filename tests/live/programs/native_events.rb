# Events in an extension whose native stacks are known; see native_events.c.
require ARGV[0]
$stdout.sync = true
def Events.onward(depth, n) = asks(depth, n)

def makes(n) = Events.makes(n)
def reserves(n) = Events.reserves(n)
def asks(n) = Events.asks(2, n)
def touches(n) = Events.touches(n)
def passes(n) = Events.passes(n)

puts "ready"
while (line = $stdin.gets)
  what, n = line.split
  __send__(what, n.to_i)
  puts "done"
end
