# A little of everything that a mode shows, each in a method of its own. Says "ready", and "done" for each line it gets.
$stdout.sync = true
N = 20

def naps = N.times { sleep 0.01 }
def collects = 50.times { GC.start }
def allocates = 100_000.times { Object.new }
def opens = N.times { File.open("/dev/null").close }
def burns(s = 0.3) = (till = cpu + s; nil while cpu < till)
def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)

# Two threads want the GVL.
def contends
  other = Thread.new { burns }
  burns
  other.join
end

# Another thread has the Mutex for 100 ms.
def locks
  mutex, held = Mutex.new, Queue.new
  holder = Thread.new { mutex.synchronize { held << 1; holds } }
  held.pop
  mutex.lock
  holder.join
end

def holds = sleep(0.1)

# 100 ms pass before the pipe has a line.
def reads
  r, w = IO.pipe
  writer = Thread.new { sleep 0.1; w.puts "x" }
  r.gets
  writer.join
end

puts "ready"
while $stdin.gets
  %i[naps collects allocates opens burns contends locks reads].each { |m| send m }
  puts "done"
end
