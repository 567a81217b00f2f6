# Threads that wait in known ways. Each says what its own clocks say: name, wall time and CPU time in ns, and
# more by kind. The first argument is the kind, the second one a number of seconds. It begins when it is told.
$stdout.sync = true
KIND, SECONDS = ARGV[0], (ARGV[1] || 2).to_f

def wall = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

$go = Queue.new
$said = []

def thread(name, &work)
  $threads ||= []
  t = Thread.new do
    $go.pop
    from, used = wall, cpu
    more = work.call
    $said << [name, wall - from, cpu - used, more].compact.join(" ")
  end
  t.name = name
  $threads << t
  t
end

def burn(ns)
  till = wall + ns
  nil while wall < till
end

def pops(queue) = queue.pop
def joins(thread) = thread.join
def naps(seconds) = sleep(seconds)
def locks(mutex) = mutex.lock
def reads(io) = io.readpartial(10)
def waits_for(pid) = Process.wait(pid)

ns = (SECONDS * 1e9).to_i
case KIND
when "three"
  queue = Queue.new
  burner = thread("burner") { burn(ns); queue << 1; nil }
  popper = thread("popper") { pops(queue); nil }
  thread("joiner") { joins(burner); nil }
when "napper"
  thread("burner") { burn(ns); nil }
  thread("napper") do
    till, late = wall + ns, 0
    while wall < till
      from = wall
      naps(0.005)
      late += wall - from - 5_000_000
    end
    late
  end
when "lengths"
  # One after the other, so that none waits for the GVL or a CPU because of the other.
  thread("long") do
    naps(SECONDS)
    thread("short") do
      2000.times.sum do
        from = wall
        naps(0.0002)
        wall - from
      end
    end
    $go << 1
    nil
  end
when "sleepers"
  16.times { |i| thread("sleeper#{i}") { 50.times { naps(0.01) }; nil } }
when "reasons"
  mutex, condition, r_w = Mutex.new, ConditionVariable.new, IO.pipe
  held = Mutex.new
  thread("holder") { held.synchronize { naps(SECONDS) }; r_w[1] << "x"; mutex.synchronize { condition.signal }; nil }
  thread("locker") { Thread.pass until held.locked?; locks(held); held.unlock; nil }
  thread("reader") { reads(r_w[0]); nil }
  thread("waiter") { mutex.synchronize { condition.wait(mutex) }; nil }
  thread("parent") { waits_for(spawn("sleep", SECONDS.to_s)); nil }
when "pingpong"
  a, b = Queue.new, Queue.new
  thread("ping") do
    n, till = 0, wall + ns
    while wall < till
      a << 1
      b.pop
      n += 1
    end
    a << nil
    n
  end
  thread("pong") { b << 1 while a.pop; nil }
when "forever"
  queue, pipe = Queue.new, IO.pipe
  thread("popper") { pops(queue); nil }
  thread("reader") { reads(pipe[0]); nil }
  thread("napper") { naps(1000); nil }
when "burners"
  thread("one") { burn(ns); nil }
  thread("other") { burn(ns); nil }
when "held"
  held = Mutex.new
  holder = thread("holder") { held.synchronize { naps(1000) }; nil }
  thread("locker") { Thread.pass until held.locked?; locks(held); nil }
  thread("joiner") { joins(holder); nil }
when "wakers"
  rounds, pause = 20, SECONDS / 20
  queue, held, pipe = Queue.new, Mutex.new, IO.pipe
  producer = thread("producer") { rounds.times { naps(pause); queue << 1 }; nil }
  thread("consumer") { rounds.times { pops(queue) }; nil }
  thread("unlocker") { held.lock; naps(SECONDS); held.unlock; nil }
  thread("locker") { Thread.pass until held.locked?; locks(held); held.unlock; nil }
  thread("joiner") { joins(producer); nil }
  thread("napper") { rounds.times { naps(pause) }; nil }
  thread("reader") { rounds.times { reads(pipe[0]) }; nil }
  # Another process.
  writer = spawn("while read x; do sleep #{pause}; echo y; done", in: (feed = IO.pipe)[0], out: pipe[1])
  $said << "writer #{writer}"
  thread("feeder") { rounds.times { feed[1].puts "x"; naps(pause) }; feed[1].close; waits_for(writer); nil }
when "shared"
  queue = Queue.new
  nap = lambda do |rounds, seconds|
    (1..rounds).sum { from = wall; naps(seconds); wall - from }
  end
  3.times { |i| thread("long#{i}") { nap.(1, SECONDS) } }
  3.times { |i| thread("short#{i}") { nap.((SECONDS / 0.05).to_i, 0.05) } }
  3.times { |i| thread("busy#{i}") { (SECONDS / 0.06).to_i.times.sum { burn(20_000_000); nap.(1, 0.04) } } }
  last = thread("last") { slept = nap.(1, SECONDS); queue << 1; slept }
  thread("popper") { from = wall; pops(queue); wall - from }
  thread("joiner") { from = wall; joins(last); wall - from }
when "fork"
  thread("parent") { waits_for(fork { naps(SECONDS); exit!(0) }); nil }
when "exec"
  thread("napper") { naps(1000); nil }
end

puts "ready"
$stdin.gets
sleep 0.01
$threads.size.times { $go << true }
sleep 0.01
puts "begun"
Thread.new { $stdin.gets; exec("sleep", "1000") } if KIND == "exec"
if %w[forever exec held].include?(KIND)
  sleep
end
$threads.each(&:join)
$threads.each(&:join)
$said.each { |s| puts s }
puts "done"
$stdin.gets
