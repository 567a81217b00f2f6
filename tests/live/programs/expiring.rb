# Parks a fiber in the method of each of 100 classes without a name. At the first line that it reads
# it drops them, at the second one it begins to drop other code, 20 pieces a second. At the third it
# drops 500 more, as each makes way for but a few, and at the last it makes 5,000 methods that stay.
$stdout.sync = true
fibers = 100.times.map do |i|
  c = Class.new { class_eval("def m#{i} = Fiber.yield", "/expiring/#{i}.rb", i + 1) }
  Fiber.new { c.new.send("m#{i}") }.tap(&:resume)
end
puts "ready"
$stdin.gets
fibers.clear
# What is left on the stack of the machine shall not keep them.
1.upto(20) { |n| n.times.map { Object.new }.reverse }
GC.start
puts "dropped"
$stdin.gets
until IO.select([$stdin], nil, nil, 0.5)
  10.times { eval("1") }
  GC.start
end
$stdin.gets
500.times { eval("1") }
GC.start
puts "churned"
$stdin.gets
others = 5000.times.map { |i| Class.new { class_eval("def other#{i} = #{i}", "/other/#{i}.rb") }.new }
others.each_with_index { |o, i| o.send("other#{i}") }
puts "made"
$stdin.gets
