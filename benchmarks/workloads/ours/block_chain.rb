# Blocks in blocks: each, map, select, inject, and a method that yields on.
def through(list) = list.each { |x| yield x }

numbers = (1..60).to_a
Workload.run(20) do
  total = 0
  60.times do |k|
    through(numbers) { |x| total += x if x > k }
    total += numbers.map { |x| x * k }.select { |x| x.even? }.inject(0) { |a, x| a + x }
    numbers.each_slice(7) { |s| total += s.sum { |x| x & k } }
  end
  total
end
