# Short-lived objects through small constructors, and enough old ones that GC marks.
class Point
  attr_reader :x, :y
  def initialize(x, y) = (@x, @y = x, y)
  def +(other) = Point.new(@x + other.x, @y + other.y)
end
Pair = Struct.new(:a, :b)
$keep = Array.new(20_000) { |i| Pair.new(i, i.to_s) }

Workload.run(20) do
  p = Point.new(0, 0)
  one = Point.new(1, 2)
  4000.times { |i| p += one; Pair.new(p, i) }
  p.x + p.y
end
