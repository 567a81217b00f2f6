# Robust estimates on small samples. Everything here is a pure function of its arguments;
# random draws come from a generator that the caller seeds.

module Bench
  module Stats
    # Natural logarithms: value 0.01 is 1 % slower. n: pairs.
    Estimate = Struct.new(:value, :low, :high, :n, :error) do
      def ratio = Math.exp(value)
      def to_h = { "ratio" => ratio.round(6), "low" => Math.exp(low).round(6), "high" => Math.exp(high).round(6),
                   "n" => n, "standard_error" => error.round(6) }
    end

    TRIM = 0.2
    # Fewer links than that do not reach as far as the interval should. Student's t does.
    FEW = 6

    module_function

    def mean(xs) = xs.sum / xs.size.to_f

    def median(xs) = quantile(xs, 0.5)

    # Linear between order statistics.
    def quantile(xs, q) = sorted_quantile(xs.sort, q)

    def sorted_quantile(s, q)
      at = q * (s.size - 1)
      low = at.floor
      low + 1 < s.size ? s[low] + (at - low) * (s[low + 1] - s[low]) : s[low]
    end

    # The mean without the lowest and the highest `trim` share. One process in a hundred
    # loses 10 % to something else on the machine; a plain mean follows it.
    def trimmed_mean(xs, trim = TRIM)
      s = xs.sort
      cut = (s.size * trim).floor
      mean(s[cut, s.size - 2 * cut])
    end

    def geomean(ratios) = Math.exp(mean(ratios.map { |r| Math.log(r) }))

    def stddev(xs)
      m = mean(xs)
      xs.size < 2 ? 0.0 : Math.sqrt(xs.sum { |x| (x - m)**2 } / (xs.size - 1))
    end

    # The mean over programs of each one's trimmed mean, and its interval. groups: an array
    # of log ratios for each program. Pairs are resampled within programs: each is one
    # layout and one moment, the programs are what they are.
    def estimate(groups, random:, draws: 10_000, confidence: 0.95, trim: TRIM)
      value = mean(groups.map { |g| trimmed_mean(g, trim) })
      means = Array.new(draws) do
        mean(groups.map { |g| trimmed_mean(Array.new(g.size) { g[random.rand(g.size)] }, trim) })
      end.sort
      tail = tail_for(groups, confidence, trim)
      Estimate.new(value, sorted_quantile(means, tail), sorted_quantile(means, 1 - tail),
                   groups.sum(&:size), stddev(means))
    end

    # The same for pairs of relinks that all programs share. groups: for each program
    # { link => log ratio }. What one placement of the code is worth to one program it is worth to
    # others too, so links are resampled, each for all programs at once.
    def estimate_by_link(groups, random:, draws: 10_000, confidence: 0.95, trim: TRIM)
      links = groups.flat_map(&:keys).uniq
      value = mean(groups.map { |g| trimmed_mean(g.values, trim) })
      means = Array.new(draws) do
        drawn = Array.new(links.size) { links[random.rand(links.size)] }
        mean(groups.map do |g|
          values = g.values_at(*drawn).compact
          trimmed_mean(values.empty? ? g.values : values, trim)
        end)
      end.sort
      if links.size < FEW
        e = Estimate.new(value, value, value, groups.sum(&:size), stddev(means))
        return widened(e, links, 1, confidence: confidence, trim: trim)
      end
      tail = tail_for([links], confidence, trim)
      Estimate.new(value, sorted_quantile(means, tail), sorted_quantile(means, 1 - tail),
                   groups.sum(&:size), stddev(means))
    end

    # A bootstrap interval from few values is too short, by sqrt(n/(n-1)) and by what
    # Student's t is wider than the normal; take quantiles further out (the "expanded
    # percentile" interval of Hesterberg, 2015).
    def tail_for(groups, confidence, trim)
      n = groups.map(&:size).min
      kept = groups.sum { |g| g.size - 2 * (g.size * trim).floor - 1 }
      return 0.0 if n < 2 || kept < 1
      normal_cdf(-Math.sqrt(n / (n - 1.0)) * t_quantile((1 + confidence) / 2, kept))
    end

    # Simultaneous intervals for many programs: the bootstrap's standard error times t, as
    # ten thousand draws do not reach far enough into the tails.
    def widened(estimate, group, programs, confidence: 0.95, trim: TRIM)
      return unknown(estimate) if group.size < 2
      dof = [group.size - 2 * (group.size * trim).floor - 1, 1].max
      t = t_quantile(1 - (1 - confidence) / (2.0 * programs), dof)
      half = t * estimate.error * Math.sqrt(group.size / (group.size - 1.0))
      Estimate.new(estimate.value, estimate.value - half, estimate.value + half, estimate.n, estimate.error)
    end

    # One pair says nothing: the truth may be a third of it or three times as much.
    def unknown(estimate)
      Estimate.new(estimate.value, estimate.value - Math.log(3), estimate.value + Math.log(3), estimate.n, estimate.error)
    end

    def normal_cdf(x) = 0.5 * Math.erfc(-x / Math.sqrt(2))

    def normal_quantile(p) = bisect(-9.0, 9.0) { |x| normal_cdf(x) < p }

    # By bisection of the distribution function, which is integrated: few calls, any dof.
    def t_quantile(p, dof)
      return normal_quantile(p) if dof > 200
      bisect(0.0, 700.0) { |x| t_cdf(x, dof) < p }
    end

    def bisect(low, high)
      80.times do
        middle = (low + high) / 2
        yield(middle) ? low = middle : high = middle
      end
      (low + high) / 2
    end

    # x >= 0. With x = sqrt(dof) tan(a) the density is cos(a) ** (dof - 1): Simpson's rule.
    def t_cdf(x, dof)
      angle = Math.atan(x / Math.sqrt(dof))
      steps = 200
      h = angle / steps
      sum = (0..steps).sum do |i|
        weight = i == 0 || i == steps ? 1 : i.odd? ? 4 : 2
        weight * Math.cos(i * h)**(dof - 1)
      end
      scale = Math.exp(Math.lgamma((dof + 1) / 2.0)[0] - Math.lgamma(dof / 2.0)[0]) / Math.sqrt(Math::PI)
      0.5 + scale * sum * h / 3
    end
  end
end
