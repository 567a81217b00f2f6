# The command line: which witnesses, with how much effort, and the exit status.

require "optparse"
require "stringio"
require_relative "side"
require_relative "icount"
require_relative "slopes"
require_relative "programs"
require_relative "counts"
require_relative "links"
require_relative "timing"
require_relative "limits"
require_relative "sampled"
require_relative "modes"
require_relative "selftest"
require_relative "explain"
require_relative "disasm"
require_relative "gems"
require_relative "judge"
require_relative "passed"
require_relative "on_record"
require_relative "store"
require_relative "report"
require_relative "plot"

module Bench
  # Effort. There is no option to run something again.
  Effort = Struct.new(:level, :seeds, :groups, :limit_programs, :repeats, :rate_pairs, :links,
                      :timed, :time_budget, :windows, keyword_init: true)
  EFFORTS = {
    "full" => Effort.new(level: "full", seeds: [0, 1, 2], groups: %w[start ours cruby yjit-bench], repeats: 5,
                         rate_pairs: 16, links: 16, windows: 16,
                         limit_programs: %w[load_lib require_tree rexml_parse object_churn psych_load define_methods]),
    "gate" => Effort.new(level: "gate", seeds: [0, 1, 2], groups: %w[start ours cruby], repeats: 9,
                         rate_pairs: 12, links: 16, windows: 6, time_budget: 600,
                         timed: %w[poly_calls block_chain kwargs_splat deep_recursion erb_render rexml_parse app_fib object_churn],
                         limit_programs: %w[load_lib require_tree rexml_parse object_churn psych_load define_methods])
  }.freeze

  class Main
    MODES = %w[interp yjit].freeze
    NOT_ON_RECORD = 4 # benchmarks/run builds stock then
    ONLY = %w[slopes counts time limits modes].freeze # what has names to choose from
    WITNESSES = %w[slopes counts repeat time limits sampled modes selftest].freeze
    USAGE = <<~TEXT
      usage: benchmarks/run [OPTION...] [COMMAND]
        bench      all witnesses at full effort [default]
        gate       what CI runs: about twelve minutes, with the gate's own test; only the exact counts
                   if a gate is on record that passed with the same rubies and witnesses (GATE=full: all);
                   then stock's are those on record, and stock is not built
        slopes counts repeat time limits sampled modes selftest   one witness
        gems       install the gems of yjit-bench's headline programs
        explain WHAT [MODE]   where the instructions of a kind or a program are (callgrind)
        disasm     the machine code of one call, interpreted and by YJIT
        show [FILE]   the table of the last run, or of a file of results, again
    TEXT

    def initialize(argv, env)
      @build = env.fetch("BUILD")
      @all = env["GATE"] == "full"
      @options = { patched: env["PATCHED"] || "#{@build}/ruby", stock: env["STOCK"] || "#{@build}/bench/stock",
                   yjit_bench: env["YJIT_BENCH"], workers: Etc.nprocessors, cores: Jobs.cores.last(2),
                   effort: nil, only: nil, modes: MODES, extprof: env["EXTPROF"] || "#{@build}/extprof/extprof" }
      @arguments = [*("--mode=#{env["MODE"]}" unless env["MODE"].to_s.empty?), *argv]
      @bench = File.join(@build, "bench")
      @store = Store.new(File.join(@bench, "results"), command: ["benchmarks/run", *@arguments].join(" "))
    end

    def parser
      OptionParser.new do |o|
        o.banner = USAGE
        o.on("--patched=DIR", "build directory of the patched ruby") { |v| @options[:patched] = v }
        o.on("--stock=DIR", "build directory of stock ruby") { |v| @options[:stock] = v }
        o.on("--yjit-bench=DIR", "a checkout of yjit-bench (or YJIT_BENCH)") { |v| @options[:yjit_bench] = v }
        o.on("--other-flags", "compare although compiler or flags differ, to see what they cost") { @options[:other_flags] = true }
        o.on("--[no-]headline", "yjit-bench's headline programs [with a checkout they are]") { |v| @options[:headline] = v }
        o.on("--only=NAME,...", Array, "these kinds or programs") { |v| @options[:only] = v }
        o.on("--mode=MODE", MODES, "interp or yjit (or MODE)") { |v| @options[:modes] = [v] }
        o.on("--gate", "one witness with the gate's effort") { @options[:effort] = "gate" }
        o.on("--links=N", Integer, "relinks, and so pairs, per program; no second look") { |v| @options[:links] = v }
        o.on("--workers=N", Integer, "processes at once, where nothing is timed") { |v| @options[:workers] = v }
        o.on("--cores=N,...", "--core=N", Array, "cores for what is timed, each for itself [the last two]") do |v|
          @options[:cores] = v.map { |c| Integer(c, 10) rescue raise OptionParser::InvalidArgument, c }
        end
      end
    end

    def run
      parser.parse!(@arguments)
      @command = @arguments.shift || "bench"
      case @command
      when "bench" then judge(WITNESSES, "full")
      when "gate" then judge(WITNESSES - %w[sampled modes], "gate")
      when "explain" then explain
      when "disasm" then prepare && Disasm.print(@sides) && 0
      when "gems" then gems
      when "show" then show
      when *WITNESSES then judge([@command], @options[:effort] || "full")
      else raise Refused, "unknown command #{@command}\n#{USAGE}"
      end
    rescue NotOnRecord => e
      warn "benchmarks: #{e.message}"
      NOT_ON_RECORD
    # An exception that nobody rescues would end with 1, which means that a bound did not hold.
    rescue Refused, ArgumentError, SystemCallError, OptionParser::ParseError => e
      warn "benchmarks: #{e.message}"
      2
    rescue StandardError => e
      warn "benchmarks: #{e.full_message(highlight: false)}"
      2
    end

    private

    def judge(witnesses, effort)
      check_options(witnesses)
      @effort = EFFORTS.fetch(effort).dup
      @effort.links = @options[:links] if @options[:links]
      prepare
      check_alike
      @judge = Judge.new
      @judge.left_out(witnesses.first, "paths that are the same everywhere", @place.why) if @place && !@place.usable?
      witnesses = shortened(witnesses)
      (MODES - @modes).each { |m| @judge.left_out(witnesses.first, "all of #{m}", "not asked for (--mode, MODE)") }
      witnesses.each do |w|
        started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        witness(w, alone: witnesses.size == 1)
        warn "%s took %.0f s" % [w, Process.clock_gettime(Process::CLOCK_MONOTONIC) - started]
      end
      finish
    end

    # Of the gate, what an earlier one has not shown already.
    def shortened(witnesses)
      @inputs = Passed.inputs(@sides)
      ours = @options[:patched] == "#{@build}/ruby" && !@all
      date, machine = Passed.find(@inputs) if @command == "gate" && ours
      raise NotOnRecord, "no gate is on record that passed with these rubies and witnesses" if record && !date
      return witnesses unless date
      why = "all of it passed on #{date[/\A[^T]+/]} (#{machine}) with the same rubies and witnesses, see results/gate.json"
      (witnesses - Passed::SHORT).each { |w| @judge.left_out(w, "all of it", why) }
      witnesses & Passed::SHORT
    end

    # If a witness lacks extprof, root or bpftool, that is a failure in the table; the others still run.
    def witness(name, alone:)
      send("witness_#{name}")
    rescue StandardError => e
      raise if alone
      warn "benchmarks: #{e.full_message(highlight: false)}" unless e.is_a?(Refused)
      @judge.add(witness: name, what: e.message, mode: "", verdict: "fail", note: "did not run")
    end

    # An option that would do nothing is refused.
    def check_options(witnesses)
      raise Refused, "what is #{@arguments.first}?" unless @arguments.empty?
      raise Refused, "--workers must be 1 or more" if @options[:workers] < 1
      raise Refused, "--gate goes with one witness" if @options[:effort] && witnesses.size > 1
      { headline: %w[counts time], links: %w[time] }.each do |option, of|
        next if (witnesses & of).any? || !@options[option]
        raise Refused, "--#{option} does not go with #{witnesses.join(", ")}"
      end
      check_cores
      raise Refused, "--links must be 2 or more: stock is compared with stock too" if @options[:links]&.< 2
      return unless @options[:only]
      raise Refused, "--only goes with one witness" if witnesses.size > 1
      raise Refused, "--only does not go with #{witnesses.first}" unless ONLY.include?(witnesses.first)
    end

    def check_cores
      cores, all = @options[:cores], Jobs.cores
      return if cores.any? && cores.uniq == cores && (cores - all).empty?
      raise Refused, "--cores must be some of #{all.join(", ")}, each once"
    end

    def prepare
      root = File.join(@bench, "sides")
      stock = @options[:stock] == "record" ? OnRecord.new : Side.new("stock", @options[:stock], root)
      @sides = [stock, Side.new("patch", @options[:patched], root)]
      measured.each(&:prepare)
      @modes = modes(@sides)
      @place = Place.new(@bench, File.expand_path("..", __dir__))
      @icount = Icount.new(File.join(@bench, "tools"), @place)
      @programs = Programs.new(cruby: File.join(measured[0].source, "benchmark"), work: File.join(@bench, "programs"),
                               yjit_bench: @options[:yjit_bench], gem_home: File.join(@bench, "gems"))
    end

    # The side that is on record, and not built; and the others.
    def record = @sides.grep(OnRecord).first
    def measured = @sides.grep_v(OnRecord)

    # The modes that were asked for. If a side lacks one, that is refused and not left out in silence.
    def modes(sides)
      lacking = sides.reject(&:yjit?).map(&:name)
      return @options[:modes] if lacking.empty? || !@options[:modes].include?("yjit")
      raise Refused, "no YJIT in #{lacking.join(" and ")}: --mode=interp (make: MODE=interp) compares the interpreters"
    end

    def check_alike
      same = measured.size == 2 && FileUtils.identical?(*@sides.map(&:exe))
      raise Refused, "stock and patched are the same ruby: #{@sides[0].build}, #{@sides[1].build}" if same
      difference = Side.difference(*@sides) or return
      raise NotOnRecord, difference if record
      raise Refused, difference unless @options[:other_flags]
      warn "benchmarks: #{difference}"
    end

    def finish
      raise Refused, "nothing was measured" if @judge.rows.none?(&:gates)
      Report.print(@judge.rows, out: table = StringIO.new)
      print table.string
      run = @store.write_run(table.string, @sides, "inputs" => @inputs, "passed" => @judge.status != 1)
      svg = File.join(@bench, "bench.svg")
      File.write(svg, Plot.of(@judge.rows, "Patched CRuby against stock, #{Time.now.utc.strftime("%F")}, #{Store.machine}"))
      puts "plot: #{svg}", "figures: #{run}"
      raise NotOnRecord, "by stock's counts on record a bound does not hold" if record && @judge.status != 0
      @judge.status
    end

    def show
      file = @arguments.shift
      stored = file ? JSON.parse(File.read(file)) : @store.read(Store::RUN)
      report = stored && stored["report"] or raise Refused, file ? "no table in #{file}" : "no results yet"
      puts report
      0
    rescue JSON::ParserError
      raise Refused, "#{file || @store.path(Store::RUN)} is no file of results"
    end

    # The gate has no time for them, unless they are asked for.
    def headline?
      require_yjit_bench if @options[:headline]
      @options.fetch(:headline) { @options[:yjit_bench] && @effort.level == "full" }
    end

    def headline = headline? ? ["headline"] : []
    def headline_names = headline? ? Programs::HEADLINE.keys - @programs.left_out.keys : []

    # Installs the gems of the programs that have some, once. { program => nil or why it failed }
    def install_gems(programs)
      programs = programs.select(&:gems).reject { |p| p.group == "start" }
      @installed ||= {}
      missing = programs.reject { |p| @installed.key?(p.name) }
      @installed.merge!(installer.install(missing)) unless missing.empty?
      @installed.slice(*programs.map(&:name))
    end

    def installer = Gems.new(@sides.first, File.join(@bench, "gems"), File.join(@bench, "stage"))

    def require_yjit_bench
      raise Refused, "where is yjit-bench? (YJIT_BENCH, --yjit-bench)" unless @options[:yjit_bench]
    end

    def workers = @options[:workers]
    def chosen(programs) = Programs.pick(programs, only(programs.map(&:name)))

    # Those that --only names, or all.
    def only(names)
      unknown = @options[:only].to_a - names
      raise Refused, "no #{unknown.join(", ")} here; there are #{names.sort.join(", ")}" unless unknown.empty?
      @options[:only] ? names & @options[:only] : names
    end

    def witness_slopes
      kinds = KINDS.slice(*only(KINDS.keys))
      table = Slopes.new(@icount, workers: workers, seeds: @effort.seeds).run(measured, @modes, kinds.keys)
      record&.fill("slopes", table)
      @store.write("slopes", table, @sides)
      @judge.slopes(table, kinds, @modes)
    end

    def witness_counts
      programs = chosen(@programs.all(@effort.groups + headline))
      if File.realpath(@bench).start_with?("/tmp/") && (hidden = programs.select(&:private)).any?
        raise Refused, "#{hidden.map(&:name).join(", ")}: have a /tmp of their own, so that BUILD must be elsewhere"
      end
      install_gems(programs)
      more = programs.any?(&:relinked) ? measured.map(&:name).zip(links(0...2)).to_h : {}
      table = Counts.new(@icount, workers: workers, links: more).run(programs, measured, @modes)
      record&.fill("counts", table)
      @store.write("counts", table, @sides)
      @judge.counts(table, programs, @modes)
      left_out("counts")
    end

    # What a table of programs might have and has not.
    def left_out(witness)
      return if @options[:only]
      return @judge.left_out(witness, "yjit-bench", "where is it? (YJIT_BENCH, --yjit-bench)") unless @options[:yjit_bench]
      if headline? then @programs.left_out.each { |name, why| @judge.left_out(witness, name, why) }
      else @judge.left_out(witness, "yjit-bench's headline", "not asked for (--headline)")
      end
      return if witness == "time" || @effort.groups.include?("yjit-bench")
      @judge.left_out(witness, "yjit-bench's programs without gems", "the gate has no time for them")
    end

    # Five counts of a few programs: what the counts are worth.
    def witness_repeat
      programs = Programs.pick(@programs.all(@effort.groups), %w[start poly_calls object_churn erb_render])
      counts = Counts.new(@icount, workers: workers)
      spread = measured.flat_map do |s|
        counts.repeats(programs, s, @modes, 5).transform_keys { |name| "#{name}, #{s.name}" }.to_a
      end.to_h
      @store.write("repeat", spread, @sides)
      @judge.repeats(spread)
    end

    # Twice as many pairs, once, if the first do not decide it and nobody said how many. Two looks find
    # what is not there more often than one: each has its share of the 5 %.
    def witness_time
      programs = chosen(@programs.all(%w[ours cruby] + headline).reject(&:untimed))
      programs = Programs.pick(programs, @effort.timed + headline_names) if @effort.timed && !@options[:only]
      install_gems(programs)
      random = Random.new
      timing = Timing.new(cores: @options[:cores], random: random)
      pairs, n = [], @effort.links
      looks = @options[:links] || @effort.time_budget ? 1 : 2
      confidence = 1 - 0.05 / looks
      [0...n, n...2 * n].each do |range|
        stock, patched = links(range)
        pairs += timing.run(programs, @modes, stock, patched.shuffle(random: random), budget: @effort.time_budget)
        break if looks == 1 || decided?(pairs, confidence) || timing.failures.any?
      end
      table = TimeTable.new(pairs, confidence: confidence, without: without).to_h
      @store.write("time", { "seed" => random.seed, "table" => table, **Timing.packed(pairs) }, @sides)
      @judge.time(table, programs, @modes, timing.failures, @effort.level)
      left_out("time")
    end

    # Of each side that is measured.
    def links(range)
      @links ||= measured.map { |s| Links.new(s, File.join(@bench, "links")) }
      @links.map { |l| l.take(range.to_a, workers: workers) }
    end

    def decided?(pairs, confidence)
      bound = @judge.bounds["time"][@effort.level]
      TimeTable.new(pairs, draws: 2000, confidence: confidence, without: without).to_h.all? do |_, t|
        t.values_at("suite", "rest").compact.all? do |e|
          Judge.interval(e, bound, Judge.time_off(t["aa"], bound)) != "inconclusive"
        end
      end
    end

    def without = @judge.bounds["time"]["without"]

    def witness_limits
      programs = Programs.pick(@programs.all(%w[ours]), only(@effort.limit_programs))
      limits = Limits.new(workers: workers, cores: @options[:cores], repeats: @effort.repeats)
      table = limits.run(@sides, @modes, programs, links(0...@effort.rate_pairs))
      @store.write("limits", table, @sides)
      @judge.limits(table, programs, @modes)
    end

    def require_extprof
      raise Refused, "no extprof at #{@options[:extprof]}" unless File.executable?(@options[:extprof])
    end

    def witness_modes
      require_extprof
      wanted = only(Modes::MODES.map(&:program).uniq)
      modes = Modes.new(Recorder.new(@options[:extprof], core: @options[:cores].last))
      table = @modes.to_h do |m|
        [m, modes.run(@sides.last, m, Modes::MODES.select { |of| wanted.include?(of.program) }, windows: @effort.windows)]
      end
      @store.write("modes", table, @sides)
      @judge.modes(table)
    end

    def witness_sampled
      require_extprof
      ticker = Icount.compile(File.join(@bench, "tools"), "ticker", "ticker")
      sampled = Sampled.new(@options[:extprof], ticker, core: @options[:cores].last)
      side = @sides.last
      table = @modes.to_h do |m|
        [m, { "rates" => sampled.rates(side, m, [99, 999, 9999], windows: @effort.windows),
              "ticks" => sampled.ticks(side, m, [99, 999], windows: @effort.windows),
              "cost" => sampled.cost(side, m, [3, 30, 300]) }]
      end
      @store.write("sampled", table, @sides)
      @judge.sampled(table)
    end

    def witness_selftest
      SelfTest.new(@icount, @sides.first, @bench, @programs, workers: workers, cores: @options[:cores]).run(@judge)
    end

    def gems
      require_yjit_bench
      prepare
      done = install_gems(chosen(@programs.all(["headline"])))
      done.each { |name, error| puts "%-20s %s" % [name, error || "installed"] }
      done.values.any? ? 1 : 0
    end

    # A kind, or a program, or start.
    def explain
      what, mode = @arguments[0], @arguments[1] || @options[:modes].first
      prepare
      explain = Explain.new(@icount)
      program = @programs.all(%w[start ours cruby yjit-bench]).find { |p| p.name == what }
      raise Refused, "no kind or program #{what}" unless program || KINDS.key?(what)
      costs = Jobs.map(@sides, workers: workers) { |s| program ? explain.program(s, mode, program) : explain.kind(s, mode, what) }
      totals = costs.map { |c| c.values.sum }
      puts "%-62s %14s %14s %12s" % ["#{what}, #{mode}: instructions", "stock", "patched", "difference"]
      Explain.diff(*costs, [(totals[1] - totals[0]).abs * 0.01, 0.4].max).first(40).each { |row| puts Explain.line(*row) }
      puts Explain.line("all", *totals)
      0
    end
  end
end

exit Bench::Main.new(ARGV, ENV).run if $PROGRAM_NAME == __FILE__
