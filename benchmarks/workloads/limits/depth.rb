# Recursion depth before SystemStackError, in the main thread, a thread and a fiber, each
# for three shapes of frame. The stacks differ: so do their default sizes.
def plain(n) = ($depth = n) && plain(n + 1) + 1

def locals(n)
  a = b = c = d = n
  $depth = n
  locals(n + 1) + a + b + c + d
end

def blocks(n)
  $depth = n
  [n].each { |x| blocks(x + 1) }
end

def depth(shape)
  $depth = 0
  begin
    __send__(shape, 1)
  rescue SystemStackError
  end
  $depth
end

results = {}
%i[plain locals blocks].each do |shape|
  2.times { results[:"main_#{shape}"] = depth(shape) } # the second time YJIT has compiled it
  Thread.new { results[:"thread_#{shape}"] = depth(shape) }.join
  Fiber.new { results[:"fiber_#{shape}"] = depth(shape) }.resume
end
Workload.report(results)
