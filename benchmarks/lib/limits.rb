# Witness 4: memory, code size, recursion depth, rates, GC.

require "json"
require_relative "jobs"
require_relative "programs"
require_relative "stats"
require_relative "timing"

module Bench
  class Limits
    DIR = File.expand_path("../workloads/limits", __dir__)
    STARTS = 5 # of each link

    # A size is the median of `repeats`; that of a program is the pair of sizes whose ratio is the median,
    # each pair with a heap of its own (BENCH_MOVE), as a heap grows in steps. Rates are measured on `cores`.
    def initialize(workers:, cores: [0], repeats: 5, methods: 100_000, scale: 1, random: Random.new(1))
      @workers, @cores, @repeats, @methods, @scale, @random = workers, cores, repeats, methods, scale, random
    end

    # links: the links of each side, the same number, at least two.
    # { what => { mode => { side => value } } }; what is "depth main_plain", "rss so_lists", ...
    def run(sides, modes, programs, links)
      table = Hash.new { |h, k| h[k] = Hash.new { |g, m| g[m] = {} } }
      cells = sides.product(modes, jobs(programs)).flat_map { |c| Array.new(@repeats) { |i| [*c, i] } }
      cells.reject! { |_, _, job, i| job[:once] && i > 0 }
      found = Jobs.map(cells, workers: @workers, progress: "limits") do |side, mode, job, i|
        measure(side, mode, job, env: job[:program] ? { "BENCH_MOVE" => (i + 1).to_s } : {})
      end
      cells.zip(found).group_by { |(_, mode, job, _), _| [mode, job] }.each do |(mode, job), rows|
        merge(table, job, mode, sides, sides.map { |s| rows.select { |(side, *), _| side == s }.map(&:last) })
      end
      sides.each do |side|
        size = binary(side)
        modes.each { |mode| table["binary text+data"][mode][side.name] = size }
      end
      starts(table, sides, modes, links)
      rates(table, sides, modes, links)
      table.transform_values { |modes_of| modes_of.reject { |_, v| v.empty? } }
    end

    private

    def jobs(programs)
      [{ name: "depth", args: [file("depth")], once: true },
       { name: "methods defined", args: [file("methods"), @methods.to_s, "defined"] },
       { name: "methods called", args: [file("methods"), @methods.to_s, "called"] },
       { name: "many", args: [file("many")] },
       *programs.map { |p| { name: "program #{p.name}", args: p.args_for("probe"), program: p } }]
    end

    # Bytes of the VM's code and data as they are mapped, without debug information.
    def binary(side)
      vm = Dir[File.join(side.root, "libruby*.so.*")].max || side.exe
      outcome = Jobs.run({ "PATH" => ENV.fetch("PATH"), "LC_ALL" => "C" }, ["size", vm])
      outcome.error ? { "error" => outcome.error } : outcome.out.lines.last.split.first(2).sum(&:to_i)
    end

    def file(name) = File.join(DIR, "#{name}.rb")

    def measure(side, mode, job, prefix: [], env: {})
      program = job[:program]
      env = program.env_for("probe").merge(env) if program
      args = program ? job[:args] : ["-r", Programs::HARNESS, *job[:args]]
      options = program ? program.options : ["--disable-gems"]
      command = [*prefix, *side.command(mode, args, options: options)]
      outcome = Jobs.run(side.env.merge(env), command, chdir: program&.chdir || "/")
      return outcome.error if outcome.error
      JSON.parse(outcome.out.lines.last.to_s)
    rescue JSON::ParserError
      "no figures on the last line"
    end

    # rows: what each side wrote, in the order of its repeats.
    def merge(table, job, mode, sides, rows)
      names = sides.map(&:name)
      failed = names.zip(rows.map { |r| r.grep(String).first }).select(&:last)
      failed.each { |name, why| table["#{job[:name]} failed"][mode][name] = { "error" => why } }
      return unless failed.empty?
      (rows.first.first.keys - %w[cpu wall sum yjit gc]).each do |key|
        values = rows.map { |r| r.map { |figures| figures[key] } }
        values = job[:program] ? Limits.middle(values) : values.map { |v| Stats.median(v) }
        table["#{job[:name]} #{key}"][mode] = names.zip(values).to_h
      end
    end

    # Of [a1, a2, ..] and [b1, b2, ..] the pair whose ratio is the median.
    def self.middle(values)
      values.transpose.sort_by { |a, b| b.to_f / [a, 1].max }[(values.first.size - 1) / 2]
    end

    # All of the memory of a start, pages of files too. How many of them the kernel maps depends on where the
    # link has put code, and on luck: the mean of each link, and an interval over the links.
    def starts(table, sides, modes, links)
      cells = modes.product(sides.zip(links).flat_map { |s, of| of.map { |l| [s, l] } }, [*1..STARTS]).shuffle(random: @random)
      found = Jobs.map(cells, workers: @workers, progress: "starts") { |mode, (_, link), _| measure(link, mode, { args: [file("start")] }) }
      modes.each do |mode|
        of = cells.zip(found).select { |(m, *), _| m == mode }.group_by { |(_, (_, link), _), _| link }.transform_values { |r| r.map(&:last) }
        if (failed = of.values.flatten.grep(String).first)
          next table["starts failed"][mode][sides.last.name] = { "error" => failed }
        end
        { "rss" => %w[private file], "peak" => %w[hwm], "files" => %w[file] }.each do |text, keys|
          means = links.map { |l| l.map { |link| Stats.mean(of[link].map { |f| f.values_at(*keys).sum }) } }
          logs = means.transpose.map { |a, b| Math.log(b / a) }
          table["starts #{text}"][mode] = { **sides.map(&:name).zip(means.map { |m| Stats.mean(m) }).to_h,
                                            **Stats.estimate([logs], random: @random, draws: 2000).to_h }
        end
      end
    end

    # Pairs of links and stock against stock, as programs are timed: at once, on one core.
    def rates(table, sides, modes, links)
      job = { args: [file("rates"), @scale.to_s] }
      modes.each do |mode|
        pairs = links.first.each_index.map { |i| [i, Random.new(@random.rand(1 << 32))] }
        rounds = Jobs.on_cores(pairs, @cores) do |(i, random), core|
          Timing.pair(i, *links, random) do |link, env|
            measure(link, mode, job, prefix: ["taskset", "-c", core.to_s], env: env)
          end
        end
        failed = rounds.flat_map(&:values).grep(String).first
        next table["rate failed"][mode][sides.last.name] = { "error" => failed } if failed
        rounds.first[:a].each_key do |key|
          of_key = rounds.map { |r| r.transform_values { |v| v[key] } }
          sides.zip(%i[a b]) { |s, arm| table["rate #{key}"][mode][s.name] = Stats.median(of_key.map { |r| r[arm] }).round }
          table["rate #{key}"][mode].merge!(ratio(of_key, :b), "aa" => ratio(of_key, :aa))
        end
      end
    end

    def ratio(rounds, arm)
      logs = rounds.map { |r| Math.log(r[arm] / r[:a].to_f) }
      Stats.estimate([logs], random: @random, draws: 2000).to_h
    end
  end
end
