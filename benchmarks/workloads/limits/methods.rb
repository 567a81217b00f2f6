# 100,000 methods in 1,000 classes: defined only, or each called once as well.
# ARGV[0]: methods, ARGV[1]: defined or called.
all, kind = Integer(ARGV[0]), ARGV[1]
classes = Array.new(all / 100) do |i|
  Class.new { class_eval Array.new(100) { |k| "def m#{k}(a) = a + #{i}" }.join("\n") }
end
if kind == "called"
  names = Array.new(100) { |k| :"m#{k}" }
  classes.each { |c| o = c.new; names.each { |n| o.__send__(n, 1) } }
end
GC.start
Workload.report(Workload.memory)
