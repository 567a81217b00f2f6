# Loaded before every program (-r). A program calls Workload.run with a block that does one
# round and returns something to compare; BENCH_ROLE says what is wanted of it:
#   count  rounds only: somebody outside counts
#   time   CPU time of the rounds after a warm-up, as JSON on the last line
#   probe  rounds, then memory, GC and YJIT figures, as JSON on the last line
# A script that knows nothing of this is run whole by Workload.script.

module Workload
  ROLE = ENV.fetch("BENCH_ROLE", "time")
  ROUNDS = ENV["BENCH_ROUNDS"]&.to_i
  # What it starts itself has them not.
  BARRIER = ENV.delete("BENCH_BARRIER")&.split(",")&.zip(%w[w r])&.map do |fd, mode|
    IO.for_fd(fd.to_i, mode).tap { |io| io.sync = io.close_on_exec = true }
  end

  module_function

  def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  def wall = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def compiled = yjit? ? RubyVM::YJIT.runtime_stats[:compiled_iseq_count] : 0
  def yjit? = !!(defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?)

  # YJIT's code begins elsewhere: what lies in a cache line with what is worth 4 % to a program that
  # only calls, and would be the same in each process. seed: how many methods, and how long.
  def move_code(seed)
    random = Random.new(seed)
    random.rand(48).times do |i|
      eval "def self.moved_#{i}(a) = #{["a", "a + 1", "!a", "[a]", "a.nil?", "a * 2 + 1"].sample(random: random)}"
      60.times { __send__(:"moved_#{i}", i) }
    end
  end

  # Where the heap is when the program begins decides when it grows, and so how many major collections
  # there are: 9 to 20 of them, 6 % of the time, in one and the same program (erubi-rails, either
  # ruby), and nearly the same number in each process that begins alike. seed: how many objects there are.
  def move_heap(seed) = @kept = Array.new(Random.new(seed).rand(20_000)) { Object.new }

  # The last line that a program writes.
  def report(values) = $stdout.print("\n", json(values), "\n")

  # cold: for what can be done only once in a process.
  def run(rounds, cold: false)
    rounds = ROUNDS if ROUNDS
    sum = nil
    return rounds.times { yield } if ROLE == "count"
    warm_up { yield } if ROLE == "time" && !cold
    GC.start
    at_barrier
    c, w, g = cpu, wall, GC.count
    rounds.times { sum = yield }
    c, w = cpu - c, wall - w
    report({ cpu: c, wall: w, sum: sum.to_s, gc: GC.count - g, yjit: yjit? }.merge(ROLE == "probe" ? probe : {}))
  end

  # Until YJIT has stopped compiling: two rounds in a row without a new iseq.
  def warm_up
    quiet = 0
    20.times do
      before = compiled
      yield
      quiet = compiled == before ? quiet + 1 : 0
      break if quiet == (yjit? ? 2 : 1)
    end
  end

  # Wait for the other processes of a pair: see lib/barrier.rb.
  def at_barrier
    return unless BARRIER
    BARRIER[0].write(".")
    BARRIER[0].close
    BARRIER[1].read
  end

  # A whole script, its warm-up included.
  def script(path)
    at_barrier
    c, w, g = cpu, wall, GC.count
    load path
    return if ROLE == "count"
    report({ cpu: cpu - c, wall: wall - w, sum: "", gc: GC.count - g, yjit: yjit? }.merge(ROLE == "probe" ? probe : {}))
  end

  # In KiB.
  def memory
    status = File.read("/proc/self/status")
    { private: "RssAnon", file: "RssFile", hwm: "VmHWM" }.transform_values { |name| status[/#{name}:\s+(\d+)/, 1].to_i }
  end

  def probe
    h = memory.merge(gc_total: GC.count, allocated: GC.stat(:total_allocated_objects),
                     heap_pages: GC.stat(:heap_allocated_pages))
    return h unless yjit?
    h.merge(RubyVM::YJIT.runtime_stats.slice(:inline_code_size, :outlined_code_size, :code_region_size, :yjit_alloc_size))
  end

  # No library: loading one would be part of what is measured.
  def json(h)
    "{" + h.map { |k, v| "#{k.to_s.dump}:#{v.is_a?(String) ? v.dump : v}" }.join(",") + "}"
  end
end

if (seed = ENV["BENCH_MOVE"]&.to_i)
  Workload.move_heap(seed)
  Workload.move_code(seed) if Workload.yjit?
end
