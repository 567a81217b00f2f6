# 7. Garbage collection is more than a third of the CPU time.
KEPT = Array.new(400_000) { |i| [i, i.to_s] }

LATEST = Array.new(8)

def makes
  LATEST[rand(8)] = Array.new(3_000) { Array.new(20) { |i| [i] } }
end

makes
GC.measure_total_time = true
collected = used = 0.0
Truth.measure do
  from, at = GC.total_time, Truth.cpu
  200.times do
    makes
  end
  collected, used = (GC.total_time - from) / 1e9, Truth.cpu - at
end
Truth.tell([{ "what" => "share of garbage collection", "kind" => "share", "state" => "gc", "root" => "measure\\z", "truth" => collected / used },
            { "what" => "collection under the method that ran into it", "kind" => "share", "state" => "gc", "any" => "\\bmakes\\z",
              "root" => "measure\\z",               "truth" => collected / used }], "fixed" => true, "kept" => KEPT.size)
