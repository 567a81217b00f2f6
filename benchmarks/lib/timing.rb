# Witness 3: CPU time of fresh processes, in pairs of one link of each side, in random
# order, interleaved over all programs and modes, with stock against stock in the same run.
# The processes of a pair run at the same time and take turns on one core: how fast the host lets
# it be changes from second to second, and so it changes for all of them. They begin together what
# is timed.

require "json"
require_relative "barrier"
require_relative "jobs"
require_relative "stats"

module Bench
  class Timing
    # One pair. number: of stock's link; in a run it is always with the same one of the other side.
    # a: stock, b: the other, in seconds of CPU time; aa: another stock link, or nil.
    Pair = Struct.new(:program, :mode, :number, :a, :b, :aa, :steal, keyword_init: true)

    # All pairs for a file: { mode => { program => [[number, a, b, aa, steal], ...] } } in their order, times to
    # the nanosecond, which is what the clock gives.
    def self.packed(pairs)
      fields = %i[number a b aa steal]
      by = pairs.group_by(&:mode).transform_values do |of|
        of.group_by(&:program).transform_values do |ps|
          ps.map { |p| fields.map { |f| p[f].is_a?(Float) ? p[f].round(9) : p[f] } }
        end
      end
      { "pair" => fields.map(&:to_s), "pairs" => by }
    end

    # cores: the processes of a pair run on one of them. timeout: seconds for those of a pair.
    def initialize(cores:, random: Random.new, timeout: 360)
      @cores, @random, @timeout = cores, random, timeout
      @failures = []
    end

    attr_reader :failures

    # How many processes a pair has: the third, stock against stock, needs another link of stock.
    def self.arms(stock) = stock.size > 1 ? 3 : 2

    # Yields the links of pair i: a of stock, b of the other side, aa another one of stock, and with each
    # the environment that moves its stack and the code that YJIT makes. { a:, b:, aa: } of what comes back.
    def self.pair(i, stock, other, random)
      links = { a: stock[i], b: other[i] }
      links[:aa] = stock[(i + 1 + random.rand(stock.size - 1)) % stock.size] if arms(stock) == 3
      started = links.to_a.shuffle(random: random).map do |arm, link|
        [arm, link, { "PADDING" => "x" * random.rand(4096), "BENCH_MOVE" => random.rand(1 << 30).to_s }]
      end
      Jobs.map(started, workers: started.size) { |arm, link, env| [arm, yield(link, env)] }.to_h
    end

    # stock and other: arrays of links, as many as there are pairs per program and mode.
    def run(programs, modes, stock, other, budget: nil)
      warm_up(stock + other)
      cells = programs.product(modes, (0...stock.size).to_a).shuffle(random: @random)
      cells.each { |cell| cell << Random.new(@random.rand(1 << 32)) } # which core is idle first is no part of it
      started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      begun = 0
      pairs = Jobs.on_cores(cells, @cores, progress: "timing") do |(program, mode, i, random), core|
        next if budget && Process.clock_gettime(Process::CLOCK_MONOTONIC) - started > budget
        begun += 1
        measure(program, mode, i, stock, other, random, core)
      end
      @failures << "the time budget of #{budget} s ended after #{begun} of #{cells.size} pairs" if begun < cells.size
      pairs.compact
    end

    private

    # The first run of a link reads it from disk. A core that idled may be slower, or faster.
    def warm_up(links)
      links.each { |l| Jobs.run(l.env, l.command("interp", ["-e", "1"], options: ["--disable-gems"])) }
      stop = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 2
      Jobs.on_cores(@cores, @cores) do |_, core|
        Jobs.run({ "PATH" => "/usr/bin:/bin" }, ["taskset", "-c", core.to_s, "timeout", "2", "sh", "-c", "while :; do :; done"])
      end
      sleep 0.05 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < stop
    end

    def measure(program, mode, i, stock, other, random, core)
      steal = steal_ticks(core)
      barrier = Barrier.new(Timing.arms(stock))
      found = Timing.pair(i, stock, other, random) do |link, env|
        barrier.member { |more, files| once(program, mode, link, env.merge(more), core, files) }
      end
      sums = found.values.map { |f| f["sum"] }.uniq
      raise "different results: #{sums.inspect}" unless sums.size == 1
      Pair.new(program: program.name, mode: mode, number: stock[i].number, steal: steal_ticks(core) - steal,
               a: found[:a]["cpu"], b: found[:b]["cpu"], aa: found[:aa]&.fetch("cpu"))
    rescue RuntimeError => e
      @failures << "#{program.name} (#{mode}): #{e.message}"
      nil
    ensure
      barrier&.close
    end

    def once(program, mode, link, env, core, inherit)
      env = link.env.merge(program.env_for("time"), env)
      command = ["taskset", "-c", core.to_s, *program.private, *link.command(mode, program.args_for("time"), options: program.options)]
      outcome = Jobs.run(env, command, timeout: @timeout, chdir: program.chdir || "/", inherit: inherit)
      raise "#{link.name}: #{outcome.error}" if outcome.error
      figures = JSON.parse(outcome.out.lines.last.to_s)
      raise "#{link.name}: YJIT is #{figures["yjit"] ? "on" : "off"}" unless figures["yjit"] == (mode == "yjit")
      figures
    rescue JSON::ParserError
      raise "#{link.name}: no figures on the last line"
    end

    def steal_ticks(core) = File.read("/proc/stat")[/^cpu#{core} .*/].to_s.split[8].to_i
  end

  # What the pairs say.
  class TimeTable
    # without: programs that "rest" leaves out.
    def initialize(pairs, random: Random.new(1), draws: 10_000, confidence: 0.95, without: [])
      @pairs, @random, @draws, @confidence, @without = pairs, random, draws, confidence, without
    end

    # { mode => { "suite" => .., "rest" => .., "aa" => .., "programs" => { name => .. } } }
    def to_h
      @pairs.group_by(&:mode).to_h do |mode, pairs|
        groups = by_link(pairs) { |p| p.b / p.a }
        aa = by_link(pairs.select(&:aa)) { |p| p.aa / p.a }
        rest = groups.except(*@without)
        rest = nil if [0, groups.size].include?(rest.size)
        [mode, { "suite" => estimate(groups), "rest" => rest && estimate(rest), "aa" => aa.empty? ? nil : estimate(aa),
                 "programs" => groups.transform_values { |g| program(g.values, groups.size) },
                 "median_cpu" => pairs.group_by(&:program).transform_values { |ps| Stats.median(ps.map(&:a)).round(4) },
                 "beyond_10_percent" => groups.values.flat_map(&:values).count { |r| r.abs > 0.1 },
                 "steal_ticks" => pairs.sum(&:steal) }]
      end
    end

    private

    # { program => { link => log ratio } }
    def by_link(pairs)
      pairs.group_by(&:program).to_h do |name, ps|
        raise ArgumentError, "#{name}: two pairs of one link" if ps.uniq(&:number).size < ps.size
        [name, ps.to_h { |p| [p.number, Math.log(yield(p))] }]
      end
    end

    def estimate(groups) = Stats.estimate_by_link(groups.values, random: @random, draws: @draws, confidence: @confidence).to_h

    # low, high: for all programs together.
    def program(group, programs)
      e = Stats.estimate([group], random: @random, draws: [@draws, 2000].min)
      Stats.widened(e, group, programs, confidence: @confidence).to_h
    end
  end
end
