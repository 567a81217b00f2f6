require_relative "../lib/ticks"

# A program of slices of 7 us that a timer interrupts at a phase which we do not tell. As on the
# machines that it is for, there is also the scheduler's tick, and what comes at any time: the
# collector in some slices, the hypervisor in others.
class TicksTest < Test
  T = Bench::Ticks

  def starts(random, period, cost, seconds)
    t = 10**15
    stop = t + seconds * 10**9
    timer, tick = t + random.rand(period), t + random.rand(4_000_000)
    all = [t]
    while t < stop
      t += 6_800 + random.rand(400)
      t += random.rand(200_000) if random.rand < 0.001
      t += 20_000 + random.rand(20_000) if random.rand < 0.004
      timer, t = timer + period, t + (cost * [0.4, 1.6].sample(random: random)).round while timer < t
      tick, t = tick + 4_000_000, t + 30_000 while tick < t
      all << t
    end
    all
  end

  def costs(period, cost, seconds: 2, windows: 4)
    random = Random.new(4)
    Array.new(windows) { T.cost(starts(random, period, cost, seconds), period) }
  end

  def mean(costs) = costs.sum(&:first) / costs.size

  def test_cost_of_a_tick_at_999_hz
    found = costs(1_001_001, 30_000)
    near mean(found), 30_000, 1_500
    ok found.all?(&:last), "seen in each window"
    found = costs(1_001_001, 3_000)
    near mean(found), 3_000, 800
  end

  def test_cost_of_a_tick_at_99_hz
    found = costs(10_101_010, 30_000)
    near mean(found), 30_000, 3_500
  end

  def test_no_timer_has_no_cost
    found = costs(1_001_001, 0, windows: 8)
    near mean(found), 0, 600
    ok found.count(&:last) < 4, "seen where there is none"
    ok found.any? { |c,| c < 0 }, "the highest of many bins is not a tick: #{found}"
  end

  def test_what_takes_longer_than_a_tick_can
    calm = Array.new(200_001) { |i| 10**12 + i * 7_000 }
    away = calm.each_with_index.map { |t, i| t + i / 50_000 * 30_000_000 }
    near T.cost(away, 1_001_001)[0], 0, 500
  end

  # A tick in a slice that began long before is not there to be seen, and must not count.
  def test_slices_that_reach_over_the_tick
    random = Random.new(8)
    found = Array.new(5) do
      t, tick, all = 10**12, 10**12 + random.rand(1_001_001), []
      while t < 10**12 + 2 * 10**9
        all << t
        t += random.rand < 0.04 ? 120_000 : 6_800 + random.rand(400)
        tick, t = tick + 1_001_001, t + 30_000 while tick < t
      end
      T.cost(all, 1_001_001)
    end
    near mean(found), 30_000, 2_500
  end

  def test_too_short
    raises(ArgumentError) { T.cost([0, 7_000, 14_000], 1_001_001) }
  end
end
