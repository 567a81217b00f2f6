# What a tick of a periodic timer takes from the program that it interrupts. The program runs
# short slices of equal work, a few microseconds each, and says when each began; of the timer
# only its period is known. Slices around one phase of the period take longer: that phase is
# where the timer is. What is compared are neighbours in time, so that neither layout nor what
# else the machine does comes in: 10 us of 10 ms are seen, where two half seconds of one
# process differ by several per cent.

module Bench
  module Ticks
    BIN = 10_000      # ns
    BEFORE = 40_000   # a slice that began so long before the tick may contain it
    AFTER = 80_000    # what the tick drove from the caches may make slices slow for so long
    # A slice that takes longer than that was held up by something else: the hypervisor, a page fault.
    MOST = 400_000

    module_function

    # starts: ns, rising, one more than there are slices. period: ns.
    # Returns the ns that each tick costs, and whether the timer was seen: costs of less than 5 us
    # at 99 Hz may not be, and then some of them is missing.
    # The phase is sought in every second period and its cost taken in the others, then the
    # other way round: the highest of many bins has noise in it that is not in the same bin
    # of other periods.
    def cost(starts, period)
      long = durations(starts)
      sums = fold(starts, long, period)
      peaks = sums.map { |bins| peak(bins) }
      apart = (peaks[0] - peaks[1]).abs
      [(at(starts, long, period, 1, peaks[0]) + at(starts, long, period, 0, peaks[1])) / 2.0,
       [apart, sums[0].size - apart].min <= 2]
    end

    def durations(starts)
      long = starts.each_cons(2).map { |a, b| b - a }
      most = long.sort[long.size / 2] + MOST
      long.map { |d| d < most ? d : most }
    end

    # For even and odd periods: [sum of durations, number] of the slices that began in each bin.
    def fold(starts, long, period)
      sums = Array.new(2) { Array.new((period / BIN.to_f).ceil) { [0, 0] } }
      first = starts.first
      long.each_with_index do |d, i|
        nth, phase = (starts[i] - first).divmod(period)
        bin = sums[nth & 1][phase / BIN]
        bin[0] += d
        bin[1] += 1
      end
      sums
    end

    # The bin where slices are longest, with its neighbours: ticks are in slices of two or three.
    def peak(bins)
      (0...bins.size).max_by do |b|
        time, n = [-1, 0, 1].map { |k| bins[(b + k) % bins.size] }.transpose.map(&:sum)
        n > 0 ? time / n.to_f : 0
      end
    end

    # What the slices near the phase take more than the others, for each time that the program
    # was there: a slice that is long already may reach over the tick from far before it.
    def at(starts, long, period, half, peak)
      begins = starts.first + peak * BIN - BEFORE
      near = BEFORE + BIN + AFTER
      sums = [0, 0, 0, 0]
      met = 0
      last = nil
      long.each_with_index do |d, i|
        nth, phase = (starts[i] - begins).divmod(period)
        next unless nth & 1 == half
        if phase < near
          sums[0] += d
          sums[1] += 1
          met += 1 if phase <= BEFORE && last != nth
          last = nth if phase <= BEFORE
        else
          sums[2] += d
          sums[3] += 1
        end
      end
      raise ArgumentError, "too short for ticks of #{period} ns" if met == 0 || sums[3] == 0
      (sums[0] - sums[1] * (sums[2] / sums[3].to_f)) / met
    end
  end
end
