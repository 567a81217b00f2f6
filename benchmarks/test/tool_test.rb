require "tmpdir"
require "stringio"
require "open3"
require_relative "../lib/main"

class ToolTest < Test
  include Bench
  SH = { "PATH" => "/usr/bin:/bin" }.freeze

  def test_a_command_that_fails_says_how
    is Jobs.run(SH, ["sh", "-c", "echo out"]).out, "out\n"
    ok Jobs.run(SH, ["sh", "-c", "echo why >&2; exit 3"]).error.include?("why")
    ok Jobs.run(SH, ["sh", "-c", "kill -SEGV $$"]).error.include?("SEGV")
    ok Jobs.run(SH, ["sleep", "9"], timeout: 0.2).error.include?("no end")
    ok Jobs.run(SH, ["/nonexistent"]).error
  end

  # Of a gate that passed with the same inputs, and of no other.
  def test_a_gate_on_record
    Dir.mktmpdir do |dir|
      file = File.join(dir, "gate.json")
      is Passed.find("a", file), nil
      [[true, "a", %w[today here]], [false, "a", nil], [true, "b", nil], [nil, "a", nil]].each do |passed, inputs, found|
        File.write(file, JSON.generate("about" => { "inputs" => inputs, "passed" => passed, "date" => "today", "machine" => "here" }))
        is Passed.find("a", file), found
      end
      File.write(file, "{")
      is Passed.find("a", file), nil
    end
    Dir.mktmpdir do |dir|
      hash = ->(flags) { Passed.inputs([Struct.new(:flags, :source).new(flags, dir)]) }
      gcc = hash.("CC" => "gcc")
      is hash.("CC" => "gcc"), gcc
      ok hash.("CC" => "clang") != gcc
      # What neither ruby runs does not matter, and what the series does not change is in BASE.
      FileUtils.mkdir_p("#{dir}/test/ruby")
      %w[test/ruby/test_debug_external.rb NEWS.md unchanged.c].each { |f| File.write("#{dir}/#{f}", "x") }
      is hash.("CC" => "gcc"), gcc
      File.write("#{dir}/vm_core.h", "x")
      ok hash.("CC" => "gcc") != gcc
    end
  end

  # Stock's figures come from the record, and each that it lacks is missing.
  def test_stock_on_record
    Dir.mktmpdir do |dir|
      file = File.join(dir, "gate.json")
      raises(NotOnRecord) { OnRecord.new(file) }
      File.write(file, JSON.generate("about" => { "date" => "today" }, "data" => {}))
      raises(NotOnRecord) { OnRecord.new(file) }
      sides = { "stock" => { "flags" => { "CC" => "gcc", "YJIT_SUPPORT" => "yes" }, "sha256" => "0" } }
      figures = { "counts" => { "a" => { "group" => "ours", "yjit" => { "stock" => 7, "patch" => 8 } } } }
      File.write(file, JSON.generate("about" => { "date" => "today", "sides" => sides }, "data" => figures))
      record = OnRecord.new(file)
      is record.flags["CC"], "gcc"
      ok record.yjit?
      is record.describe["from"], "gate.json of today"
      table = { "a" => { "group" => "ours", "yjit" => { "patch" => 9 } }, "b" => { "yjit" => { "patch" => 1 } } }
      record.fill("counts", table)
      is table, { "a" => { "group" => "ours", "yjit" => { "patch" => 9, "stock" => 7 } },
                  "b" => { "yjit" => { "patch" => 1, "stock" => nil } } }
    end
  end

  # Dead, or a zombie that nobody has waited for.
  def gone?(pid)
    File.read("/proc/#{pid}/stat")[/\) (.)/, 1] == "Z"
  rescue SystemCallError
    true
  end

  def within_2_seconds = 200.times.any? { yield || (sleep(0.01) && false) }

  def test_what_a_command_leaves_running_is_killed
    started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    o = Jobs.run(SH, ["sh", "-c", "sleep 60 & echo $!"])
    ok Process.clock_gettime(Process::CLOCK_MONOTONIC) - started < 5
    is o.error, nil
    ok within_2_seconds { gone?(o.out.to_i) }
  end

  def test_commands_end_with_the_driver
    r, w = IO.pipe
    pid = fork do
      $stderr.reopen(File::NULL)
      Jobs.map([1, 2], workers: 2) { Jobs.run(SH, ["sh", "-c", "echo $$ > /dev/fd/#{w.fileno}; exec sleep 60"], inherit: [w]) }
      exit!(0)
    end
    w.close
    children = Array.new(2) { r.gets.to_i }
    Process.kill(:TERM, pid)
    Process.wait(pid)
    ok children.all? { |c| c > 1 && within_2_seconds { gone?(c) } }, children.inspect
  end

  def test_a_command_sees_only_its_environment
    ENV["BENCH_TEST_SECRET"] = "1"
    is Jobs.run(SH, ["env"]).out[/SECRET/], nil
  end

  def test_jobs_keep_their_order
    is Jobs.map([3, 1, 2], workers: 2) { |x| sleep x * 0.01; x * 2 }, [6, 2, 4]
  end

  def test_there_is_no_retry
    files = Dir[File.expand_path("../lib/*.rb", __dir__)] + [File.expand_path("../run", __dir__)]
    files.each { |f| ok !File.read(f).match?(/^\s*retry\b|--retr/), f }
  end

  def convert(yml)
    Dir.mktmpdir do |dir|
      File.write("#{dir}/x.yml", yml)
      Yml.convert("#{dir}/x.yml", turns: 7, rounds: 2)
    end
  end

  # Runs a converted program; `$calls` counts what its bodies did.
  def turns(yml)
    code = convert(yml)
    $calls = Hash.new(0)
    workload = Module.new { def self.run(n) = n.times { yield } }
    Object.const_set(:Workload, workload)
    eval code, TOPLEVEL_BINDING.dup
    $calls
  ensure
    Object.send(:remove_const, :Workload) if Object.const_defined?(:Workload)
  end

  def test_converted_loops_run_as_often_as_asked
    warm = 40 * 20
    is turns("prelude: |\n  a = 5\nbenchmark: $calls[a] += 1\n"), { 5 => warm + 14 }
    is turns("benchmark:\n  one: $calls[:one] += 1\n  two: |\n    $calls[:two] += 1 # c\n"),
       { one: warm + 14, two: warm + 14 }
    is turns("benchmark:\n  - name: x\n    script: $calls[:x] += 1\n"), { x: warm + 14 }
  end

  # What a timed process would be: a shell that prints the figures.
  Fake = Struct.new(:name, :number, :text, :env) do
    def command(_mode, args, options:) = text.is_a?(Array) ? text : ["echo", text]
  end
  Prog = Struct.new(:name, :options, :chdir, :private) do
    def env_for(_) = {}
    def args_for(_) = []
  end

  def figures(cpu, sum: "1", yjit: false) = JSON.generate(cpu: cpu, sum: sum, yjit: yjit)
  def links(name, *texts) = texts.each_with_index.map { |t, i| Fake.new(name, 16 + i, t, SH) }

  def timing(stock, other)
    t = Timing.new(cores: [0], random: Random.new(1))
    def t.warm_up(_) = nil
    [t.run([Prog.new("p", [])], ["interp"], links("stock", *stock), links("patch", *other)), t.failures]
  end

  def test_pairs_of_processes
    pairs, failures = timing([figures(1.0), figures(2.0)], [figures(1.5), figures(2.5)])
    is failures, []
    is pairs.sort_by(&:number).map { |p| [p.a, p.b, p.aa] }, [[1.0, 1.5, 2.0], [2.0, 2.5, 1.0]]
    is pairs.map(&:number).sort, [16, 17] # of the link, which a second look does not use again
    t = TimeTable.new(pairs, draws: 50).to_h["interp"]
    is [t["suite"]["n"], t["aa"]["n"], t["programs"].keys], [2, 2, ["p"]]
  end

  # Two pairs at once, each on a core of its own; never two on one.
  def test_pairs_on_several_cores
    busy, most, seen = Hash.new(0), 0, Queue.new
    got = Jobs.on_cores((0...12).to_a, [4, 7]) do |i, core|
      seen << core
      busy[core] += 1
      raise "two on core #{core}" if busy[core] > 1
      most = [most, busy.values.sum].max
      sleep 0.01
      busy[core] -= 1
      i * 2
    end
    is got, (0...12).map { |i| i * 2 }
    is [most, Array.new(seen.size) { seen.pop }.uniq.sort], [2, [4, 7]]
    raises(RuntimeError) { Jobs.on_cores([1, 2, 3], [0]) { |i, _| raise "no" if i == 2 } }

    texts = Array.new(4) { ["sh", "-c", %q(read -r _ x < /proc/self/stat; c=$(taskset -p $$); echo "{\"cpu\":1.0,\"sum\":\"${c##*: }\",\"yjit\":false}")] }
    skip "one core" if Jobs.cores.size < 2
    t = Timing.new(cores: Jobs.cores.last(2), random: Random.new(1))
    def t.warm_up(_) = nil
    pairs = t.run([Prog.new("p", [])], ["interp"], links("stock", *texts), links("patch", *texts))
    is [t.failures, pairs.size], [[], 4] # the three of a pair say the same mask
  end

  def test_cores_that_there_are_not
    one = Jobs.cores.first
    ["", "x", "#{one},#{one}", "-1", (Jobs.cores.max + 1).to_s].each do |cores|
      status, said = dry("time", "--cores=#{cores}")
      is [cores, status], [cores, 2]
      ok said.include?("--cores"), said
    end
    %W[--core=#{one} --cores=#{one}].each do |option|
      main = Dry.new(["time", option], { "BUILD" => Dir.tmpdir })
      main.parser.parse!(arguments = main.instance_variable_get(:@arguments))
      arguments.shift
      main.send(:check_options, ["time"])
      is main.instance_variable_get(:@options)[:cores], [one]
    end
  end

  def test_nothing_runs_on_when_a_job_has_failed
    ended = false
    raises(RuntimeError) { Jobs.map([0, 0.2], workers: 2) { |s| s > 0 ? (sleep s; ended = true) : raise("no") } }
    ok ended
  end

  # A process that fails when another one has the directory; its output is in it too.
  def test_at_the_same_time_with_files_of_their_own
    user = Process.uid.zero? ? [] : ["--map-root-user"]
    skip "no mount namespaces here" unless system("unshare", "--mount", *user, "true", err: File::NULL)
    Dir.mktmpdir do |dir|
      File.write("#{dir}/figures", figures(1.0))
      text = ["sh", "-c", "cd #{dir}; mkdir mine || exit 9; sleep 0.3; cp figures mine; cat mine/figures; rm -r mine figures"]
      private = Programs.new(cruby: nil, work: "#{dir}/work").private_files("/tmp", dir)
      { private => [false, 2], nil => [true, 0] }.each do |files, expected|
        t = Timing.new(cores: [0], random: Random.new(1))
        def t.warm_up(_) = nil
        pairs = t.run([Prog.new("p", [], nil, files)], ["interp"], links("stock", text, text), links("patch", text, text))
        is [t.failures.any? { |f| f.include?("exit 9") }, pairs.size], expected
      end
    end
  end

  # However long their warm-ups; and one that ends before it gets there keeps nobody waiting.
  def test_what_is_timed_begins_together
    harness = File.expand_path("../workloads/harness.rb", __dir__)
    Dir.mktmpdir do |dir|
      come = ->(s, rest) do
        [RbConfig.ruby, "--disable-gems", "-r", harness, "-e", <<~RUBY]
          sleep #{s}
          say = ->(what) { File.write("#{dir}/log", what, mode: "a") }
          say.("come ")
          #{rest}
          Workload.run(1, cold: true) { say.("go "); 1 }
        RUBY
      end
      slow = come.(0.5, "exit 7 if system('test -e /proc/self/fd/' + Workload::BARRIER[0].fileno.to_s)")
      pairs, failures = timing([come.(0, ""), come.(0.2, "")], [slow, slow])
      is [failures, pairs.size], [[], 2]
      is File.read("#{dir}/log").split.each_slice(3).to_a, [%w[come] * 3, %w[go] * 3] * 2
      pairs, failures = timing([come.(0, ""), come.(0, "")], [come.(0.2, "exit 8")] * 2)
      is [pairs.size, failures.grep(/exit 8/).size], [0, 2]
    end
  end

  # Pairs of links that are worth the same to each program.
  def table(programs, numbers = (0...8).to_a)
    pairs = numbers.each_with_index.to_a.product((0...programs).to_a).map do |(n, i), p|
      Timing::Pair.new(program: "p#{p}", mode: "interp", number: n, a: 1.0, b: 1.0 + 0.01 * i, aa: 1.0 - 0.01 * i, steal: 0)
    end
    TimeTable.new(pairs, draws: 400).to_h["interp"]
  end

  def test_more_programs_do_not_hide_what_links_do
    %w[suite aa].each { |k| near table(8)[k]["standard_error"], table(1)[k]["standard_error"], 1e-6 }
    is table(8)["suite"]["n"], 64
    raises(ArgumentError) { table(1, [0, 1, 0]) } # one of them would be forgotten
  end

  def test_pairs_that_cannot_be_used_are_failures
    [[figures(1.0), figures(1.0, sum: "2"), "different results"], [figures(1.0), figures(1.0, yjit: true), "YJIT is on"],
     [figures(1.0), "no json", "no figures"]].each do |a, b, message|
      pairs, failures = timing([a], [b])
      is pairs, []
      ok failures.first.include?(message), failures.inspect
    end
  end

  def test_an_ended_budget_is_a_failure
    t = Timing.new(cores: [0], random: Random.new(1))
    def t.warm_up(_) = nil
    t.run([Prog.new("p", [])], ["interp"], links("stock", *[figures(1.0)] * 3), links("patch", *[figures(1.0)] * 3), budget: 0)
    ok t.failures.first.include?("budget")
  end

  def test_a_push_begins_with_the_last_words_of_its_environment
    ends = ["sub    $0x40,%r13", "mov    %r13,0x10(%r12)"]
    two = ["movq   $0x0,-0x10(%rax)", "movq   $0x11110003,-0x8(%rax)", *ends]
    pair = ["movups -0x30f(%rip),%xmm0        # 0x20", "movups %xmm0,-0x10(%rax)", *ends]
    is Disasm.frame(["nop", *two, "ret"]), two
    is Disasm.frame([*two, "nop", *pair, "ret"]), pair
    is Disasm.frame(["ret"]), ["(no push found)"]
    is [Disasm.length(%w[mov ret nop call]), Disasm.length(%w[mov sub])], [2, 2]
  end

  # A path of any length becomes the same one, and what a command finds there is the same directory.
  def test_a_place_hides_where_the_checkout_is
    skip Place.new(__dir__, __dir__).why unless Place.new(__dir__, __dir__).usable?
    seen = %w[a a-longer/path/to/it].map do |name|
      Dir.mktmpdir do |dir|
        bench, here = %w[bench here].map { |d| File.join(dir, name, d).tap { |f| FileUtils.mkdir_p(f) } }
        File.write("#{bench}/made", "in bench")
        File.write("#{here}/script", "echo $LIB; echo \"$0 $1\"; cat $LIB; echo more >> $LIB")
        env, command = Place.new(bench, here).put(SH.merge("LIB" => "#{bench}/made"), ["sh", "#{here}/script", "#{bench}:#{here}s"])
        o = Jobs.run(env, command)
        is [o.error, File.read("#{bench}/made")], [nil, "in benchmore\n"]
        o.out.sub("#{here}s", "HEREs") # another directory, so it stays
      end
    end
    is seen, ["/mnt/bench/made\n/mnt/here/script /mnt/bench:HEREs\nin bench"] * 2
  end

  def test_without_a_place_paths_stay
    place = Place.allocate.tap { |p| p.instance_variable_set(:@why, "refused") }
    is place.put({ "A" => "/x" }, ["/y"]), [{ "A" => "/x" }, ["/y"]]
  end

  # Garbage is collected after each round and at no other time, and only where that is asked for.
  def test_collections_at_fixed_points
    script = 'Workload.run(1) { 30_000.times { Object.new.to_s }; $stdout.print GC.count, " " }'
    counts = ->(program) do
      options = program.args_for("count").each_slice(2).take_while { |word, _| word == "-r" }.flatten
      Jobs.run({ "BENCH_ROLE" => "count", "BENCH_ROUNDS" => "6" }, [RbConfig.ruby, "--disable-gems", *options, "-e", script]).out.split.map(&:to_i)
    end
    programs = Programs.allocate.tap { |p| p.define_singleton_method(:tree) { "" } }.ours
    fixed, free = programs.values_at(programs.index { |p| p.name == "define_methods" }, 0)
    is counts[fixed].each_cons(2).map { |a, b| b - a }, [1] * 5
    ok counts[free].each_cons(2).any? { |a, b| b - a > 1 }
    is programs.select { |p| p.args_for("count").include?(Programs::COLLECT) }.map(&:name), %w[define_methods object_churn]
    is %w[time probe].map { |role| fixed.args_for(role) }, [fixed.args] * 2
  end

  def test_the_least_of_links_counts
    side = Struct.new(:name)
    stock, patch = %w[stock patch].map { |n| side.new(n) }
    links = { "stock" => [side.new("stock 0")], "patch" => [side.new("patch 0"), side.new("patch 1")] }
    counts = Counts.new(nil, workers: 1, links: links)
    found = { "stock" => 100, "stock 0" => 101, "patch" => 105, "patch 0" => 102, "patch 1" => 103 }
    counts.define_singleton_method(:count) { |_program, _mode, exe| found[exe.name] }
    programs = [true, false].map { |r| Program.new(name: "p#{r}", group: "start", relinked: r) }
    is counts.run(programs, [stock, patch], ["interp"]).transform_values { |t| t["interp"] },
       { "ptrue" => { "stock" => 100, "patch" => 102 }, "pfalse" => { "stock" => 100, "patch" => 105 } }
    found["patch 1"] = { "error" => "exit 1" }
    is counts.run(programs, [stock, patch], ["interp"])["ptrue"]["interp"]["patch"], { "error" => "exit 1" }
  end

  # One heap in five is at a step: neither the mean nor a pair of medians of other heaps.
  def test_memory_of_a_program_is_of_one_heap
    is Limits.middle([[31, 35, 35, 47, 32], [36, 35, 36, 47, 33]]), [35, 36]
    limits = Limits.new(workers: 1, repeats: 5)
    heaps = Queue.new
    sides = %w[stock patch].map { |n| Struct.new(:name, :exe, :root).new(n, "/bin/true", "/") }
    %i[starts rates].each { |m| limits.define_singleton_method(m) { |*| nil } }
    limits.define_singleton_method(:binary) { |_| 1 }
    limits.define_singleton_method(:jobs) { |_| [{ name: "many", args: [] }, { name: "program p", args: [], program: 1 }] }
    limits.define_singleton_method(:measure) do |side, _mode, job, env:|
      heap = env["BENCH_MOVE"].to_i
      heaps << [side.name, heap] if job[:program]
      { "private" => (heap == 3 ? 900 : 100 * heap) + (side.name == "patch" ? heap * heap : 0) }
    end
    table = limits.run(sides, ["interp"], [], nil)
    is Array.new(heaps.size) { heaps.pop }.sort, %w[patch stock].product((1..5).to_a)
    is table["program p private"]["interp"], { "stock" => 200, "patch" => 204 }
    is table["many private"]["interp"], { "stock" => 0, "patch" => 0 }
  end

  # All of it, files too, and the mean of each side's links.
  def test_memory_of_a_start_is_of_all_links
    limits, ran = Limits.new(workers: 1), Queue.new
    limits.define_singleton_method(:measure) do |link, mode, _job|
      ran << [link, mode]
      link == @fails ? "exit 1" : { "private" => 100, "file" => link[-1].to_i * 10, "hwm" => 300 }
    end
    sides = %w[stock patch].map { |n| Struct.new(:name).new(n) }
    links = [["stock 1", "stock 2"], ["patch 3", "patch 4"]]
    starts = -> { Hash.new { |h, k| h[k] = Hash.new { |g, m| g[m] = {} } }.tap { |t| limits.send(:starts, t, sides, %w[interp yjit], links) } }
    table = starts.call
    is Array.new(ran.size) { ran.pop }.tally, links.flatten.product(%w[interp yjit]).to_h { |l| [l, Limits::STARTS] }
    row = table["starts rss"]["yjit"]
    is row.values_at("stock", "patch", "n"), [115.0, 135.0, 2]
    near row["ratio"], Math.sqrt(130 / 110.0 * 140 / 120), 1e-4
    near row["low"], 140 / 120.0, 1e-4
    near row["high"], 130 / 110.0, 1e-4
    is table.transform_values { |v| v["interp"]["patch"] }, { "starts rss" => 135.0, "starts peak" => 300.0, "starts files" => 35.0 }
    is table["starts peak"]["interp"].values_at("ratio", "low", "high"), [1.0, 1.0, 1.0]
    limits.instance_variable_set(:@fails, "patch 4")
    is starts.call["starts failed"], { "interp" => { "patch" => { "error" => "exit 1" } }, "yjit" => { "patch" => { "error" => "exit 1" } } }
  end

  # Three processes a round, all on the core that is given; the third is another link of stock's.
  def test_rates_have_stock_against_stock
    limits = Limits.new(workers: 1, cores: [3])
    started = Queue.new
    limits.define_singleton_method(:measure) do |link, _mode, _job, prefix:, env:|
      started << [link, prefix, env]
      { "x" => { "stock" => 100, "patch" => 80 }[link[0..4]] + link[-1].to_i % 2 }
    end
    sides = %w[stock patch].map { |n| Struct.new(:name).new(n) }
    links = sides.map { |s| (0..3).map { |i| "#{s.name} #{i}" } }
    table = Hash.new { |h, k| h[k] = { "interp" => {} } }
    limits.send(:rates, table, sides, %w[interp], links)
    row = table["rate x"]["interp"]
    got = Array.new(started.size) { started.pop }
    is got.map { |g| g[1] }.uniq, [%w[taskset -c 3]]
    ok got.map(&:last).uniq.size == 12 # each elsewhere
    is got.map(&:first).grep(/patch/).sort, links[1]
    is [got.size, (links[0] - got.map(&:first)).size], [12, 0]
    ok (100..101).cover?(row["stock"]) && (80..81).cover?(row["patch"]), row.inspect
    near row["ratio"], 0.8, 0.01
    near row["aa"]["ratio"], 1.0, 0.011
    ok row["aa"]["n"] == 4 && row["low"] <= row["ratio"] && row["ratio"] <= row["high"]
  end

  def test_rubies_that_are_not_built_alike
    a, b, c = [["-O3", "x"], ["-O3", "y"], ["-O1", "y"]].map do |optflags, comment|
      Side.allocate.tap do |s|
        s.define_singleton_method(:flags) { { "optflags" => optflags, "compiler" => comment } }
        s.define_singleton_method(:name) { "stock" }
      end
    end
    is Side.difference(a, a), nil
    ok Side.difference(a, b).match?(/not built alike.*compiler.*x.*y/m)
    ok !Side.difference(b, c).include?("compiler")
  end

  # As configure writes them, given CFLAGS or optflags.
  def test_flags_that_count
    Dir.mktmpdir do |dir|
      flags = ->(line, value) do
        File.write("#{dir}/Makefile", "prefix = /x\nsrcdir = .\nCC = gcc\nCFLAGS_NO_ARCH = \noptflags = -O3\nCFLAGS = $(CFLAGS_NO_ARCH)\n"
                                       .sub(/^#{line} =.*/, "#{line} = #{value}"))
        Side.new("stock", dir, dir).tap { |s| def s.comment = "gcc" }.flags
      end
      same = flags["prefix", "/y"]
      is same, flags["prefix", "/z"]
      { "CFLAGS_NO_ARCH" => "-O1", "optflags" => "-O1", "CC" => "clang" }.each { |k, v| ok flags[k, v] != same, k }
    end
  end

  # Nothing is measured between rubies of different flags unless that is what is asked for.
  def test_different_flags_are_refused
    { [] => "refused", ["--other-flags"] => nil }.each do |arguments, expected|
      main = Main.new(["slopes", *arguments], { "BUILD" => Dir.tmpdir })
      main.parser.parse!(main.instance_variable_get(:@arguments))
      sides = %w[-O3 -O1].zip([__FILE__, Judge::FILE]).map { |f, exe| Struct.new(:name, :flags, :exe).new(f, { "optflags" => f }, exe) }
      main.instance_variable_set(:@sides, sides)
      got, = captured do
        main.send(:check_alike)
        nil
      rescue Refused
        "refused"
      end
      is got, expected
    end
  end

  # Else all is equal, and green.
  def test_a_ruby_against_itself_is_refused
    Dir.mktmpdir do |dir|
      copy = "#{dir}/ruby".tap { |f| File.write(f, File.read(Judge::FILE)) }
      main = Main.new(%w[slopes --other-flags], { "BUILD" => dir })
      main.instance_variable_set(:@sides, [Judge::FILE, copy].map { |exe| Struct.new(:exe, :build).new(exe, exe) })
      ok raises(Refused) { main.send(:check_alike) }.message.include?("are the same ruby")
    end
  end

  def test_plant_changes_vm_push_frame_or_refuses
    Dir.mktmpdir do |dir|
      File.write("#{dir}/vm_insnhelper.c", "static void\nvm_push_frame(int x)\n{\n    #{Plant::LINE}\n}\n")
      ok Plant.helper(dir, 3).scan(/ro[lr] \$1/).size == 6
      File.write("#{dir}/vm_insnhelper.c", "static void\nvm_push_frame(int x)\n{\n}\n")
      raises(Refused) { Plant.helper(dir, 3) }
    end
  end

  def test_callgrinds_output
    Dir.mktmpdir do |dir|
      File.write("#{dir}/c", "events: Ir\nfn=a\n10 5\n+2 7\ncfn=b\ncalls=3 4\n* 100\nfn=b'2\n1 9\nfn=0x00ab\n0 2\n")
      got = Explain.allocate.parse("#{dir}/c")
      is [got["a"], got["b"], got.values.sum], [12, 9, 23]
    end
  end

  def test_extprofs_account
    is Recorder.account("x\nsamples taken 1,990 = whole 1985 + truncated 3 (too-deep: 3) + lost 2 (ring-full: 2)\n"),
       { taken: 1990, lost: 2, missed: 0 }
    is Recorder.account("samples taken 9 = whole 9 + truncated 0 + lost 0\nmissed besides: 12 (the CPU was away)\n"),
       { taken: 9, lost: 0, missed: 12 }
    raises(Refused) { Recorder.account("") }
  end

  # Attached for a second, with that account of the samples; in it the program ran 5 times besides.
  def in_kernel(account, ns: 1_000, runs: 1)
    s = Sampled.allocate
    s.define_singleton_method(:attached) do |_, rate, &work|
      bpf = [[0, 0], [0, 0], [ns * account[:taken], runs * account[:taken]]].each
      work.call(-> { bpf.next })
      { work: 1.0 }.merge(account)
    end
    s.define_singleton_method(:sleep) { |_| nil }
    s.send(:in_kernel, Struct.new(:run).new([1.0]).tap { |t| def t.run(_) = [1.0] }, 999, 1)
  end

  def test_what_a_sample_costs_is_of_those_taken
    is in_kernel({ taken: 950, lost: 0, missed: 49 }).values_at("ns", "samples"), [1000.0, 950]
    raises(Refused) { in_kernel({ taken: 800, lost: 0, missed: 0 }) }
    ok raises(Refused) { in_kernel({ taken: 950, lost: 0, missed: 0 }, ns: 0) }.message.include?("the kernel counted 0 runs")
    raises(Refused) { in_kernel({ taken: 950, lost: 0, missed: 0 }, runs: 0.5) }
  end

  def test_one_that_cannot_be_sampled_leaves_the_others
    s = Sampled.new("extprof", "ticker")
    s.define_singleton_method(:target) { |_, _, kind, &_| kind == "30" ? raise(Errno::ENOENT, "bpftool") : { "ns" => 1 } }
    Dir.mktmpdir do |dir|
      File.write("#{dir}/stats", "0")
      is s.cost(nil, "interp", [3, 30], stats: "#{dir}/stats"),
         { 3 => { "ns" => 1 }, 30 => { "error" => "No such file or directory - bpftool" } }
      is File.read("#{dir}/stats"), "0"
    end
  end

  def test_missed_samples_are_lost_ones
    account = { taken: 990, lost: 3, missed: 10, seconds: 1.0, work: 1.0, cpu: 0.01, rss: 2048 }
    is Sampled.allocate.send(:summary, [account], 1000).values_at("taken", "lost", "missed", "lost_share"),
       [990, 3, 10, 0.013]
  end

  # A program whose unit takes 100 ns, and 10 % more in the mode "dear". The machine has another speed each time.
  def modes_of(*whats, each: false)
    speeds = [1.0, 1.7, 1.1, 0.9].cycle
    target = Struct.new(:now, :speeds) do
      def run(n)
        speed = speeds.next
        [4_000 * now * speed, 4_000, 0.1, 2_000, 0.05 * speed] * n
      end
    end.new(100e-9, speeds)
    recorder = Object.new
    recorder.define_singleton_method(:target) { |*, program, &b| program == "lost" ? raise(Refused, "no program") : b.call(target) }
    recorder.define_singleton_method(:attached) do |t, *options, &b|
      t.now = 110e-9 if options == %w[dear]
      b.call
      t.now = 100e-9
      { cpu: 0.01, seconds: 2.0, taken: 10, lost: 0 }
    end
    modes = whats.map { |w| Modes::Mode.new(what: w, program: w == "lost" ? "lost" : "p", options: [w], each: each) }
    Modes.new(recorder).run(nil, "interp", modes, windows: 8)
  end

  def test_modes_are_compared_with_the_same_process_without
    found = modes_of("dear", "free", "lost")
    near found["dear"]["ratio"]["ratio"], 1.1, 1e-5
    near found["free"]["ratio"]["ratio"], 1.0, 1e-5
    is found["dear"].values_at("extprof_cpu", "rate"), [0.005, 20_000.0]
    ok found["dear"]["plain_ns"].between?(90, 170)
    is found["lost"], { "error" => "no program" }
    ok modes_of("dear", each: true)["dear"]["ns"]["ns"].between?(9, 17)
  end

  def programs(*names) = names.map { |n| Program.new(name: n, args: []) }

  def test_programs_by_name
    of = programs("a", "b", "c")
    is Programs.pick(of, %w[c a]).map(&:name), %w[c a]
    ok raises(ArgumentError) { Programs.pick(of, %w[a renamed]) }.message.include?("renamed")
  end

  # The lists of names that are in the code name what there is.
  def test_names_in_lists
    ours = Programs::OURS.keys
    counted = ours + Programs::SCRIPTS.keys + Programs::LOOPS.keys
    ok (SelfTest::COUNTED + SelfTest::TIMED - counted).empty?
    ok (SelfTest::KINDS_USED - KINDS.keys).empty?
    EFFORTS.each_value { |e| ok (e.limit_programs - ours).empty? && (e.timed.to_a - counted).empty? }
    ok (Programs::NEEDS.keys + Programs::PRIVATE - Programs::HEADLINE.keys).empty?
  end

  # A program whose large file a checkout lacks, or has empty, is named and not run; with it, it is.
  def test_headline_of_a_checkout_that_is_not_whole
    Dir.mktmpdir do |dir|
      db = "#{dir}/#{Programs::NEEDS.fetch("lobsters")}"
      FileUtils.mkdir_p(File.dirname(db))
      FileUtils.touch([db, File.expand_path("../../benchmark.rb", db)])
      made = Programs.new(cruby: nil, work: "#{dir}/work", yjit_bench: dir)
      is made.all(["headline"]).map(&:name), Programs::HEADLINE.keys - ["lobsters"]
      is made.left_out.keys, ["lobsters"]
      ok made.left_out["lobsters"].include?("production.sqlite3")
      File.write(db, "x")
      is made.all(["headline"]).map(&:name), Programs::HEADLINE.keys
      is made.left_out, {}
      is Programs.new(cruby: nil, work: "#{dir}/work").left_out, {}
    end
  end

  # In place of what it measures, a program's rows; so only the choice of it is at work.
  class Dry < Main
    def prepare
      @sides, @modes = [], %w[interp]
      @programs = Object.new
      def @programs.all(groups)
        groups.flat_map { |g| [["one", nil], ["two", true]].map { |n, untimed| Bench::Program.new(name: "#{g}_#{n}", group: g, untimed: untimed) } }
      end
    end

    def check_alike = nil
  end

  # What the block returns, and what it wrote to stdout and stderr.
  def captured
    was = [$stdout, $stderr]
    $stdout, $stderr = StringIO.new, StringIO.new
    [yield, $stdout.string, $stderr.string]
  ensure
    $stdout, $stderr = was
  end

  # Its status and what it wrote to stderr.
  def dry(*arguments, env: {})
    Dir.mktmpdir { |dir| captured { Dry.new(arguments, { "BUILD" => dir }.merge(env)).run }.values_at(0, 2) }
  end

  def test_a_name_that_there_is_not_is_refused
    { "slopes" => "method", "counts" => "start_one", "time" => "cruby_one", "limits" => "load_lib" }.each do |witness, there|
      status, said = dry(witness, "--only=TYPO,#{there}")
      is [witness, status], [witness, 2]
      ok said.start_with?("benchmarks: no TYPO here; there are ") && said.include?(there), said
    end
    ok dry("time", "--only=ours_two")[1].include?("no ours_two here"), "it is not timed"
  end

  # Without any nothing is installed, so stock ruby neither; and nothing twice.
  def test_gems_are_installed_once
    a, b = %w[a b].map { |n| Program.new(name: n, group: "headline", gems: true) }
    dir, asked = Dir.mktmpdir, []
    main = Dry.new([], { "BUILD" => dir })
    main.define_singleton_method(:installer) do
      Object.new.tap { |i| i.define_singleton_method(:install) { |ps| asked << ps.map(&:name); ps.to_h { |p| [p.name, "why #{p.name}"] } } }
    end
    is main.send(:install_gems, [Program.new(name: "c", group: "ours"), Programs.empty(true)]), {}
    is asked, []
    is main.send(:install_gems, [b]), { "b" => "why b" }
    is main.send(:install_gems, [a, b]), { "a" => "why a", "b" => "why b" }
    is main.send(:install_gems, [a]), { "a" => "why a" }
    is asked, [%w[b], %w[a]]
  ensure
    FileUtils.rm_rf(dir)
  end

  # What gate and bench consist of, and that the rows' verdicts become the exit status.
  class Canned < Dry
    attr_reader :ran
    attr_accessor :rows
    WITNESSES.each { |w| define_method(:"witness_#{w}") { answer(w) } }

    def answer(name)
      (@ran ||= []) << name
      @judge.add(witness: name, what: name, mode: "interp", value: 1.0, bound: 1.0, verdict: rows.fetch(name, "pass"))
    end
  end

  def canned(*arguments, rows: {}, &answer)
    Dir.mktmpdir do |dir|
      main = Canned.new(arguments, { "BUILD" => dir })
      main.rows = rows
      main.define_singleton_method(:answer, &answer) if answer
      status, out = captured { main.run }
      [status, main.ran, out]
    end
  end

  def test_what_gate_and_bench_measure
    is canned("gate").first(2), [0, %w[slopes counts repeat time limits selftest]]
    is canned.first(2), [0, %w[slopes counts repeat time limits sampled modes selftest]]
    ok canned("slopes")[2].include?("left out: not asked for (--mode, MODE)"), "one mode is all of the table"
    { "fail" => 1, "inconclusive" => 3, "pass" => 0 }.each { |v, status| is canned("gate", rows: { "repeat" => v })[0], status }
  end

  def test_what_cannot_be_run_leaves_the_others_their_table
    status, _, out = canned("bench") { |w| w == "sampled" ? raise(Refused, "no extprof at x") : super(w) }
    is status, 1
    ok out.include?("no extprof at x") && out.include?("selftest"), out
    is canned("sampled") { |_| raise Refused, "no extprof at x" }[0], 2
    [Errno::ENOENT.new("bpftool"), KeyError.new("a mistake of ours")].each do |mistake|
      status, _, out = canned("bench") { |w| w == "limits" ? raise(mistake) : super(w) }
      is [status, out.include?(mistake.message), out.include?("selftest")], [1, true, true]
    end
    is canned("slopes") { |_| raise KeyError, "a mistake of ours" }[0], 2
  end

  # One file: what was measured, the table as it was printed, a line for each program.
  def test_results_are_one_compact_file
    pairs = [%w[b interp], %w[a interp], %w[a yjit], %w[b interp]].each_with_index.map do |(program, mode), i|
      Timing::Pair.new(program: program, mode: mode, number: i, a: 0.1 + i, b: 0.30000000000000004, aa: nil, steal: 0)
    end
    data = { "table" => { interp: { "a" => 1.5 } }, **Timing.packed(pairs), "long" => %w[x y].to_h { |k| [k, { k => "z" * 200 }] } }
    is data["pairs"], { "interp" => { "b" => [[0, 0.1, 0.3, nil, 0], [3, 3.1, 0.3, nil, 0]], "a" => [[1, 1.1, 0.3, nil, 0]] },
                        "yjit" => { "a" => [[2, 2.1, 0.3, nil, 0]] } }
    text = Store.json({ "data" => data, "report" => ["", "one", "\"two\" " + "." * 240], "none" => {}, 1 => nil })
    back = JSON.parse(text)
    is [back["data"]["pairs"], back["report"].size, back["none"], back["1"]], [data["pairs"], 3, {}, nil]
    is text.lines.grep(/"pairs": .*"yjit"/).size, 1
    is text.lines.count { |l| l.include?("zzz") }, 2
    Dir.mktmpdir do |dir|
      main = Canned.new(["slopes"], { "BUILD" => dir })
      main.rows = {}
      status, out = captured { main.run }
      is status, 0
      ok out.include?("figures: #{dir}/bench/results/run.json"), out
      file = out[/^figures: (.*)/, 1]
      is JSON.parse(File.read(file))["about"]["command"], "benchmarks/run slopes"
      table = JSON.parse(File.read(file))["report"]
      ok table.any? { |line| line.start_with?("slopes ") } && table == out.lines(chomp: true).first(table.size), out
      is captured { Dry.new(["show", file], { "BUILD" => dir }).run }, [0, table.join("\n") + "\n", ""]
      File.write(file, "[")
      is dry("show", file), [2, "benchmarks: #{file} is no file of results\n"]
    end
  end

  def test_what_would_measure_nothing_is_refused
    [[%w[slopes --only=], "nothing was measured"], [%w[counts --headline], "where is yjit-bench"],
     [%w[time --headline], "where is yjit-bench"], [%w[gate --only=method], "--only goes with one witness"],
     [%w[repeat], "no program start"], [%w[time --gate], "no program poly_calls"], [%w[show], "no results"],
     [%w[repeat --only=start], "--only does not go with repeat"], [%w[bench --gate], "--gate goes with one witness"],
     [%w[slopes method], "what is method?"], [%w[slopes --workers=0], "--workers must be"],
     [%w[limits --links=4], "--links does not go with limits"], [%w[slopes --headline], "--headline does not go with slopes"],
     [%w[tpyo], "unknown command"], [%w[slopes --tpyo], "invalid option"]].each do |arguments, why|
      status, said = dry(*arguments)
      is [arguments, status], [arguments, 2]
      ok said.include?(why) && !said.include?("_test.rb:"), said
    end
    is dry("slopes", env: { "MODE" => "jit" })[0], 2
  end

  def test_a_mode_that_a_side_does_not_have_is_refused
    side = Struct.new(:name, :yjit?)
    modes = ->(*arguments, env: {}) do
      main = Main.new(arguments, { "BUILD" => Dir.tmpdir }.merge(env))
      main.parser.parse!(main.instance_variable_get(:@arguments))
      main.send(:modes, [side.new("stock", true), side.new("patch", false)])
    end
    ok raises(Refused) { modes[] }.message.include?("no YJIT in patch")
    raises(Refused) { modes["--mode=yjit"] }
    is [modes["--mode=interp"], modes[env: { "MODE" => "interp" }]], [%w[interp], %w[interp]]
  end

  def test_the_command_says_what_is_wrong_and_ends_with_2
    Dir.mktmpdir do |dir|
      env = { "BENCH_RUBY" => RbConfig.ruby, "BUILD" => dir, "STOCK" => dir, "PATCHED" => nil, "MODE" => nil }
      [[%w[slopes], "no CRuby build in #{dir}/ruby"], [%w[slopes --links=x], "invalid argument: --links=x"],
       [%w[time --links=1], "--links must be 2 or more: stock is compared with stock too"]].each do |arguments, why|
        out, err, status = Open3.capture3(env, File.expand_path("../run", __dir__), *arguments)
        is [status.exitstatus, out, err], [2, "", "benchmarks: #{why}\n"]
      end
    end
  end

  # The self test's own verdict: red by what was measured.
  def selftest(expected, **row)
    judge, test = Judge.new, Judge.new
    test.add(witness: "counts", what: "a", mode: "interp", value: 1.0, bound: 1.0, verdict: "pass")
    test.add(witness: "counts", what: "b", mode: "interp", bound: 1.0, **row)
    SelfTest.allocate.send(:expect, judge, "counts: plant", test, expected)
    judge.status
  end

  def test_a_self_test_that_measured_nothing_is_red
    is selftest("fail", verdict: "fail", value: 1.2), 0
    is selftest("fail", verdict: "fail", note: "exit 1"), 1
    is selftest("not pass", verdict: "fail", note: "missing"), 1
    is selftest("fail", verdict: "pass", value: 1.0), 1
    is selftest("fail", verdict: "inconclusive", value: 1.2), 1
    is selftest("not pass", verdict: "inconclusive", value: 1.2), 0
    is selftest("pass", verdict: "fail", value: 1.2), 1
  end

  def planted(suite, aa)
    t = SelfTest.allocate
    e = ->(ratio) { { "ratio" => ratio, "low" => ratio - 0.004, "high" => ratio + 0.004 } }
    { plant: t.send(:planted_expectation, { "interp" => { "aa" => aa && e[aa] } }, Judge.new),
      verdict: Judge.interval(e[suite], Judge.new.bounds["time"]["gate"], Judge.time_off(aa && e[aa], Judge.new.bounds["time"]["gate"])) }
  end

  def test_the_planted_time_must_fail_where_stock_is_like_stock
    is planted(1.08, 1.001), { plant: "fail", verdict: "fail" }
    is planted(1.003, 1.001)[:plant], "fail"
    is planted(1.08, 1.02), { plant: "not pass", verdict: "fail" }
    is planted(1.02, 1.02), { plant: "not pass", verdict: "inconclusive" }
    is planted(1.08, nil)[:plant], "not pass"
  end

  def test_the_tree_of_files_is_made_once
    Dir.mktmpdir do |dir|
      p = Programs.new(cruby: "/nonexistent", work: dir)
      is Dir.children(p.tree).size, 2000
      at = File.mtime("#{p.tree}/part0000.rb")
      is File.mtime("#{Programs.new(cruby: "", work: dir).tree}/part0000.rb"), at
    end
  end
end
