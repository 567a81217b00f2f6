# Makes methods and calls each a few times: with YJIT much of the time goes into compiling.
# It says how much of the time that was, as YJIT itself measures it: both are time that passed.
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def compile_time = RubyVM::YJIT.runtime_stats[:compile_time_ns]

def work(i)
  eval(<<~METHOD, binding, "compiled.rb", 1000 * i + 1)
    def compiled_#{i}(x)
      a = x == 1 ?
        [x.to_s] * 2 :
        {x => x.to_s.size}
      if x > 2
        a = a.size + x
      else
        a = a.to_s
      end
      b = x.to_f * 2
      a.to_s + b.to_s
    end
  METHOD
  20.times { |x| send("compiled_#{i}", x % 4) }
end

$stdout.sync = true
100.times { |i| work(i) }
puts "ready"
finish = $stdin.gets.to_f * 1_000_000_000 + now
i = 100
first, compiled = now, compile_time
work(i += 1) while now < finish
compiled, last = compile_time - compiled, now
puts "#{compiled} #{last - first} #{i}"
$stdin.gets
