# Methods defined in every way, then called once each.
Workload.run(3) do
  classes = Array.new(40) do |i|
    Class.new do
      class_eval Array.new(40) { |k| "def m#{k}(a) = a + #{k}" }.join("\n")
      10.times { |k| define_method(:"d#{k}") { |a| a + k } }
      attr_accessor :a, :b, :c
      alias_method :e, :m0
      private :m1
    end
  end
  classes.sum { |c| o = c.new; 40.times.sum { |k| o.__send__(:"m#{k}", 1) } + 10.times.sum { |k| o.__send__(:"d#{k}", 1) } }
end
