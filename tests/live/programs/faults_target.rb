# Does something of each kind that a mode looks at, until it is told to end, and says whether all of it went as it should:
# computes, allocates, collects, calls the kernel, sleeps, waits for the GVL, for a queue, a mutex and a pipe. The argument
# is what else it is: "threads N" has N more that sleep, "ractors N" has N more that compute and wait.
$stdout.sync = true
$stop, $wrong, $turns = false, [], Hash.new(0)

def thread(name, &turn)
  t = Thread.new do
    until $stop
      begin
        turn.call
        $turns[name] += 1
      rescue SystemCallError, IOError, ThreadError => e
        $wrong << "#{name}: #{e.class}: #{e.message}"
        break
      end
    end
  end
  t.name = name
  t
end

def burn = 2000.times.sum { |i| i * i }
def allocate = Array.new(200) { |i| "text number #{i} of many" }

kind, count = ARGV[0], ARGV[1].to_i
# Before all others, which would have the GVL meanwhile.
more = case kind
       when "threads" then Array.new(count) { Thread.new { sleep } }
       when "ractors" # every other one waits for ever
         Array.new(count) { |i| Ractor.new(i) { |n| n.even? ? Ractor.receive : loop { 1000.times.sum; sleep 0.01 } } }
       else []
       end
sleep 0.05 until kind != "threads" || more.all?(&:stop?)
queue, mutex, pipe = Queue.new, Mutex.new, IO.pipe
threads = [
  thread("burner") { burn == 2664667000 or $wrong << "burn" },
  thread("allocator") { allocate.uniq.size == 200 or $wrong << "allocate"; sleep 0.001 },
  thread("collector") { GC.start; sleep 0.01 },
  thread("caller") { Process.ppid >= 0 or $wrong << "ppid"; File.open(__FILE__, &:read).size > 100 or $wrong << "file"; sleep 0.001 },
  thread("napper") { sleep 0.005 },
  thread("pusher") { queue << 1; sleep 0.002 },
  thread("popper") { queue.pop == 1 or $wrong << "queue" },
  thread("holder") { mutex.synchronize { sleep 0.002 } },
  thread("locker") { mutex.synchronize { sleep 0.002 } },
  thread("writer") { pipe[1] << "x"; sleep 0.002 },
  thread("reader") { pipe[0].readpartial(1) == "x" or $wrong << "pipe" },
]
puts "ready"
while (line = $stdin.gets)
  case line.chomp
  when "exec" then exec(File.readlink("/proc/self/exe"), "--disable=gems", "-W0", __FILE__)
  when /\Ahold (\S+) (\S+)/
    require "fiddle"
    hold = Fiddle::Function.new(Fiddle.dlopen($2)["hold"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)
    hold.call($1)
    puts "held"
  when "end"
    break
  end
end
$stop = true
queue << 1
pipe[1] << "x"
threads.each(&:join)
threads.each { |t| $turns[t.name] > 0 or $wrong << "#{t.name} did nothing" }
puts($wrong.empty? ? "right" : "wrong: #{$wrong.uniq.first(5).join(", ")}")
exit!(0)
