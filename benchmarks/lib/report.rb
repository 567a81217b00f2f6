# The rows as a table on the terminal.

module Bench
  module Report
    MARK = { "pass" => "ok", "fail" => "FAIL", "inconclusive" => "?", "info" => "" }.freeze

    module_function

    def print(rows, out: $stdout)
      rows.group_by(&:witness).each do |witness, of|
        out.puts "", "#{TITLES.fetch(witness)}", HEAD
        of.each { |r| out.puts line(r) }
      end
      out.puts "", summary(rows)
    end

    TITLES = {
      "slopes" => "1 instructions per turn: patched - stock, bound for the frames it pushes",
      "counts" => "2 instructions of whole programs, net of start-up: patched / stock",
      "repeat" => "  five counts of one program: largest difference",
      "time" => "3 CPU time of pairs of fresh relinks: patched / stock, 95 % interval",
      "limits" => "4 memory, code size, recursion depth, rates, GC: patched / stock",
      "sampled" => "5 while extprof samples",
      "modes" => "6 while extprof records in its modes: CPU time for a unit of work, to the same process without",
      "selftest" => "the gate itself: a planted slowdown must be red, stock against stock not"
    }.freeze
    HEAD = "%-44s %-7s %16s %16s %11s %9s" % ["", "mode", "stock", "patched", "value", "bound"]

    def line(r)
      ("%-44s %-7s %16s %16s %11s %9s %-4s %s" %
        [r.what.to_s[0, 120], r.mode, number(r.stock), number(r.patched), value(r), bound(r), MARK[r.verdict], r.note]).rstrip
    end

    def number(v)
      return "" unless v.is_a?(Numeric)
      v.is_a?(Float) && v != v.round ? "%.2f" % v : v.to_i.to_s
    end

    def value(r)
      return "" unless r.value.is_a?(Numeric)
      case r.witness
      when "slopes" then "%+.2f" % r.value
      when "repeat" then "%.6f" % r.value
      else "%.4f" % r.value
      end
    end

    def bound(r) = r.bound.is_a?(Numeric) ? ("%.4f" % r.bound).sub(/0+\z/, "").sub(/\.\z/, "") : r.bound.to_s

    def summary(rows)
      n = rows.group_by(&:verdict).transform_values(&:size)
      unsure = rows.count { |r| r.verdict == "inconclusive" && !r.gates }
      red = rows.select { |r| r.gates && %w[fail inconclusive].include?(r.verdict) }
      text = red.map { |r| "  #{MARK[r.verdict]} #{r.witness} #{r.what} #{r.mode} #{value(r)} #{r.note}".rstrip }
      ["outside their bounds, or not decided: #{red.size}", *text,
       "#{n["pass"].to_i} passed, #{red.count { |r| r.verdict == "fail" }} failed, " \
       "#{red.count { |r| r.verdict == "inconclusive" }} skipped" + (unsure > 0 ? ", #{unsure} single programs not decided" : "")]
    end
  end
end
