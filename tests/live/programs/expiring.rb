# Parks a fiber in the method of each of 100 classes without a name. It reads four lines. At the first
# it drops the fibers. At the second it begins to drop other code, 20 pieces a second. At the third it
# drops 500 pieces more, as each of them makes room for a few only. At the fourth it makes 5,000 methods
# that stay.
$stdout.sync = true
fibers = 100.times.map do |i|
  c = Class.new { class_eval("def m#{i} = Fiber.yield", "/expiring/#{i}.rb", i + 1) }
  Fiber.new { c.new.send("m#{i}") }.tap(&:resume)
end
puts "ready"
$stdin.gets
fibers.clear
# Overwrite the native stack, so that what is left on it does not keep them alive.
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
