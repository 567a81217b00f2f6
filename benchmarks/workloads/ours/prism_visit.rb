# Parses files of the standard library with prism and walks the trees in Ruby.
require "prism"
files = %w[optparse set erb/compiler tsort logger uri/generic].map { |f| $LOAD_PATH.filter_map { |d|
  p = "#{d}/#{f}.rb"
  File.read(p) if File.exist?(p)
}.first or raise f }

class Counter < Prism::Visitor
  attr_reader :calls, :names
  def initialize = (@calls, @names = 0, Hash.new(0))
  def visit_call_node(node)
    @calls += 1
    @names[node.name] += 1
    super
  end
end

Workload.run(1) do
  counter = Counter.new
  files.each { |text| Prism.parse(text).value.accept(counter) }
  counter.calls + counter.names.size
end
