# Exceptions through ten frames with ensure, caught at the top; retry and throw too.
class Lost < StandardError; end

def dive(depth)
  raise Lost, "at the bottom" if depth == 0
  dive(depth - 1)
ensure
  $ensured += 1
end

def attempt(times)
  n = 0
  begin
    n += 1
    raise Lost if n < times
  rescue Lost
    retry
  end
  n
end

Workload.run(20) do
  $ensured = 0
  40.times { begin dive(10) rescue Lost end }
  100.times { $ensured += attempt(3) }
  300.times { |i| $ensured += catch(:found) { [1, 2].each { |x| throw :found, x } } }
  $ensured
end
