require_relative "../lib/stats"
require_relative "../lib/judge"

# Synthetic pairs are like the measured ones: 2 % of spread from layout and machine, and
# one pair in fifty that something else disturbed by 15 %.
class StatsTest < Test
  S = Bench::Stats

  def noise(random)
    spike = random.rand < 0.02 ? [-0.15, 0.15].sample(random: random) : 0
    spike + 0.02 * normal(random)
  end

  def normal(random) = Math.sqrt(-2 * Math.log(1 - random.rand)) * Math.cos(2 * Math::PI * random.rand)

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

  # For each program { link => log ratio }. effect: the SD of what a pair of links is worth to all
  # programs alike. share: of the pairs that were taken; at least two for each program.
  def linked(random, programs, links, truth, effect, share: 1)
    common = Array.new(links) { effect * normal(random) }
    Array.new(programs) do
      of = (0...links).to_a.select { random.rand < share }
      of = [0, links - 1] if of.size < 2
      of.to_h { |i| [i, truth + common[i] + noise(random)] }
    end
  end

  # How often each of two estimates covers the truth: links resampled, pairs resampled.
  def coverages(draws, effect, share: 1, programs: 10, links: 16)
    random = Random.new(12)
    hits = Array.new(draws) do
      groups = linked(random, programs, links, 0.01, effect, share: share)
      [S.estimate_by_link(groups, random: random, draws: 150), S.estimate(groups.map(&:values), random: random, draws: 150)]
        .map { |e| e.low <= 0.01 && 0.01 <= e.high }
    end
    hits.transpose.map { |h| h.count(true) / draws.to_f }
  end

  def test_the_interval_covers_what_links_do_to_all_programs
    by_link, by_pair = coverages(300, 0.01)
    ok by_link >= 0.93, "covered in #{by_link}"
    ok by_link <= 0.99, "too wide: covered in #{by_link}"
    ok by_pair < 0.85, "pairs alone would do: covered in #{by_pair}"
  end

  def test_the_interval_covers_with_ragged_groups
    by_link, by_pair = coverages(200, 0.01, share: 0.6, programs: 20)
    ok by_link >= 0.93, "covered in #{by_link}"
    ok by_pair < 0.9, "pairs alone would do: covered in #{by_pair}"
  end

  def test_the_interval_covers_where_links_do_nothing
    by_link, = coverages(300, 0)
    ok by_link >= 0.93, "covered in #{by_link}"
  end

  def test_the_interval_of_few_links_covers
    [2, 3, 5].each do |links|
      by_link, = coverages(200, 0.01, links: links)
      ok by_link >= 0.92, "#{links} links: covered in #{by_link}"
    end
  end

  def test_estimate_by_link_of_known_values
    groups = [{ 0 => 0.01, 1 => 0.03 }, { 1 => 0.05 }]
    e = S.estimate_by_link(groups, random: Random.new(1), draws: 400)
    near e.value, 0.035, 1e-12
    is e.n, 3
    ok e.low < 0 && e.high > 0.07, e.to_a.inspect # two links say little
    near e.value - e.low, e.high - e.value, 1e-12
    one = S.estimate_by_link([{ 7 => 0.02 }, { 7 => 0.04 }], random: Random.new(1), draws: 50)
    [one, S.widened(S.estimate([[0.03]], random: Random.new(1), draws: 50), [0.03], 10)].each do |e|
      near e.value, 0.03, 1e-12
      is Bench::Judge.interval(e.to_h, FULL, nil), "inconclusive"
    end
  end

  def verdicts(truth, bound, effect: 0)
    random = Random.new(5)
    Array.new(60) do
      e = S.estimate_by_link(linked(random, 20, 16, Math.log(truth), effect), random: random, draws: 150).to_h
      Bench::Judge.interval(e, bound, nil)
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

  # As links were on 2026-11-21: 0.3 to 0.4 %.
  def test_links_alone_neither_pass_nor_fail_wrongly
    is verdicts(1.0, FULL, effect: 0.004)["fail"], nil
    found = verdicts(1.01, FULL, effect: 0.004)
    ok !found.key?("pass") && found["fail"].to_i >= 40, found.inspect
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
