# Threads with all kinds of names, one after the other: each runs a method that tells which it is.
$stdout.sync = true

def spin(seconds)
  stop = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > stop
end

def in_main = spin(0.3)
def in_unnamed = spin(0.3)
def in_named = spin(0.3)
def in_child = spin(0.3)
200.times { |i| Object.class_eval("def in_short_#{i} = spin(0.002)") }

def in_renamed
  spin(0.3)
  Thread.current.name = "new name"
  spin(0.3)
end

def in_ractor = spin(0.3)

# The thread and its slot are gone when this is done.
def gone
  yield
  GC.start
  # What is left of it on the native stack.
  10.times { Thread.new {}.join }
  GC.start
end

puts "ready"
$stdin.gets
in_main
Thread.new { in_unnamed }.join
# The native thread of the child begins with the name of the one that made it.
Thread.new { Thread.current.name = "named"; in_named; Thread.new { in_child }.join }.join
Thread.new { Thread.current.name = "old name"; in_renamed }.join
gone { Thread.new { Thread.current.name = "died"; in_named }.join }
if ARGV[0] == "short"
  200.times { |i| gone { Thread.new { Thread.current.name = "short #{i}"; send("in_short_#{i}") }.join } }
end
Ractor.new { in_ractor }.take
puts "done"
$stdin.gets
