# 3. A thread that sleeps 5 ms again and again beside one that burns: most of its time it waits for the GVL.
def naps
  from = Truth.wall
  sleep 0.005
  Truth.wall - from
end

def burns
  i = 0
  i += 1 while i < 20_000
end

waited = all = 0.0
Truth.measure do
  done = false
  burner = Thread.new { burns until done }
  from = Truth.wall
  while (all = Truth.wall - from) < 2.0
    waited += [naps - 0.00506, 0].max # the kernel's slack is 50 us
  end
  done = true
  burner.join
end
Truth.tell([{ "what" => "share of the napper that waits for the GVL or a CPU", "kind" => "share", "any" => "\\bnaps\\z", "state" => "gvl",
              "among" => "\\bnaps\\z", "truth" => waited / all }])
