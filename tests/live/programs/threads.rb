# Threads that each run methods of their own: in Ruby, in C with the GVL, in C without it, in the
# kernel without it. Each says how much CPU time it used.
require "zlib"
$stdout.sync = true
TEXT = Random.new(1).bytes(4_000_000)
BIG = "ab" * 500_000

def t0_loop
  i = 0
  i += 1 while i < 50_000
end
def t0_run = t0_loop

def t1_inner(n) = [n].each { |m| 5000.times { m + 1 } }
def t1_run = 5.times { t1_inner(1) }

def t2_count = BIG.count("b")
def t2_run = t2_count

# Zlib releases the GVL while it works.
def t3_deflate = Zlib.deflate(TEXT, 9)
def t3_run = t3_deflate

# So does copying, and the time is the kernel's.
def t4_copy = IO.copy_stream("/dev/zero", "/dev/null", 4 << 30)
def t4_run = t4_copy

def t5_fiber = Fiber.new { t5_inside }.resume
def t5_inside
  i = 0
  i += 1 while i < 50_000
end
def t5_run = t5_fiber

# Asleep most of the time, always in the way of another that has the GVL.
def t6_nap = sleep(0.001)
def t6_work = 200.times { |i| i.to_s }
def t6_run
  t6_nap
  t6_work
end

def used = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

stop = false
go = Queue.new
threads = 7.times.map do |i|
  Thread.new do
    run = :"t#{i}_run"
    send(run)
    Thread.current.name = "worker #{i}"
    Thread.current[:tid] = Thread.current.native_thread_id
    Thread.current[:up] = true
    go.pop
    before = used
    send(run) until stop
    Thread.current[:used] = used - before
  end
end
sleep 0.01 until threads.all? { |t| t[:up] }
threads.each { |t| puts "#{t[:tid]} #{t.name}" }
puts "ready"
seconds = $stdin.gets.to_f
7.times { go << true }
sleep seconds
stop = true
threads.each(&:join)
threads.each { |t| puts t[:used] }
puts "done"
$stdin.gets
