# Runs each program without a profiler and under each tool, and writes what came out.

require "json"
require "open3"
require "fileutils"
require "optparse"
require_relative "metrics"
require_relative "table"

module Truth
  HERE = __dir__
  TOP, BUILD, RUBY, EXTPROF = ENV.values_at("TOP", "BUILD", "RUBY", "EXTPROF")
  GEMS = %w[vernier stackprof pf2 rperf].freeze
  TOOLS = ["extprof", *GEMS].freeze
  TIMEOUT = 300

  # rate: samples per second. every: allocations per sample. unit: of extprof's amounts. env: for the program.
  Case = Struct.new(:number, :program, :mode, :rate, :every, :unit, :options, :env, :note, keyword_init: true) do
    def name = [program, *(rate if mode != "alloc"), *(every && "1 in #{every}"), *note].join(", ")
  end
  CASES = [
    Case.new(number: 1, program: "c_call", mode: "cpu", rate: 99),
    Case.new(number: 1, program: "c_call", mode: "cpu", rate: 10_000),
    Case.new(number: 2, program: "waits", mode: "wall", rate: 997),
    Case.new(number: 3, program: "napper", mode: "wall", rate: 997),
    Case.new(number: 4, program: "interrupted", mode: "wall", rate: 997),
    Case.new(number: 5, program: "scan", mode: "cpu", rate: 997),
    Case.new(number: 5, program: "native_call", mode: "cpu", rate: 997),
    Case.new(number: 6, program: "lines", mode: "cpu", rate: 997, options: ["--yjit"]),
    Case.new(number: 7, program: "gc", mode: "cpu", rate: 997),
    Case.new(number: 8, program: "busy", mode: "cpu", rate: 997),
    Case.new(number: 8, program: "busy", mode: "cpu", rate: 997, env: { "TRUTH_NEIGHBOURS" => "4" }, note: "4 neighbours"),
    Case.new(number: 9, program: "allocations", mode: "alloc", every: 10, unit: "count"),
    Case.new(number: 9, program: "allocations", mode: "alloc", every: 101, unit: "count"),
    Case.new(number: 10, program: "bytes", mode: "alloc", every: 10, unit: "bytes"),
    Case.new(number: 12, program: "ractors", mode: "cpu", rate: 997),
    Case.new(number: 14, program: "branches", mode: "cpu", rate: 997)
  ].freeze

  class Main
    def initialize(argv)
      @tools, @write = TOOLS, true
      cases = CASES
      OptionParser.new do |o|
        o.on("--only=PROGRAM,...", Array) { |v| cases = picked(v, CASES.map(&:program).uniq).flat_map { |n| CASES.select { |c| c.program == n } } }
        o.on("--tools=TOOL,...", Array) { |v| @tools = picked(v, TOOLS) }
        o.on("--no-write", "only print") { @write = false }
      end.parse!(argv)
      raise OptionParser::InvalidArgument, argv.first unless argv.empty?
      @cases = cases
      @work = File.join(BUILD, "truth")
      @gems = File.join(@work, "gems")
      FileUtils.mkdir_p(@work)
    end

    def run
      missing = install
      rows = @cases.map do |c|
        warn "bench-truth: #{c.name}"
        results = ["none", *@tools].to_h { |t| [t, missing[t] ? { "error" => missing[t] } : one(c, t)] }
        { "number" => c.number, "case" => c.name, "mode" => c.mode, "rate" => c.rate, "every" => c.every, "asks" => results["none"]["asks"], "results" => results }
      end
      result = { "command" => ["benchmarks/truth/run", *ARGV_SAID].join(" "), "date" => Time.now.utc.strftime("%F"), "machine" => machine,
                 "versions" => versions, "tools" => @tools, "rows" => rows }
      puts Table.markdown(result)
      write(result) if @write
      # A gem that fails is a result. A program or extprof that fails is not.
      failed = rows.select { |r| %w[none extprof].any? { |t| r["results"].dig(t, "error") } }
      failed.each { |r| warn "bench-truth: #{r["case"]}: #{r["results"].values_at("none", "extprof").compact.filter_map { |x| x["error"] }.join("; ")}" }
      failed.empty? ? 0 : 1
    end

    private

    def picked(names, all)
      unknown = names - all
      raise OptionParser::InvalidArgument, "#{unknown.join(", ")}; there are #{all.join(", ")}" unless unknown.empty?
      names
    end

    def gem_env = { "GEM_HOME" => @gems, "GEM_PATH" => @gems }

    # { tool => why it is missing }
    def install
      (GEMS & @tools).filter_map do |gem|
        next if Dir[File.join(@gems, "gems", "#{gem}-[0-9]*")].any?
        out, status = Open3.capture2e(gem_env, RUBY, "-S", "gem", "install", "--no-document", gem)
        [gem, "it was not installed: #{out.lines.last.to_s.strip}"] unless status.success?
      end.to_h
    end

    def versions
      gems = (GEMS & @tools).to_h { |g| [g, Dir[File.join(@gems, "gems", "#{g}-[0-9]*")].map { |d| d[/-([0-9.]+)\z/, 1] }.last] }
      { "ruby" => IO.popen([RUBY, "-v"], &:read).strip, "extprof" => IO.popen([EXTPROF, "--version"], &:read).lines.first.to_s.strip }.merge(gems)
    end

    def machine = "Linux #{File.read("/proc/sys/kernel/osrelease").strip}, #{Etc.nprocessors} CPUs, load #{File.read("/proc/loadavg").split.first}"

    # What the program and the tool said in one run.
    def one(c, tool)
      out = File.join(@work, "out")
      FileUtils.rm_f(Dir["#{out}.*"])
      env = gem_env.merge("TRUTH_OUT" => out, "TRUTH_TOOL" => tool, "TRUTH_MODE" => c.mode, "TRUTH_RATE" => c.rate.to_s,
                          "TRUTH_EVERY" => c.every.to_s).merge(c.env.to_h)
      said, status = captured(env, [*(recorder(c, out) if tool == "extprof"), RUBY, *c.options, "-r", "#{HERE}/agent.rb",
                                    "#{HERE}/programs/#{c.program}.rb"])
      return { "error" => failure(said, status) } unless status&.success? && File.exist?("#{out}.program.json")
      told = JSON.parse(File.read("#{out}.program.json"))
      return told if tool == "none"
      samples = tool == "extprof" ? folded("#{out}.folded", c) : samples("#{out}.tool.json")
      answers = told["asks"].map do |ask|
        of = tool == "extprof" && ask["root"] ? samples.select { |s| s.any?(Regexp.new(ask["root"])) } : samples
        { "truth" => ask["truth"], "answer" => Metrics.answer(ask, of, told["did"]) }
      end
      { "answers" => answers, "did" => told["did"], "samples" => samples.size }
    end

    def recorder(c, out)
      interval = c.every ? ["--alloc-interval=#{[c.every * 40, 4096].max}", "--unit=#{c.unit}"] : ["-r", c.rate.to_s, "--unit=us"]
      [EXTPROF, "record", "-q", "-m", c.mode, *interval, "-l", "-f", "folded", "-o", "#{out}.folded", "--"]
    end

    def captured(env, command)
      Open3.popen2e(env, *command, pgroup: true) do |i, o, thread|
        i.close
        reader = Thread.new { o.read }
        status = thread.join(TIMEOUT)&.value
        Process.kill(:KILL, -thread.pid) unless status
        [reader.join(10) ? reader.value : "", status]
      end
    end

    def failure(said, status)
      line = said.lines.map(&:strip).find { |l| l =~ /Error|error:|BUG|failed|extprof:|does not|interval/ } || said.lines.last.to_s.strip
      how = if !status then "no end within #{TIMEOUT} s"
            elsif status.signaled? then "killed by signal #{status.termsig}"
            else "exit #{status.exitstatus}"
            end
      "#{how}: #{line[/\A(?:[^ ]*:\d+:in '[^']*': )?(.*?)(?: \(RuntimeError\))?\z/, 1]}"
    end

    def samples(file)
      JSON.parse(File.read(file))["samples"].map { |frames, weight, state| Sample.new(frames.map { |f| f.split("\t", 2) }, weight, state) }
    end

    STATES = { /\A\[(gvl|runnable)/ => "gvl", /\A\[GC/i => "gc" }.freeze

    # extprof's folded stacks with lines: "NAME FILE:LINE;... AMOUNT", in us or in the unit.
    def folded(file, c)
      File.foreach(file, chomp: true).map do |line|
        stack, amount = line.match(/\A(.*) (\d+)\z/).captures
        frames = stack.split(";").map { |f| f =~ /\A(.*?) (\S+:\d+)\S*\z/ ? [$1, $2] : [f, nil] }
        state = STATES.find { |pattern, _| frames.any? { |name, _| name.match?(pattern) } }&.last
        Sample.new(frames, c.mode == "alloc" ? amount.to_i : amount.to_i / 1e6, state)
      end
    end

    # --only replaces these rows of the last results, and the command is added to theirs.
    def merged(result, raw)
      return result if @cases.size == CASES.size || !File.exist?(raw)
      last = JSON.parse(File.read(raw))
      raise Errno::EINVAL, "results of other versions are in #{raw}: run all" unless last.values_at("versions", "tools") == result.values_at("versions", "tools")
      rows = last["rows"].map { |r| result["rows"].find { |n| n["case"] == r["case"] } || r }
      last.merge("rows" => rows, "command" => "#{last["command"]}; #{result["command"]}")
    end

    def write(result)
      raw = File.join(TOP, "benchmarks/results/truth.json")
      result = merged(result, raw)
      rows = result["rows"].map { |r| JSON.generate(r) }
      File.write(raw, JSON.generate(result.merge("rows" => [])).sub('"rows":[]', "\"rows\":[\n#{rows.join(",\n")}\n]") + "\n")
      doc = File.join(TOP, "docs/truth.md")
      head = File.exist?(doc) ? File.read(doc)[/\A.*?(?=^<!-- table -->)/m] : nil
      File.write(doc, "#{head}<!-- table -->\n#{Table.markdown(result)}")
      warn "bench-truth: written to #{doc} and #{raw}"
    end
  end
end

ARGV_SAID = ARGV.dup.freeze
begin
  require "etc"
  exit Truth::Main.new(ARGV).run
rescue OptionParser::ParseError, SystemCallError => e
  warn "bench-truth: #{e.message}"
  exit 2
end
