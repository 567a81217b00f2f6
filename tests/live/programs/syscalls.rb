# Two threads that make different system calls, as often as they are told, and give way to each other all the time:
# `left` opens a file in x, called from y and z; `right` writes in a, called from b and c. What they do
# takes no lock of Ruby's, so that only the calls themselves are made in these methods.
$stdout.sync = true
sink = File.open("/dev/null", "w")
sink.sync = true
$sink = sink

def x
  File.open("/") { }
  Process.pid if $with_pid
  Thread.pass
end
def y = x
def z = y

def a
  $sink.write(".")
  Thread.pass
end
def b = a
def c = b

$with_pid = ARGV.include?("pid")
go = Queue.new
threads = [:z, :c].map do |method|
  Thread.new do
    go.pop.times { __send__(method) }
  end
end
puts "ready"
n = $stdin.gets.to_i
threads.size.times { go << n }
threads.each(&:join)
puts "done"
$stdin.gets
