# One loop a line, in a ratio that the program measures itself. LINES: which ones, and their time.
LINES = { __LINE__ + 5 => 0, __LINE__ + 7 => 0, __LINE__ + 9 => 0, __LINE__ + 12 => 0 }

def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
def lines(n)
  a = now
  i = 0; i += 1 while i < n
  b = now
  i = 0; i += 1 while i < n * 3
  c = now
  i = 0; i += 1 while i < n * 6
  d = now
  [n].each do |m|
    i = 0; i += 1 while i < m * 10
  end
  e = now
  LINES.each_key.zip([b - a, c - b, d - c, e - d]) { |line, ns| LINES[line] += ns }
end

FASTER = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? 10 : 1
$stdout.sync = true
30.times { lines(1000 * FASTER) }
LINES.transform_values! { 0 }
puts "ready"
finish = now + $stdin.gets.to_f * 1_000_000_000
# Long ones: reading the clock is in the truth, and in no line.
lines(5000 * FASTER + rand(10_000 * FASTER)) while now < finish
LINES.each { |line, ns| puts "#{line} #{ns}" }
puts "done"
$stdin.gets
