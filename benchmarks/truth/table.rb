# The results as a table for docs/truth.md.

module Truth
  module Table
    module_function

    def markdown(result)
      tools = result["tools"]
      lines = ["| | program | mode | question | truth | #{tools.join(" | ")} | nearest |",
               "|---|---|---|---|---|#{"---|" * (tools.size + 1)}"]
      result["rows"].each { |row| lines.concat(rows(row, tools)) }
      [*lines, "", "Time of the program (CPU time; of `interrupted`, which sleeps, wall time), with the tool to without:", "", *behaviour(result, tools), "",
       *notes(result, tools), "", *source(result)].join("\n") + "\n"
    end

    def rows(row, tools)
      row["asks"].to_a.each_with_index.map do |ask, i|
        cells = tools.map { |t| cell(ask, row["results"][t], i) }
        truth = row["results"].values.filter_map { |r| r["answers"]&.dig(i, "truth") }.first || ask["truth"]
        "| #{row["number"]} | #{row["case"]} | #{row["mode"]} | #{ask["what"]} | #{value(ask, truth)} | #{cells.join(" | ")} | #{nearest(row, tools, i)} |"
      end
    end

    # The answer and how far it is from the truth of the same run.
    def cell(ask, result, i)
      return "failed" if result["error"]
      got, truth = result["answers"][i].values_at("answer", "truth")
      return "no answer" unless got
      "#{value(ask, got)} (#{error(ask, got - truth)})"
    end

    def value(ask, v)
      case ask["kind"]
      when "total" then "%.3f s" % v
      when "did" then v.to_s
      else "%.1f %%" % (100 * v)
      end
    end

    def error(ask, by)
      case ask["kind"]
      when "total" then "%+.3f" % by
      when "did" then "%+d" % by
      else "%+.1f" % (100 * by)
      end
    end

    # What chance alone is worth: one standard error of a share of as many samples as the rate gives, and two
    # intervals of a total.
    def chance(ask, row)
      did = row["results"]["none"]["did"]
      return Math.sqrt(ask["truth"] * (1 - ask["truth"]) * row["every"] / did["objects"]) if row["every"]
      return 2.0 / row["rate"] if ask["kind"] == "total"
      seconds = did[row["mode"] == "wall" ? "wall" : "cpu"]
      Math.sqrt(ask["truth"] * (1 - ask["truth"]) / (row["rate"] * seconds)).clamp(0.0005, nil)
    end

    # Those with the least error, and those that are as near but for chance.
    def nearest(row, tools, i)
      errors = tools.filter_map do |t|
        a = row["results"][t]["answers"]&.at(i)
        [t, (a["answer"] - a["truth"]).abs] if a && a["answer"]
      end.to_h
      return "none" if errors.empty?
      least = errors.values.min
      best = errors.select { |_, e| e - least <= chance(row["asks"][i], row) }.keys
      best.include?("extprof") ? best.join(", ") : "**not extprof**: #{best.join(", ")}"
    end

    # Only programs that do the same work each time can be compared.
    def behaviour(result, tools)
      rows = result["rows"].select { |r| r["results"]["none"].dig("did", "fixed") }
      ["| program | #{tools.join(" | ")} |", "|---|#{"---|" * tools.size}",
       *rows.map do |r|
         none = r["results"]["none"]["did"]
         cells = tools.map { |t| (did = r["results"][t]["did"]) ? changed(none, did, r["mode"] == "wall" ? "wall" : "cpu") : "failed" }
         "| #{r["case"]} | #{cells.join(" | ")} |"
       end]
    end

    def changed(none, did, clock)
      other = (none.keys - %w[wall cpu]).reject { |k| none[k] == did[k] }
      ["%.2f" % (did[clock] / none[clock]), *other.map { |k| "**#{k} #{did[k]}, not #{none[k]}**" }].join(", ")
    end

    def notes(result, tools)
      result["rows"].flat_map do |r|
        tools.filter_map { |t| "- #{r["case"]}: #{t} failed: #{r["results"][t]["error"].gsub("|", "/")}" if r["results"][t]["error"] }
      end
    end

    def source(result)
      ["`#{result["command"]}`, #{result["date"]}, #{result["machine"]}. " \
       "All on #{result["versions"]["ruby"]} with the patches; #{result["versions"].except("ruby").map { |k, v| k == "extprof" ? v : "#{k} #{v}" }.join(", ")}."]
    end
  end
end
