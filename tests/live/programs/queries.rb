# Requests of a server, with what the questions of docs/queries.md ask for. ARGV[0]: seconds. Prints how many of each kind there were.
LOCK = Mutex.new
TEXT = "ruby profiler stack frame method call " * 200
KINDS = {
  "shop#locked" => -> { LOCK.synchronize { sleep 0.03 } },
  "shop#remote" => -> { sleep 0.15 },
  "shop#posts" => -> { 20.times { TEXT.gsub(/\w+/) { |word| word.capitalize } } },
}
DONE = Thread::Queue.new
puts "ready"
$stdout.flush
$stdin.gets
Thread.new { loop { sleep 1000 } }.name = "reaper"
until_ = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV[0].to_f
threads = Array.new(3) do |i|
  Thread.new do
    Thread.current.name = format("puma srv tp %03d", i + 1)
    n = i
    while Process.clock_gettime(Process::CLOCK_MONOTONIC) < until_
      sleep 0.002
      kind, work = KINDS.to_a[(n += 1) % 3]
      Fiber.with_labels(request: kind) { work.call }
      DONE << kind
    end
  end
end
threads.each(&:join)
counts = Hash.new(0)
counts[DONE.pop] += 1 until DONE.empty?
puts counts.map { |kind, n| "#{kind}=#{n}" }.join(" ")
$stdout.flush
$stdin.gets
