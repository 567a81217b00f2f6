# Methods that use the CPU in a ratio that the program measures itself: random pieces of work,
# in random order (a fixed seed), each between two readings of this thread's CPU clock.
TEXT = "ab" * 4_000_000

def a_loop(n)
  i = 0
  i += 1 while i < n
end

def a_small_loop(n)
  i = 0
  i += 1 while i < n
end

def blocks(n)
  (n / 8).times { |i| i & 3 }
end

def deep(n, depth = 200)
  depth > 0 ? deep(n, depth - 1) : in_the_depth(n)
end

def in_the_depth(n)
  i = 0
  i += 1 while i < n
end

def one_call_in_c(_)
  TEXT.count("b")
end

# method, its share of the turns, iterations
WORK = [[:a_loop, 40, 40_000], [:a_small_loop, 4, 40_000], [:blocks, 20, 60_000], [:deep, 16, 30_000],
        [:one_call_in_c, ARGV[0].to_i, 0]]
FASTER = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? 10 : 1

def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

def run(seconds)
  random = Random.new(1)
  turns = WORK.flat_map { |method, share, n| [[method, n * FASTER]] * share }
  spent = WORK.to_h { |method,| [method, 0] }
  calls = WORK.to_h { |method,| [method, method(method)] }
  finish = now + seconds * 1_000_000_000
  before = now
  while before < finish
    name, n = turns[random.rand(turns.size)]
    calls[name].call(n + random.rand(n / 2 + 1))
    after = now
    spent[name] += after - before
    before = after
  end
  spent
end

$stdout.sync = true
run(0.3) # for the compiler
puts "ready"
run($stdin.gets.to_f).each { |method, ns| puts "#{method} #{ns}" }
puts "done"
$stdin.gets
