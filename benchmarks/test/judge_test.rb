require "json"
require_relative "../lib/judge"
require_relative "../lib/plot"
require_relative "../lib/report"
require_relative "../workloads/kinds"

class JudgeTest < Test
  Program = Struct.new(:name, :group)
  P = [Program.new("a", "ours"), Program.new("b", "ours")].freeze
  MODES = %w[interp].freeze

  def judge = Bench::Judge.new
  def estimate(ratio, half = 0.001) = { "ratio" => ratio, "low" => ratio - half, "high" => ratio + half }
  def verdict(rows, what) = rows.find { |r| r.what == what }&.verdict

  def test_bounds_are_the_issues_targets
    b = judge.bounds
    is b["slopes"]["interp"], { "i" => 2.0, "c" => 3.0 }
    is b["slopes"]["yjit"]["j"], 1.0
    is b["counts"].values_at("geomean", "start", "repeat", "without"), [1.005, 1.003, 0.0001, ["deep_recursion"]]
    is b["counts"]["program"], { "interp" => 1.015, "yjit" => 1.02 }
    is b["slopes"]["net"], { "interp" => 2.0, "yjit" => 1.0 }
    is b["slopes"].values_at("tolerance", "relative_tolerance"), [0.1, 0.0005]
    is b["time"], { "without" => ["deep_recursion"],
                    "full" => { "pass_below" => 1.005, "fail_above" => 1.005, "program" => 1.02, "aa" => 0.003, "aa_width" => 0.01 },
                    "gate" => { "pass_below" => 1.015, "fail_above" => 1.005, "program" => 1.02, "aa" => 0.01, "aa_width" => 0.03 } }
    is b["limits"], { "depth" => 1.0, "memory" => 1.01, "bytes_per_called_method" => 128,
                      "methods_called" => { "define_methods" => 6000 }, "program_memory" => 1.02,
                      "program_memory_geomean" => 1.01, "code_size" => 1.02, "allocated" => 1.005, "gc" => 1.01,
                      "rate" => 0.95, "rate_aa" => 0.02 }
    is b["sampled"]["99"], { "ratio" => 1.002, "extprof_cpu" => 0.005, "extprof_rss_mib" => 30 }
    is b["sampled"].values_at("999", "9999", "sample_ns_at_30"), [{ "ratio" => 1.01 }, { "lost" => 0.001 }, 2000]
  end

  def test_time_while_sampled
    tick = ->(low, high) { { "us" => 9.0, "ratio" => (low + high) / 2, "low" => low, "high" => high, "n" => 4, "seen" => 4 } }
    half = { "ratio" => estimate(1.02, 0.015), "timer" => estimate(1.02), "above_timer" => estimate(1.0), "lost" => 0, "taken" => 9,
             "extprof_cpu" => 0.001, "extprof_rss_mib" => 9, "lost_share" => 0.0 }
    table = { "interp" => { "rates" => { 99 => half }, "cost" => {}, "ticks" => {
      99 => { "timer" => tick[1.02, 1.03], "sampled" => tick[1.003, 1.004], "by_tick" => tick[1.0, 1.001] },
      999 => { "timer" => tick[1.0, 1.001], "sampled" => tick[1.009, 1.011] } } } }
    rows = judge.tap { |j| j.sampled(table) }.rows
    is verdict(rows, "samples at 99 Hz"), "fail"
    is verdict(rows, "samples at 99 Hz with --timer=tick"), "pass"
    is verdict(rows, "a bare timer of 99 Hz"), "info"
    is verdict(rows, "samples at 999 Hz"), "inconclusive"
    is verdict(rows, "time at 99 Hz, half seconds"), "fail"
    is rows.first(6).map(&:gates), [true, true, false, true, false, true]
    half["ratio"] = estimate(1.01, 0.02)
    is verdict(judge.tap { |j| j.sampled(table) }.rows, "time at 99 Hz, half seconds"), "info"
  end

  def test_a_timer_that_was_not_found_does_not_pass
    { 16 => ["pass", 0], 8 => ["pass", 0], 7 => ["inconclusive", 3], 0 => ["inconclusive", 3] }.each do |seen, (expected, status)|
      e = { "us" => 0.1, "ratio" => 1.0, "low" => 1.0, "high" => 1.0001, "n" => 16, "seen" => seen }
      j = judge.tap { |j| j.sampled("interp" => { "ticks" => { 99 => { "sampled" => e } }, "rates" => {}, "cost" => {} }) }
      is [verdict(j.rows, "samples at 99 Hz"), j.status], [expected, status]
    end
  end

  def test_modes
    of = ->(low, high, cpu = 0.001) { { "ratio" => { "ratio" => (low + high) / 2, "low" => low, "high" => high }, "rate" => 20_000.0, "extprof_cpu" => cpu } }
    b = judge.bounds["modes"]
    is b.values_at("wall at 99 Hz, 64 idle threads", "wall at 99 Hz, 20,000 switches/s", "offcpu, 20,000 switches/s",
                   "gvl, 20,000 switches/s", "alloc at 512 KiB"), [1.01, 1.01, 1.03, 1.03, 1.05]
    wall = "wall at 99 Hz, 64 idle threads"
    { of[1.0, 1.009] => "pass", of[1.0, 1.02] => "inconclusive", of[1.011, 1.02] => "fail" }.each do |r, expected|
      is verdict(judge.tap { |j| j.modes("interp" => { wall => r }) }.rows, wall), expected
    end
    j = judge.tap { |x| x.modes("interp" => { wall => of[1.0, 1.0, 0.011], "gc at 99 Hz" => of[2.0, 2.1] }) }
    is verdict(j.rows, "extprof's share of a core, #{wall}"), "fail"
    is verdict(j.rows, "gc at 99 Hz"), "info"
    is j.status, 1
    j = judge.tap { |x| x.modes("interp" => { wall => { "error" => "no root" } }) }
    is [j.rows.last.verdict, j.rows.last.note], ["fail", "no root"]
    j = judge.tap { |x| x.modes("interp" => { "n" => { "ns" => { "ns" => 900.0, "low" => 800.0, "high" => 1000.0 }, "plain_ns" => 200.0, "extprof_cpu" => 0.1 } }) }
    is j.rows.first.note, "[800 1000] besides 200 without"
  end

  def test_what_could_not_be_sampled_is_a_failure_of_its_own
    j = judge
    j.sampled("interp" => { "ticks" => { 99 => { "error" => "no bpftool" } }, "rates" => {},
                            "cost" => { 30 => { "ns" => 1900, "samples" => 9 }, 3 => { "error" => "x" } } })
    is j.rows.map { |r| [r.what, r.verdict, r.note] },
       [["ticks 99", "fail", "no bpftool"], ["cost 3", "fail", "x"],
        ["ns in the kernel per sample, depth 30", "pass", "of 9 samples"]]
  end

  def test_what_frames_may_cost
    j = judge
    is j.allowance("", "interp"), 0
    is j.allowance("i2 c1", "interp"), 7.0
    is j.allowance("j1 c1 i1", "yjit"), 6.0
    is j.allowance("j1 i1 e1", "yjit"), 8.0
  end

  def test_every_kind_says_who_pushes
    KINDS.each_value { |k| ok "#{k.frames} #{k.yjit}".match?(/\A[icje0-9 ]*\z/), k.name }
    ok KINDS.size >= 16
    is KINDS["method"].yjit, "j1"
  end

  def slopes(delta, kind = "method") = judge.tap { |j|
    j.slopes({ kind => { "interp" => { "stock" => 310.0, "patch" => 310.0 + delta } } }, KINDS.slice(kind), MODES)
  }

  def test_slopes
    is slopes(2.0).status, 0
    is slopes(3.0).status, 1
    is slopes(-4.0).status, 0
    is slopes(1.0, "loop").status, 1
  end

  def test_slopes_net
    is slopes(2.2).rows.map(&:verdict), %w[pass fail] # each in its tolerance, not all
    table = { "method" => { "interp" => { "stock" => 310.0, "patch" => 312.0 } },
              "super" => { "interp" => { "stock" => 700.0, "patch" => 690.0 } } }
    j = judge.tap { |x| x.slopes(table, KINDS.slice("method", "super"), MODES) }
    is [j.status, j.rows.last.what, j.rows.last.value], [0, "net, per push of 3", -8.0 / 3]
  end

  def counts(a, b, programs = P) = judge.tap { |j|
    j.counts({ "a" => { "interp" => a }, "b" => { "interp" => b } }, programs, MODES)
  }

  def test_counts
    is counts({ "stock" => 1000, "patch" => 1004 }, { "stock" => 1000, "patch" => 1001 }).status, 0
    j = counts({ "stock" => 1000, "patch" => 1012 }, { "stock" => 1000, "patch" => 1012 })
    is [j.status, j.rows.last.what, j.rows.last.verdict], [1, "geomean of 2", "fail"]
  end

  def test_the_mean_count_without_what_gains_most
    { 1004 => [0, "pass"], 1012 => [1, "fail"] }.each do |b, (status, expected)|
      j = judge
      j.bounds["counts"]["without"] = ["a"]
      j.counts({ "a" => { "interp" => { "stock" => 1000, "patch" => 700 } },
                 "b" => { "interp" => { "stock" => 1000, "patch" => b } } }, P, MODES)
      is [j.status, verdict(j.rows, "geomean of 2"), verdict(j.rows, "geomean without a")], [status, "pass", expected]
    end
  end

  def test_what_is_missing_or_failed_is_a_failure
    good = { "stock" => 1000, "patch" => 1000 }
    is counts(good, nil).status, 1
    j = counts(good, { "stock" => 1000, "patch" => { "error" => "exit 1: boom" } })
    is [j.status, j.rows[1].note], [1, "exit 1: boom"]
    j = judge
    j.limits({}, [], MODES)
    is j.status, 1
    j = judge
    j.slopes({}, KINDS.slice("method"), MODES)
    is j.status, 1
  end

  def timed(suite, aa, programs: { "a" => estimate(1.0), "b" => estimate(1.0) }, failures: [])
    judge.tap { |j| j.time({ "interp" => { "suite" => suite, "aa" => aa, "programs" => programs } }, P, MODES, failures, "full") }
  end

  def test_time_passes_fails_or_is_inconclusive
    is timed(estimate(1.001), estimate(1.0)).status, 0
    is timed(estimate(1.01), estimate(1.0)).status, 1
    is timed(estimate(1.004, 0.003), estimate(1.0)).status, 3
  end

  # What one program gains does not hide what the others lose.
  def test_the_suite_without_what_gains_most
    { 1.001 => [0, "pass"], 1.01 => [1, "fail"] }.each do |rest, (status, expected)|
      j = judge
      j.bounds["time"]["without"] = ["b"]
      j.time({ "interp" => { "suite" => estimate(0.99), "rest" => estimate(rest), "aa" => estimate(1.0),
                             "programs" => { "a" => estimate(1.0), "b" => estimate(0.7) } } }, P, MODES, [], "full")
      is [j.status, verdict(j.rows, "suite"), verdict(j.rows, "suite without b")], [status, "pass", expected]
    end
  end

  def test_time_never_passes_when_stock_differs_from_stock
    [estimate(1.004), estimate(0.996), estimate(1.002, 0.0001), nil].each do |aa|
      j = timed(estimate(0.99), aa)
      is [j.status, verdict(j.rows, "suite"), verdict(j.rows, "a")], [3, "inconclusive", "inconclusive"]
    end
  end

  def test_time_fails_beyond_the_bound_by_more_than_stock_differs_from_stock
    is timed(estimate(1.02), estimate(1.004)).status, 1
    is timed(estimate(1.02), estimate(0.996)).status, 1
    is timed(estimate(1.008), estimate(1.004)).status, 3 # alone it would fail
    is timed(estimate(1.008), estimate(1.0)).status, 1
    is timed(estimate(2.0), nil).status, 3
    single = { "a" => estimate(1.03), "b" => estimate(1.022) }
    j = timed(estimate(0.99), estimate(1.004), programs: single)
    is [j.status, verdict(j.rows, "a"), verdict(j.rows, "b")], [1, "fail", "inconclusive"]
  end

  def test_how_far_stock_is_from_stock
    off = ->(e) { Bench::Judge.off(e, 0.003) }
    is [off[estimate(1.0)], off[estimate(1.0025, 0.003)], off[nil]], [nil, nil, Float::INFINITY]
    near off[estimate(1.004, 0.01)], Math.log(1.004), 1e-12 # too far
    near off[estimate(0.996, 0.01)], -Math.log(0.996), 1e-12
    near off[estimate(1.002)], Math.log(1.002), 1e-12 # its interval excludes 1
    near off[estimate(0.998)], -Math.log(0.998), 1e-12
    wide = ->(half) { Bench::Judge.off({ "ratio" => 1.001, "low" => Math.exp(-half), "high" => Math.exp(half) }, 0.003, 0.01) }
    is wide[0.009], nil
    near wide[0.02], 0.02, 1e-12 # says nothing
  end

  # Noise must not make stock like stock.
  def test_time_never_passes_when_stock_against_stock_says_nothing
    is timed(estimate(0.99), estimate(1.0, 0.009)).status, 0
    is timed(estimate(0.99), estimate(1.0, 0.012)).status, 3
    is timed(estimate(1.015), estimate(1.0, 0.012)).status, 3
    is timed(estimate(1.03), estimate(1.0, 0.012)).status, 1
  end

  def test_interval
    bound = { "pass_below" => 1.015, "fail_above" => 1.005 }
    v = ->(low, high, off) { Bench::Judge.interval({ "low" => low, "high" => high }, bound, off) }
    is [v[1.0, 1.015, nil], v[1.0, 1.016, nil], v[1.006, 1.01, nil]], %w[pass inconclusive fail]
    is [v[0.9, 0.95, 0.004], v[1.006, 1.01, 0.004], v[1.01, 1.011, 0.004]], %w[inconclusive inconclusive fail]
    is v[2.0, 3.0, Float::INFINITY], "inconclusive"
  end

  def test_a_single_program_decides_only_when_it_fails
    is timed(estimate(1.001), estimate(1.0), programs: { "a" => estimate(1.02, 0.02), "b" => estimate(1.0) }).status, 0
    is timed(estimate(1.001), estimate(1.0), programs: { "a" => estimate(1.05, 0.02), "b" => estimate(1.0) }).status, 1
    is timed(estimate(1.001), estimate(1.0), programs: { "a" => estimate(1.0) }).status, 1
    is timed(estimate(1.001), estimate(1.0), failures: ["b: exit 1"]).status, 1
  end

  def limits(what, a, b)
    j = judge
    j.limits({ what => { "interp" => { "stock" => a, "patch" => b } } }, [], MODES)
    j.rows.find { |r| r.what.start_with?(what) && r.note != "missing" }.verdict
  end

  def test_what_calls_new_methods_only_is_not_in_the_mean_of_memory
    j = judge
    memory = ->(p) { { "interp" => { "stock" => 10_000, "patch" => p } } }
    j.limits({ "program a private" => memory[10_050], "program define_methods private" => memory[10_700] }, [], [])
    got = j.rows.find { |r| r.what == "memory, geomean of 1" }
    is [got.value.round(4), got.verdict], [1.005, "pass"]
  end

  def test_code_is_judged_in_sum
    j = judge
    code = ->(a, p) { { "yjit" => { "stock" => a, "patch" => p } } }
    table = { "program a inline_code_size" => code[400, 450], "program b inline_code_size" => code[100_000, 101_000],
              "program b outlined_code_size" => code[100_000, 116_384] }
    j.limits(table, [], [])
    got = j.rows.find { |r| r.what == "inline_code_size, sum of 2" }
    is [got.value.round(4), got.verdict], [1.0105, "pass"]
    is j.rows.find { |r| r.what =~ /outlined/ }.verdict, "info"
  end

  def test_code_sizes_are_expected_of_each_program_with_yjit
    j = judge
    j.limits({ "program a inline_code_size" => { "yjit" => { "stock" => 400, "patch" => 400 } } }, P, %w[interp yjit])
    code = j.rows.select { |r| r.what =~ /program . inline_code_size/ }
    is code.map { |r| [r.what[8], r.mode, r.verdict] }, [%w[a yjit info], %w[b yjit fail]]
  end

  def test_limits
    is limits("depth main_plain", 100, 99), "fail"
    is limits("depth main_plain", 100, 100), "pass"
    is limits("methods defined private", 1000, 1011), "fail"
    is limits("methods defined private", 1000, 1009), "pass"
    j = judge # pages of files are stock's on both sides
    j.limits({ "many private_x" => { "interp" => { "stock" => 1000, "patch" => 1012 } },
               "many file" => { "interp" => { "stock" => 1000, "patch" => 3000 } } }, [], MODES)
    is j.rows.first.then { |r| [r.stock, r.patched, r.verdict] }, [2000, 2012, "pass"]
    peak = ->(patch, file) do
      j = judge
      j.limits({ "program a hwm" => { "interp" => { "stock" => 1000, "patch" => patch } },
                 "program a file" => { "interp" => { "stock" => 100, "patch" => file } } }, [P.first], MODES)
      verdict(j.rows, "program a hwm")
    end
    is peak[1040, 130], "pass"
    is peak[1040, 110], "fail"
    is limits("methods called private", 100_000, 112_600), "fail" # 129 bytes for each of 100,000
    is limits("methods called private", 100_000, 112_400), "pass"
    is limits("program define_methods private", 10_000, 10_745), "pass" # 127 bytes for each of 6,000
    is limits("program define_methods private", 10_000, 10_755), "fail"
    is limits("program define_methods hwm", 10_000, 10_755), "fail"
    is limits("program a private", 10_000, 10_255), "fail"
    is limits("binary text+data", 1000, 1011), "fail"
    is limits("methods called hwm", 1000, 2000), "info"
    is limits("program a gc_total", 10, 11), "pass"
    is limits("program a gc_total", 10, 12), "fail"
    is limits("program a heap_pages", 10, 12), "info"
  end

  def test_memory_of_a_start_has_an_interval
    status = lambda do |low, high|
      j = judge
      j.limits({ "starts rss" => { "yjit" => { "stock" => 1, "patch" => 1, "ratio" => low, "low" => low, "high" => high } } }, [], [])
      [verdict(j.rows, "starts rss"), j.status]
    end
    is status[1.002, 1.0099], ["pass", 0]
    is status[1.002, 1.0101], ["inconclusive", 0]
    is status[1.0101, 1.012], ["fail", 1]
  end

  def test_each_row_of_limits_that_is_not_there_is_a_failure
    full = (Bench::Judge::EXPECTED + Bench::Judge::EXPECTED_OF_PROGRAM.map { |w| "program a #{w}" }).to_h do |what|
      one = { "ratio" => 1.0, "low" => 0.999, "high" => 1.001 }
      [what, { "interp" => { "stock" => 1000, "patch" => 1000, **one, "aa" => one } }]
    end
    status = ->(table) { judge.tap { |j| j.limits(table, [P.first], MODES) }.status }
    is status[full], 0
    full.each_key { |what| is [what, status[full.except(what)]], [what, 1] }
  end

  # stock, patched, and stock against stock: what a rate's row says.
  def rate(low, high, aa = [0.99, 1.01])
    j = judge
    j.limits({ "rate allocate" => { "interp" => {
      "stock" => 1, "patch" => 1, "ratio" => Math.sqrt(low * high), "low" => low, "high" => high,
      "aa" => { "ratio" => Math.sqrt(aa[0] * aa[1]), "low" => aa[0], "high" => aa[1] } } } }, [], MODES)
    verdict(j.rows, "rate allocate")
  end

  def test_rates_fail_only_when_clearly_lower
    is [rate(0.8, 0.9), rate(0.8, 1.1), rate(0.96, 1.1)], %w[fail inconclusive pass]
  end

  # Stock 7 % from stock: 0.93 was no loss of the other side's, 0.87 is.
  def test_rates_lost_only_beyond_stock_against_stock
    [[0.91, 0.96], [1.04, 1.1]].each do |aa|
      is [rate(0.83, 0.93, aa), rate(0.8, 0.87, aa), rate(0.96, 1.1, aa)], %w[inconclusive fail inconclusive]
    end
  end

  def test_repeats
    j = judge
    j.repeats("a" => { "interp" => 0.00009, "yjit" => 0.00011 })
    is j.rows.map(&:verdict), %w[pass fail]
  end

  def test_missed_samples_fail_where_lost_ones_would
    rate = { "ratio" => estimate(1.0), "timer" => estimate(1.0), "above_timer" => estimate(1.0), "taken" => 990, "lost" => 0,
             "missed" => 10, "extprof_cpu" => 0.001, "extprof_rss_mib" => 9, "lost_share" => 0.01 }
    j = judge
    j.sampled({ "interp" => { "rates" => { 9999 => rate }, "ticks" => {}, "cost" => {} } })
    row = j.rows.find { |r| r.what == "lost or missed samples at 9999 Hz" }
    is [row.verdict, row.note, j.status], ["fail", "0 lost, 10 missed of 990", 1]
  end

  # The labels of a plot, without its own texts.
  def labels(rows) = Bench::Plot.of(rows, "t").scan(/text-anchor="end" font-weight="normal">([^<]*)/).flatten

  def test_the_plot_shows_what_is_far_off_at_its_edge
    j = timed(estimate(1.01), estimate(1.0), programs: { "a" => estimate(7.5, 0.5), "b" => estimate(0.3, 0.1) })
    ok (labels(j.rows) & ["suite", "a (is 7.5)", "b (is 0.3)"]).size == 3, labels(j.rows).inspect
    svg = Bench::Plot.of(j.rows, "t")
    ok svg.include?("+100.00 %") && svg.include?("-50.00 %"), "the scale ends at 2 and 0.5"
    ok svg.scan(/(?:cx|x1|x2)="([-\d.]+)"/).flatten.all? { |x| x.to_f.between?(Bench::Plot::LEFT, Bench::Plot::WIDTH) }
  end

  # Whatever their values are.
  def test_the_plot_leaves_out_what_is_no_ratio
    j = judge
    j.limits({ "methods called private" => { "interp" => { "stock" => 100_000, "patch" => 100_100 } } }, [], MODES)
    rate = { "ratio" => estimate(1.0), "timer" => estimate(1.0), "above_timer" => estimate(1.0), "taken" => 9, "lost" => 0,
             "missed" => 0, "extprof_cpu" => 0.7, "extprof_rss_mib" => 1.1, "lost_share" => 0.6 }
    j.sampled({ "interp" => { "rates" => { 99 => rate, 9999 => rate }, "ticks" => {}, "cost" => { 30 => { "ns" => 1.2 } } } })
    is j.rows.count { |r| r.gates && r.value }, 5
    is labels(j.rows), []
  end

  def test_report_and_plot_show_every_row
    j = timed(estimate(1.01), estimate(1.0), failures: ["b <x> & y: exit 1"])
    j.slopes({}, KINDS.slice("method"), MODES)
    out = StringIO.new
    Bench::Report.print(j.rows, out: out)
    j.rows.each { |r| ok out.string.include?(r.what), r.what }
    ok out.string.lines.last =~ /\A\d+ passed, \d+ failed/
    svg = Bench::Plot.of(j.rows, "a <b>")
    ok svg.include?("a &lt;b&gt;") && svg.scan("<circle").size >= 3
    is svg.scan(/<text\b/).size, svg.scan("</text>").size
  end
end
