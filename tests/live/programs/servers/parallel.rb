require ENV.fetch("TRUTH_RB")
require "parallel"

def item(n) = burn(0.02 + n % 3 * 0.01, :item)

Parallel.each((1..40).to_a, in_processes: 4) { |n| item n }
