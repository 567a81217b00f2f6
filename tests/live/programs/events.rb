# Does things of which it knows how many there are: the library counts them with the kernel's own counters of this thread.
require "fiddle"
$stdout.sync = true
library = Fiddle.dlopen(ARGV[0])
INT, LONG = Fiddle::TYPE_INT, Fiddle::TYPE_LONG
CALL = Fiddle::Function.new(library["counted_calls"], [INT], INT)
TOUCH = Fiddle::Function.new(library["touch_pages"], [INT], INT)
FAULTS = Fiddle::Function.new(library["faults"], [], LONG)
SWITCHES = Fiddle::Function.new(library["switches"], [], LONG)

def calls(n) = CALL.call(n)
def touch(n) = TOUCH.call(n)
def naps(n) = n.times { sleep 0.002 }
def opens(n) = n.times { File.open("/") { } }
def forked(n)
  pid = fork do
    calls(n)
    opens(n)
    sleep 1		# names are read while it lives
    exit!
  end
  Process.wait(pid)
end
def collect(n) = n.times { GC.start }

# The counter reads itself in here: what happens in the method below it is between the two readings.
def measured(counter, method, n)
  before = counter.call
  __send__(method, n)
  counter.call - before
end

GC.disable
3.times { measured(FAULTS, :touch, 100); measured(SWITCHES, :naps, 1); calls(1); opens(1) }
puts "ready"
while (line = $stdin.gets)
  what, n = line.split
  n = n.to_i
  case what
  when "touch" then puts measured(FAULTS, :touch, n)
  when "naps" then puts measured(SWITCHES, :naps, n)
  else
    __send__(what, n)
    puts n
  end
end
