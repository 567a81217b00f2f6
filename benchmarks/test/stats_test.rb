require_relative "../lib/stats"
require_relative "../lib/judge"

# Synthetic pairs are like the measured ones: 2 % of spread from layout and machine, and
# one pair in fifty that something else disturbed by 15 %.
class StatsTest < Test
  S = Bench::Stats

  def noise(random)
    spike = random.rand < 0.02 ? [-0.15, 0.15].sample(random: random) : 0
    spike + 0.02 * Math.sqrt(-2 * Math.log(1 - random.rand)) * Math.cos(2 * Math::PI * random.rand)
  end

  def groups(random, programs, pairs, truth)
    Array.new(programs) { Array.new(pairs) { truth + noise(random) } }
  end

  def coverage(draws, programs, pairs, resamples)
    random = Random.new(11)
    hits = draws.times.count do
      e = S.estimate(groups(random, programs, pairs, 0.01), random: random, draws: resamples)
      e.low <= 0.01 && 0.01 <= e.high
    end
    hits / draws.to_f
  end

  def test_interval_covers_the_truth_in_1000_draws
    share = coverage(1000, 1, 16, 300)
    ok share >= 0.93, "covered in #{share}"
    ok share <= 0.99, "too wide: covered in #{share}"
  end

  def test_interval_of_a_suite_covers_the_truth
    share = coverage(200, 12, 8, 200)
    ok share >= 0.92, "covered in #{share}"
  end

  def verdicts(truth, bound)
    random = Random.new(5)
    Array.new(60) do
      e = S.estimate(groups(random, 20, 16, Math.log(truth)), random: random, draws: 200).to_h
      Bench::Judge.interval(e, bound, false)
    end.tally
  end

  FULL = { "pass_below" => 1.005, "fail_above" => 1.005 }.freeze

  def test_one_percent_is_found
    found = verdicts(1.01, FULL)
    ok found["fail"].to_i >= 57, found.inspect
    ok !found.key?("pass"), found.inspect
  end

  def test_equal_sides_do_not_fail
    found = verdicts(1.0, FULL)
    ok !found.key?("fail"), found.inspect
    ok found["pass"].to_i >= 40, found.inspect
  end

  def test_a_mean_would_follow_the_outlier_and_the_estimate_does_not
    group = Array.new(16, 0.001)
    group[3] = -0.17
    near S.trimmed_mean(group), 0.001, 1e-12
    ok S.mean(group) < -0.009
  end

  def test_quantiles
    is S.median([3, 1, 2]), 2
    is S.median([4, 1, 2, 3]), 2.5
    is S.quantile([1, 2, 3, 4, 5], 0.25), 2
    is S.quantile([7], 0.9), 7
    is S.trimmed_mean([9]), 9
    near S.geomean([2, 0.5]), 1.0, 1e-12
    near S.stddev([1, 2, 3]), 1.0, 1e-12
  end

  def test_students_t
    [[0.975, 1, 12.706], [0.975, 5, 2.5706], [0.975, 9, 2.2622], [0.9995, 9, 4.7809], [0.975, 100, 1.984]].each do |p, dof, t|
      near S.t_quantile(p, dof), t, 0.001
    end
    near S.normal_quantile(0.975), 1.959964, 1e-5
  end

  def test_the_same_seed_gives_the_same_interval
    g = groups(Random.new(3), 3, 8, 0)
    a, b = Array.new(2) { S.estimate(g, random: Random.new(1), draws: 300).to_h }
    is a, b
  end

  def test_intervals_for_many_programs_are_wider
    g = groups(Random.new(3), 1, 16, 0)
    e = S.estimate(g, random: Random.new(1), draws: 500)
    ok S.widened(e, g[0], 30).high > e.high
    ok S.widened(e, g[0], 30).high > S.widened(e, g[0], 1).high
  end
end
