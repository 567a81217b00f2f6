# 14. Two branches that throw to each other as fast as possible: hot_a only calls leaf_a, hot_b only leaf_b.
def leaf_a = throw(:done, 1)
def leaf_b = throw(:done, 2)
def hot_a = leaf_a
def hot_b = leaf_b

sum = 0
Truth.measure do
  1_500_000.times do
    sum += catch(:done) { hot_a }
    sum += catch(:done) { hot_b }
  end
end
Truth.tell([{ "what" => "samples with a leaf under the other branch", "kind" => "cross", "pairs" => [%w[hot_a leaf_b], %w[hot_b leaf_a]],
              "truth" => 0 }], "fixed" => true, "sum" => sum)
