# Loads two thousand small files (BENCH_TREE; the runner makes them).
tree = ENV.fetch("BENCH_TREE")
$LOAD_PATH.unshift(tree)
Workload.run(1, cold: true) do
  Dir.children(tree).sort.each { |f| require File.join(tree, f) }
  Tree.constants.size
end
