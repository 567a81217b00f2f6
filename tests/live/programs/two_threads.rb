# Two threads with known work: `left` works twice as long as `right`, each in a method of its own. Their work
# is between two readings of the thread's own CPU clock. Lines that can run in them say so; a method
# returns in the line of its end.
$stdout.sync = true

def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

class Left
  def work(n)
    i = 0                       # left
    i += 1 while i < n          # left
  end                           # left
end

class Right
  def work(n)
    i = 0                       # right
    i += 1 while i < n          # right
  end                           # right
end

go, stop = Queue.new, false
threads = { "left" => [Left.new, 2], "right" => [Right.new, 1] }.map do |name, (worker, n)|
  Thread.new do
    Thread.current.name = name
    Thread.current[:tid] = Thread.current.native_thread_id
    go.pop
    before = now
    until stop
      # Turns of one length would be in step with the samples, and short ones would be a test of how the
      # kernel charges a switch of threads.
      n.times { worker.work(rand(2_000_000)) }
      # Without it, both would have the GVL for the same time.
      Thread.pass
    end
    Thread.current[:used] = now - before
  end
end
sleep 0.01 until threads.all? { |t| t[:tid] }
threads.each { |t| puts "#{t.name} #{t[:tid]}" }
puts "ready"
seconds = $stdin.gets.to_f
2.times { go << true }
sleep seconds
stop = true
threads.each(&:join)
threads.each { |t| puts "#{t.name} #{t[:used]}" }
puts "done"
$stdin.gets
