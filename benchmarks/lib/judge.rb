# Results against bounds.json. Every row that was asked for gets a verdict; one that is
# missing or failed to run is a failure.

require "json"
require_relative "stats"

module Bench
  # verdict: pass, fail, inconclusive, info. Only `gates` rows decide the exit status.
  Row = Struct.new(:witness, :what, :mode, :stock, :patched, :value, :bound, :verdict, :note, :gates, keyword_init: true)

  class Judge
    FILE = File.expand_path("../bounds.json", __dir__)
    # Rows of limits that there must be.
    EXPECTED = ["binary text+data", "methods defined private", "methods called private", "many private_100_threads",
                "many private_1000_fibers", "starts rss", "starts peak", "starts files",
                *%w[main thread fiber].product(%w[plain locals blocks]).map { |w, of| "depth #{w}_#{of}" },
                *%w[thread_pass thread_queue thread_create fiber_switch fiber_create allocate].map { |r| "rate #{r}" }].freeze
    EXPECTED_OF_PROGRAM = %w[private hwm gc_total allocated].freeze

    attr_reader :rows, :bounds

    def initialize(bounds = JSON.parse(File.read(FILE)), sides: %w[stock patch])
      @bounds, @stock, @other = bounds, *sides
      @rows = []
    end

    def add(**row) = @rows << Row.new(gates: true, **row)

    # What frames, and calls of JIT code by C, may cost in a mode. frames: "i1 c2" as in workloads/kinds.rb.
    def allowance(frames, mode)
      frames.scan(/([icje])(\d+)/).sum { |who, n| @bounds["slopes"][mode].fetch(who) * n.to_i }
    end

    # kinds: { name => Kind }. Each kind by itself, and the mean over all pushes (net).
    def slopes(table, kinds, modes)
      b = @bounds["slopes"]
      sums = Hash.new { |h, k| h[k] = [0.0, 0] }
      kinds.each_value.to_a.product(modes) do |kind, mode|
        a, p = table.dig(kind.name, mode)&.values_at(@stock, @other)
        next missing("slopes", kind.name, mode, a, p) unless numbers?(a, p)
        frames = mode == "yjit" ? kind.yjit : kind.frames
        bound = allowance(frames, mode)
        pushes = frames.scan(/[icj](\d+)/).flatten.sum(&:to_i)
        limit = bound + b["tolerance"] + b["relative_tolerance"] * a
        sums[mode] = [sums[mode][0] + p - a, sums[mode][1] + pushes] if pushes > 0
        add(witness: "slopes", what: kind.name, mode: mode, stock: a, patched: p, value: p - a, bound: bound,
            verdict: p - a <= limit ? "pass" : "fail")
      end
      sums.each do |mode, (difference, pushes)|
        add(witness: "slopes", what: "net, per push of #{pushes}", mode: mode, value: difference / pushes,
            bound: b["net"][mode], verdict: difference / pushes <= b["net"][mode] ? "pass" : "fail")
      end
    end

    # programs: those asked for.
    def counts(table, programs, modes)
      b = @bounds["counts"]
      ratios = Hash.new { |h, k| h[k] = {} }
      programs.product(modes) do |program, mode|
        a, p = table.dig(program.name, mode)&.values_at(@stock, @other)
        next missing("counts", program.name, mode, a, p) unless numbers?(a, p)
        bound = program.group == "start" ? b["start"] : b["program"][mode]
        ratios[mode][program.name] = p / a.to_f unless program.group == "start"
        ratio("counts", program.name, mode, a, p, bound)
      end
      ratios.each do |mode, rs|
        mean("geomean of #{rs.size}", mode, rs.values, b["geomean"])
        # The program that gains most must not hide what the others lose.
        rest = rs.except(*b["without"])
        mean("geomean without #{(b["without"] & rs.keys).join(", ")}", mode, rest.values, b["geomean"]) if rest.any? && rest.size < rs.size
      end
    end

    # spread: { program => { mode => largest relative difference of repeats } }
    def repeats(spread)
      spread.each do |name, modes|
        modes.each do |mode, value|
          next missing("repeat", name, mode, value, nil) unless value.is_a?(Numeric)
          add(witness: "repeat", what: name, mode: mode, value: value, bound: @bounds["counts"]["repeat"],
              verdict: value <= @bounds["counts"]["repeat"] ? "pass" : "fail")
        end
      end
    end

    # table: TimeTable#to_h. level: full or gate.
    def time(table, programs, modes, failures, level)
      b = @bounds["time"].fetch(level)
      failures.each { |f| add(witness: "time", what: f, mode: "", verdict: "fail", note: "did not run") }
      modes.each do |mode|
        m = table[mode]
        next missing("time", "suite", mode, nil, nil) unless m
        off = aa(m["aa"], mode, b)
        add(witness: "time", what: "suite", mode: mode, value: m["suite"]["ratio"], bound: b["pass_below"],
            verdict: Judge.interval(m["suite"], b, off), note: range(m["suite"]))
        if (rest = m["rest"])
          add(witness: "time", what: "suite without #{(@bounds["time"]["without"] & programs.map(&:name)).join(", ")}", mode: mode,
              value: rest["ratio"], bound: b["pass_below"], verdict: Judge.interval(rest, b, off), note: range(rest))
        end
        programs.each do |p|
          e = m["programs"][p.name] or next missing("time", p.name, mode, nil, nil)
          verdict = Judge.interval(e, { "fail_above" => b["program"], "pass_below" => b["program"] }, off)
          # The layout of code moves one program too much for a verdict, so only a failure decides.
          @rows << Row.new(witness: "time", what: p.name, mode: mode, value: e["ratio"], bound: b["program"],
                           verdict: verdict, note: range(e), gates: verdict == "fail")
        end
      end
    end

    # pass, fail or inconclusive. off: what Judge.off gives. When stock differs from stock nothing
    # passes, and what is beyond the bound by more than that difference fails.
    def self.interval(estimate, bound, off)
      return "fail" if Math.log(estimate["low"]) - (off || 0) > Math.log(bound["fail_above"])
      !off && estimate["high"] <= bound["pass_below"] ? "pass" : "inconclusive"
    end

    # nil, or how far stock is from stock where that is off: its interval excludes 1, it is too far from it,
    # or its interval is so wide that it says nothing. Without any such pairs it may be anywhere.
    def self.off(estimate, limit, width = Float::INFINITY)
      return Float::INFINITY unless estimate
      far, half = Math.log(estimate["ratio"]).abs, Math.log(estimate["high"] / estimate["low"]) / 2
      return [far, half].max if half > width
      estimate["low"] > 1 || estimate["high"] < 1 || far > limit ? far : nil
    end

    # bound: of a level of "time".
    def self.time_off(estimate, bound) = off(estimate, bound["aa"], bound["aa_width"])

    def limits(table, programs, modes)
      b = @bounds["limits"]
      sums = Hash.new { |h, k| h[k] = [] }
      table.each do |what, per_mode|
        per_mode.each do |mode, v|
          a, p = v.values_at(@stock, @other)
          next missing("limits", what, mode, a, p) unless numbers?(a, p)
          a, p = with_stocks_files(table, what, mode, a, p)
          limit(what, mode, a, p, v, b, sums)
        end
      end
      sums.each do |(what, mode, bound), pairs|
        code = what.end_with?("code_size")
        value = code ? pairs.sum { |_, p| p } / pairs.sum { |a, _| a }.to_f : Stats.geomean(pairs.map { |a, p| p / a.to_f })
        add(witness: "limits", what: "#{what}, #{code ? "sum" : "geomean"} of #{pairs.size}", mode: mode, value: value,
            bound: bound, verdict: value <= bound ? "pass" : "fail")
      end
      expected = modes.product(EXPECTED + programs.flat_map { |p| EXPECTED_OF_PROGRAM.map { |w| "program #{p.name} #{w}" } })
      expected += (modes & ["yjit"]).product(programs.map { |p| "program #{p.name} inline_code_size" })
      expected.each { |mode, what| missing("limits", what, mode, nil, nil) unless table.dig(what, mode) }
    end

    # Said in the table, so that its absence is seen.
    def left_out(witness, what, why)
      @rows << Row.new(witness: witness, what: what, mode: "", verdict: "info", note: "left out: #{why}", gates: false)
    end

    # table: { mode => { "rates" =>, "ticks" =>, "cost" => } }
    def sampled(table)
      b = @bounds["sampled"]
      table.each do |mode, t|
        t.each { |part, of| of.select { |_, r| r["error"] }.each { |at, r| missing("sampled", "#{part} #{at}", mode, r, nil) } }
      end
      table = table.transform_values { |t| t.transform_values { |of| of.reject { |_, r| r["error"] } } }
      table.each do |mode, t|
        t["ticks"].each { |rate, r| sampled_ticks(rate.to_s, r, mode, b.fetch(rate.to_s)) }
        t["rates"].each { |rate, r| sampled_rate(rate.to_s, r, mode, b.fetch(rate.to_s)) }
        t["cost"].each do |depth, c|
          bound = b["sample_ns_at_30"] if depth.to_s == "30"
          @rows << Row.new(witness: "sampled", what: "ns in the kernel per sample, depth #{depth}", mode: mode,
                           value: c["ns"], bound: bound, gates: !bound.nil?,
                           verdict: bound ? (c["ns"] <= bound ? "pass" : "fail") : "info", note: "of #{c["samples"]} samples")
        end
      end
    end

    # table: { mode => { what => Modes#run's } }
    def modes(table)
      table.each do |mode, rows|
        rows.each do |what, r|
          next missing("modes", what, mode, r, nil) if r["error"]
          mode_row(what, mode, r, @bounds["modes"][what])
          bound = @bounds["modes"]["extprof_cpu"][what]
          @rows << Row.new(witness: "modes", what: "extprof's share of a core, #{what}", mode: mode, value: r["extprof_cpu"],
                           bound: bound, gates: !bound.nil?, verdict: !bound ? "info" : r["extprof_cpu"] <= bound ? "pass" : "fail")
        end
      end
    end

    def failed? = @rows.any? { |r| r.gates && r.verdict == "fail" }
    def inconclusive? = @rows.any? { |r| r.gates && r.verdict == "inconclusive" }
    # 0 pass, 1 fail, 3 inconclusive
    def status = failed? ? 1 : inconclusive? ? 3 : 0

    private

    # The number of mapped pages of files is luck, so both sides get stock's, now and at the peak.
    def with_stocks_files(table, what, mode, a, p)
      name, kind = what.match(/\A(.*)(private|hwm)/)&.captures
      own, stock = table.dig("#{name}file", mode)&.values_at(@other, @stock)
      return [a, p] unless kind && stock
      kind == "private" ? [a + stock, p + stock] : [a, p - own + stock]
    end

    def limit(what, mode, a, p, v, b, sums)
      case what
      when /\Adepth /
        add(witness: "limits", what: what, mode: mode, stock: a, patched: p, value: p / a.to_f, bound: b["depth"],
            verdict: p >= a ? "pass" : "fail")
      when /\Aprogram (.*) (private|hwm)\z/
        calls = b["methods_called"][$1] and return per_method(what, mode, a, p, b["bytes_per_called_method"], calls)
        sums[["memory", mode, b["program_memory_geomean"]]] << [a, p] if $2 == "private"
        ratio("limits", what, mode, a, p, b["program_memory"])
      when / (hwm|file)\z/ then info(what, mode, a, p)
      when /\Amethods called private/ then per_method(what, mode, a, p, b["bytes_per_called_method"], 100_000)
      when /\Astarts / then start(what, mode, a, p, v, b)
      when /\A(methods|many|binary) / then ratio("limits", what, mode, a, p, b["memory"])
      # Not outlined_code_size: YJIT counts no byte of a page of outlined code that is full to its
      # end, 8192 too few each, and which are is luck.
      when /inline_code_size|code_region_size/
        sums[[what[/\S+\z/], mode, b["code_size"]]] << [a, p]
        info(what, mode, a, p)
      when / gc_total/
        add(witness: "limits", what: what, mode: mode, stock: a, patched: p, value: p / a.to_f, bound: b["gc"],
            verdict: p <= [a * b["gc"], a + 1].max ? "pass" : "fail", note: "or one more")
      when / allocated/ then ratio("limits", what, mode, a, p, b["allocated"])
      when /\Arate / then rate(what, mode, a, p, v, b)
      else info(what, mode, a, p)
      end
    end

    # Each called method has a record. This is the cost of one in bytes; a and p are KiB for all of them.
    def per_method(what, mode, a, p, bound, methods)
      bytes = (p - a) * 1024.0 / methods
      add(witness: "limits", what: "#{what}, bytes per method", mode: mode, stock: a, patched: p, value: bytes,
          bound: bound, verdict: bytes <= bound ? "pass" : "fail")
    end

    # The cost of a sample, and the share of time that it is at this rate.
    def sampled_ticks(rate, r, mode, b)
      left_out("sampled", "samples at #{rate} Hz with --timer=tick", r["refused"]) if r["refused"]
      { "sampled" => "samples at #{rate} Hz", "by_tick" => "samples at #{rate} Hz with --timer=tick",
        "timer" => "a bare timer of #{rate} Hz" }.each do |key, text|
        e = r[key] or next
        gates = key != "timer"
        bound = b["ratio"] if gates
        verdict = gates ? Judge.interval(e, { "fail_above" => bound, "pass_below" => bound }, nil) : "info"
        # A timer that was not found would seem to cost nothing.
        verdict = "inconclusive" if verdict == "pass" && e["seen"] * 2 < e["n"]
        @rows << Row.new(witness: "sampled", what: text, mode: mode, value: e["ratio"], bound: bound, gates: gates,
                         verdict: verdict, note: "#{range(e)}, #{e["us"]} us each, seen in #{e["seen"]} of #{e["n"]}")
      end
    end

    # A ratio is judged. Nanoseconds are told.
    def mode_row(what, mode, r, bound)
      if (e = r["ns"])
        return @rows << Row.new(witness: "modes", what: what, mode: mode, value: e["ns"], verdict: "info", gates: false,
                                note: "[%.0f %.0f] besides %.0f without" % [e["low"], e["high"], r["plain_ns"]])
      end
      e = r["ratio"]
      verdict = bound ? Judge.interval(e, { "fail_above" => bound, "pass_below" => bound }, nil) : "info"
      @rows << Row.new(witness: "modes", what: what, mode: mode, value: e["ratio"], bound: bound, verdict: verdict,
                       gates: !bound.nil?, note: "#{range(e)}, #{r["rate"].round} a second")
    end

    # Too wide to pass: only a clear loss decides.
    def sampled_rate(rate, r, mode, b)
      { "ratio" => "time at #{rate} Hz, half seconds", "timer" => "with a bare timer of #{rate} Hz",
        "above_timer" => "the one over the other" }.each do |key, text|
        bound = b["ratio"] if key == "ratio"
        lost = bound && r[key]["low"] > bound
        @rows << Row.new(witness: "sampled", what: text, mode: mode, value: r[key]["ratio"], bound: bound,
                         verdict: lost ? "fail" : "info", note: range(r[key]), gates: !!lost)
      end
      { "extprof_cpu" => "extprof's share of a core", "extprof_rss_mib" => "extprof's peak memory, MiB",
        "lost_share" => "lost or missed samples" }.each do |key, text|
        bound = b[key == "lost_share" ? "lost" : key]
        @rows << Row.new(witness: "sampled", what: "#{text} at #{rate} Hz", mode: mode, value: r[key], bound: bound,
                         gates: !bound.nil?, verdict: bound ? (r[key] <= bound ? "pass" : "fail") : "info",
                         note: key == "lost_share" ? "#{r["lost"]} lost, #{r["missed"]} missed of #{r["taken"]}" : nil)
      end
    end

    # Differs from link to link: only a clear loss decides. What is exact, private memory and the size of
    # text and data, has rows of its own.
    def start(what, mode, a, p, v, b)
      verdict = Judge.interval(v, { "fail_above" => b["memory"], "pass_below" => b["memory"] }, nil)
      @rows << Row.new(witness: "limits", what: what, mode: mode, stock: a.round, patched: p.round, value: v["ratio"],
                       bound: b["memory"], verdict: verdict, gates: verdict == "fail", note: range(v))
    end

    # For a rate more is better, so the time for one is judged. Only a failure decides.
    def rate(what, mode, a, p, v, b)
      time = { "low" => 1 / v["high"], "high" => 1 / v["low"] }
      longest = 1 / b["rate"]
      verdict = Judge.interval(time, { "fail_above" => longest, "pass_below" => longest }, Judge.off(v["aa"], b["rate_aa"]))
      @rows << Row.new(witness: "limits", what: what, mode: mode, stock: a, patched: p, value: v["ratio"],
                       bound: b["rate"], verdict: verdict, gates: verdict == "fail",
                       note: "#{range(v)}, stock against stock #{"%.4f" % v["aa"]["ratio"]}")
    end

    def aa(estimate, mode, bound)
      off = Judge.time_off(estimate, bound)
      @rows << Row.new(witness: "time", what: "stock against stock", mode: mode, value: estimate && estimate["ratio"],
                       bound: Math.exp(bound["aa"]), verdict: off ? "inconclusive" : "pass",
                       note: estimate && range(estimate), gates: true)
      off
    end

    def mean(what, mode, ratios, bound)
      g = Stats.geomean(ratios)
      add(witness: "counts", what: what, mode: mode, value: g, bound: bound, verdict: g <= bound ? "pass" : "fail")
    end

    def ratio(witness, what, mode, a, p, bound)
      add(witness: witness, what: what, mode: mode, stock: a, patched: p, value: p / a.to_f, bound: bound,
          verdict: p / a.to_f <= bound ? "pass" : "fail")
    end

    def info(what, mode, a, p)
      @rows << Row.new(witness: "limits", what: what, mode: mode, stock: a, patched: p, value: p / a.to_f,
                       verdict: "info", gates: false)
    end

    def missing(witness, what, mode, a, p)
      why = [a, p].compact.filter_map { |v| v["error"] if v.is_a?(Hash) }.first || "missing"
      add(witness: witness, what: what, mode: mode, verdict: "fail", note: why)
    end

    def numbers?(a, p) = a.is_a?(Numeric) && p.is_a?(Numeric)
    def range(e) = "[%.4f %.4f]" % [e["low"], e["high"]]
  end
end
