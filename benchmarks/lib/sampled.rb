# The patched ruby while extprof samples it, and what extprof itself costs. One process
# runs equal slices of work, with the profiler attached or not, in random order: so layout
# is the same on both sides. What a tick costs is seen in slices of some microseconds; see
# ticks.rb.

require "json"
require_relative "programs"
require_relative "recorder"
require_relative "stats"
require_relative "ticks"

module Bench
  class Sampled
    PROGRAM = File.expand_path("../workloads/sampled.rb", __dir__)
    STATS = "/proc/sys/kernel/bpf_stats_enabled"

    # ticker: the bare timer, tools/ticker.c.
    def initialize(extprof, ticker, core: 0, random: Random.new(1))
      @recorder, @ticker, @random = Recorder.new(extprof, core: core), ticker, random
    end

    # What could not be measured is { "error" => why }, in all three.
    # { rate => { "ratio" => estimate, "timer" => estimate of the timer alone, "above_timer" =>
    #   estimate of all against the timer, "extprof_cpu" =>, "extprof_rss_mib" =>, "taken" =>, "lost" => } }
    def rates(side, mode, rates, windows:, seconds: 0.5)
      rates.to_h do |rate|
        [rate, measured { target(side, mode, "mix") { |t| compare(t, rate, windows, slices(t, seconds)) } }]
      end
    end

    # What sampling takes from the program: { rate => { "timer" => estimate for the timer alone,
    #   "sampled" =>, "by_tick" => with --timer=tick, where the scheduler's tick is fast enough } }
    # An estimate has "us", for each sample taken, and the "ratio" that comes of it, with "low", "high".
    def ticks(side, mode, rates, windows:, seconds: 2.0)
      rates.to_h do |rate|
        [rate, measured { target(side, mode, "ticks") { |t| tick_costs(t, rate, windows, (seconds / 7e-6).ceil) } }]
      end
    end

    # { depth => { "ns" => per sample of the target } }, by the kernel's own account.
    def cost(side, mode, depths, rate: 999, seconds: 2.5, stats: STATS)
      before = File.read(stats).strip
      File.write(stats, "1")
      depths.to_h { |d| [d, measured { target(side, mode, d.to_s) { |t| in_kernel(t, rate, slices(t, seconds)) } }] }
    ensure
      File.write(stats, before) if before
    end

    private

    # One that cannot be leaves the others their rows.
    def measured
      yield
    rescue Refused, SystemCallError, ArgumentError, JSON::ParserError => e
      { "error" => e.message }
    end

    # How many take so long: YJIT's are much shorter.
    def slices(target, seconds) = (seconds / middle(target.run(20))).ceil

    def compare(target, rate, windows, slices)
      runs = { plain: [], sampled: [], timer: [] }
      accounts = []
      windows.times do
        runs.keys.shuffle(random: @random).each do |how|
          case how
          when :plain then runs[how] << target.run(slices)
          when :timer then ticking(rate) { runs[how] << target.run(slices) }
          when :sampled then accounts << attached(target, rate) { target.run(slices).tap { |cpu| runs[how] << cpu } }
          end
        end
      end
      between = lambda do |a, b|
        Stats.estimate([runs[a].zip(runs[b]).map { |x, y| Math.log(middle(y) / middle(x)) }], random: @random).to_h
      end
      summary(accounts, rate).merge("ratio" => between[:plain, :sampled], "timer" => between[:plain, :timer],
                                    "above_timer" => between[:timer, :sampled])
    end

    # ns between two of the scheduler's ticks: what the coarse clock counts in.
    SCHEDULER = (Process.clock_getres(Process::CLOCK_MONOTONIC_COARSE) * 1e9).round

    def tick_costs(target, rate, windows, slices)
      period = 1_000_000_000 / rate
      ways = { timer: -> { ticking(rate) { target.starts(slices) } }, sampled: -> { by(target, rate, slices) } }
      if period >= SCHEDULER && !(refused = tick_refused(target))
        ways.merge!(none: -> { target.starts(slices) }, by_tick: -> { by(target, rate, slices, "--timer=tick") })
      end
      runs = ways.transform_values { [] }
      windows.times do
        ways.keys.shuffle(random: @random).each do |how|
          runs[how] << Ticks.cost(ways[how].call, %i[none by_tick].include?(how) ? SCHEDULER : period)
        end
      end
      result = { "timer" => per_tick(runs[:timer], rate), "sampled" => per_tick(runs[:sampled], rate) }
      result["refused"] = refused if refused
      return result unless runs[:by_tick]
      # Each tick of the scheduler runs the BPF program, but not each takes a sample.
      more = runs[:by_tick].zip(runs[:none]).map { |with, without| [(with[0] - without[0]) * 1e9 / SCHEDULER / rate, with[1]] }
      result.merge("by_tick" => per_tick(more, rate))
    end

    # costs: ns for each sample and whether ticks were seen, of each window. That share of the time
    # is not the program's.
    def per_tick(costs, rate)
      e = Stats.estimate([costs.map(&:first)], random: @random)
      ratio = ->(ns) { (1 / (1 - ns * rate / 1e9)).round(6) }
      { "us" => (e.value / 1000).round(2), "ratio" => ratio[e.value], "low" => ratio[e.low], "high" => ratio[e.high],
        "n" => costs.size, "seen" => costs.count(&:last) }
    end

    # When slices began while extprof sampled.
    def by(target, rate, slices, *options)
      starts = nil
      a = attached(target, rate, *options) do
        starts = target.starts(slices)
        [(starts.last - starts.first) / 1e9]
      end
      due = rate * a[:work]
      # If others ran on the core, the program did not have all of that time.
      unless a[:taken] > 0.8 * due && a[:lost] < 0.01 * due
        raise Refused, "extprof took #{a[:taken]} samples and lost #{a[:lost]} where #{due.round} were due"
      end
      starts
    end

    # Why --timer=tick does not work here, or nil.
    def tick_refused(target)
      attached(target, 99, "--timer=tick") { target.starts(50_000) && [0] }
      nil
    rescue Refused => e
      e.message
    end

    # Of slices, each some ms: what else ran meanwhile makes some of them slow.
    def middle(slices) = Stats.trimmed_mean(slices)

    def ticking(rate)
      pid = Process.spawn(@ticker, rate.to_s)
      sleep 0.2
      raise Refused, "the bare timer could not be set" if Process.wait(pid, Process::WNOHANG)
      yield
    ensure
      Recorder.stop(pid, :TERM) if pid # it waits for nothing else
    end

    def summary(accounts, rate)
      taken, lost, missed, seconds = %i[taken lost missed seconds].map { |k| accounts.sum { |a| a[k] } }
      require_samples(taken, rate * accounts.sum { |a| a[:work] })
      { "extprof_cpu" => accounts.sum { |a| a[:cpu] } / seconds,
        "extprof_rss_mib" => accounts.map { |a| a[:rss] }.max / 1024.0,
        "taken" => taken, "lost" => lost, "missed" => missed, "lost_share" => (lost + missed) / (taken + missed).to_f }
    end

    def require_samples(taken, due, text = "extprof took %d samples where %d were due")
      raise Refused, format(text, taken, due) unless taken > 0.9 * due
    end

    def in_kernel(target, rate, slices)
      idle = nil
      account = attached(target, rate) do |programs|
        a = programs.call
        sleep 1
        b = programs.call
        idle = [b[0] - a[0], b[1] - a[1]]
        target.run(slices).tap { c = programs.call; @busy = [c[0] - b[0], c[1] - b[1]] }
      end
      samples = account[:taken]
      require_samples(samples, rate * account[:work])
      require_samples(@busy[0] > 0 ? @busy[1] : 0, samples, "the kernel counted %d runs for %d samples")
      quick = idle[1] > 0 ? idle[0] / idle[1].to_f : 0.0
      { "ns" => ((@busy[0] - [@busy[1] - samples, 0].max * quick) / samples).round(1),
        "ns_of_any_run" => (@busy[0] / @busy[1].to_f).round(1), "runs" => @busy[1], "samples" => samples.round,
        "ns_elsewhere" => quick.round(1) }
    end

    def target(side, mode, kind, &block) = @recorder.target(side, mode, PROGRAM, kind, &block)

    # Attaches, yields a function that gives what BPF programs took since, detaches: what was used and sampled.
    def attached(target, rate, *options)
      known = programs
      work = nil
      used = @recorder.attached(target, "-r", rate.to_s, *options) { work = (yield -> { bpf_stats(known) }).sum }
      used.merge(work: work)
    end

    def programs = JSON.parse(IO.popen(["bpftool", "-j", "prog", "show"], &:read)).to_h { |p| [p["id"], p] }

    # [ns, runs] of the programs that extprof loaded and that the timer runs.
    def bpf_stats(known)
      ours = programs.reject { |id, _| known.key?(id) }.values.select { |p| p["type"] == "perf_event" }
      [ours.sum { |p| p["run_time_ns"].to_i }, ours.sum { |p| p["run_cnt"].to_i }]
    end
  end
end
