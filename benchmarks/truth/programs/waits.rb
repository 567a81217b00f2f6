# 2. Three threads: one joins, one waits in Queue#pop, one burns. Each has a third of the wall time.
def joins(thread) = thread.join
def pops(queue) = queue.pop

def burns
  i = 0
  i += 1 while i < 20_000
end

spent = {}
Truth.measure do
  queue = Thread::Queue.new
  waiter = Thread.new { from = Truth.wall; pops(queue); spent["pops"] = Truth.wall - from }
  burner = Thread.new { from = Truth.wall; burns while Truth.wall - from < 2.0; spent["burns"] = Truth.wall - from }
  from = Truth.wall
  joins(burner)
  spent["joins"] = Truth.wall - from
  queue << 1
  waiter.join
end
all = spent.values.sum
Truth.tell(spent.map { |name, seconds| { "what" => "share of the thread that #{name}", "kind" => "share", "any" => "\\b#{name}\\z",
                                          "among" => "\\b(joins|pops|burns)\\z", "truth" => seconds / all } })
