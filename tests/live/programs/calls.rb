# One loop a line, most of whose time is in a function in C that compiled code calls without a frame
# for it. The shares of the lines are what the program measures itself.
class Base; end
class Other; end
200.times.inject(Base) { |c, _| Class.new(c) } => last
DEEP = last.new

class Thing
  attr_writer :value
  S = Struct.new(:a)

  def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

  def calls(n, long, same, wide, key, values, hash, s, x)
    t = [now]
    i = 0; (long == same; i += 1) while i < n
    t << now
    i = 0; (long != same; i += 1) while i < n
    t << now
    i = 0; (wide.length; i += 1) while i < n
    t << now
    i = 0; (hash[key]; i += 1) while i < n
    t << now
    i = 0; (values.include?(-1); [*values, i].max; i += 1) while i < n / 4
    t << now
    i = 0; (Other === DEEP; x % 7; i += 1) while i < n * 10
    t << now
    i = 0; (self.value = long; @other = same; s.a = wide; i += 1) while i < n * 10
    t << now
    i = 0; ("#{i}#{wide}#{key}"; i += 1) while i < n
    t << now
    i = 0; ([wide, i].hash; i += 1) while i < n / 4
    t << now
    t.each_cons(2).map { |a, b| b - a }
  end
end
FIRST = Thing.instance_method(:calls).source_location[1] + 2

$stdout.sync = true
thing = Thing.new
long = "x" * 20_000 # the same in another string is compared byte by byte
arguments = [long, long + "", "\u00e9" * 4000, "k" * 4000, (0..200).to_a, {"k" * 4000 => 1}, Thing::S.new, 123_456_789]
30.times { thing.calls(20, *arguments) }
total = nil
puts "ready"
finish = thing.now + $stdin.gets.to_f * 1_000_000_000
while thing.now < finish
  part = thing.calls(100 + rand(200), *arguments)
  total = total ? total.zip(part).map(&:sum) : part
end
total.each_with_index { |ns, i| puts "#{FIRST + 2 * i} #{ns}" }
puts "done"
$stdin.gets
