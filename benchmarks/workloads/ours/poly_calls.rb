# Calls three levels deep on eight classes in turn, with instance variables.
class Shape
  def initialize(n) = @n = n
  def area(k) = scaled(k) + base
  def scaled(k) = weight * k
  def base = @n
end
shapes = (1..8).map do |i|
  Class.new(Shape) { define_method(:to_s) { "shape" }; class_eval "def weight = @n + #{i}" }
end
objects = Array.new(64) { |i| shapes[i % 8].new(i) }

Workload.run(20) do
  sum = 0
  120.times { |k| objects.each { |o| sum += o.area(k) } }
  sum
end
