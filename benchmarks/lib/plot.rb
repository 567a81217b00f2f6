# The same as a picture: one SVG, no library. Points with intervals, a line for the bound.

module Bench
  class Plot
    WIDTH, LEFT, ROW = 980, 300, 15
    COLORS = { "interp" => "#1f6fb4", "yjit" => "#c2410c", "" => "#555" }.freeze

    def initialize(title) = (@title, @body, @y = title, [], 50)

    # points: [label, mode, value, low, high, bound]; the scale is in percent of 1.
    def panel(title, points, percent: true)
      return if points.empty?
      text(10, @y + 4, title, weight: "bold")
      @y += 22
      values = points.flat_map { |p| p[2, 4].compact }
      values = values.map { |v| (v - 1) * 100 } if percent
      low, high = [values.min, 0].min, [values.max, 0].max
      span = [high - low, 1e-9].max
      at = ->(v) { LEFT + ((percent ? (v - 1) * 100 : v) - low) / span * (WIDTH - LEFT - 60) }
      top = @y - 8
      points.group_by(&:first).each { |label, rows| row(label, rows, at) }
      axis(low, high, top, percent)
      @y += 30
    end

    def to_s
      <<~SVG
        <svg xmlns="http://www.w3.org/2000/svg" width="#{WIDTH}" height="#{@y}" font-family="sans-serif" font-size="11">
        <rect width="100%" height="100%" fill="white"/>
        <text x="10" y="20" font-size="15" font-weight="bold">#{escape(@title)}</text>
        <text x="10" y="36"><tspan fill="#{COLORS["interp"]}">interpreter</tspan> <tspan fill="#{COLORS["yjit"]}">YJIT</tspan>, bars: bounds, lines: 95 % intervals</text>
        #{@body.join("\n")}
        </svg>
      SVG
    end

    private

    def row(label, rows, at)
      text(LEFT - 8, @y + 4, label, anchor: "end")
      rows.each_with_index do |(_, mode, value, low, high, bound), i|
        y, color = @y + (i - (rows.size - 1) / 2.0) * 5, COLORS[mode]
        line(at[low], y, at[high], y, color, 1.5) if low && high
        line(at[bound], y - 3, at[bound], y + 3, color, 1) if bound
        @body << %(<circle cx="#{f at[value]}" cy="#{f y}" r="2.5" fill="#{color}"/>)
      end
      @y += ROW
    end

    def axis(low, high, top, percent)
      zero = LEFT + (0 - low) / [high - low, 1e-9].max * (WIDTH - LEFT - 60)
      line(zero, top, zero, @y - 4, "#999", 1)
      [[LEFT, low], [WIDTH - 60, high]].each { |x, v| text(x, @y + 8, percent ? "%+.2f %%" % v : "%+.1f" % v, anchor: "middle") }
      text(zero, @y + 8, "0", anchor: "middle")
    end

    def line(x1, y1, x2, y2, color, width)
      @body << %(<line x1="#{f x1}" y1="#{f y1}" x2="#{f x2}" y2="#{f y2}" stroke="#{color}" stroke-width="#{width}"/>)
    end

    def text(x, y, s, anchor: "start", weight: "normal")
      @body << %(<text x="#{f x}" y="#{f y}" text-anchor="#{anchor}" font-weight="#{weight}">#{escape(s)}</text>)
    end

    def f(v) = "%.1f" % v
    def escape(s) = s.to_s.gsub("&", "&amp;").gsub("<", "&lt;").gsub(">", "&gt;")

    # From the rows of a run; time rows carry their interval in the note.
    def self.of(rows, title)
      plot = new(title)
      slopes = rows.select { |r| r.witness == "slopes" && r.value }
      plot.panel("instructions per turn, patched - stock", slopes.map { |r| [r.what, r.mode, r.value, nil, nil, r.bound] }, percent: false)
      { "counts" => "instructions of whole programs", "time" => "CPU time", "limits" => "memory and limits",
        "sampled" => "while sampled", "modes" => "while recorded in a mode" }.each do |witness, name|
        of = rows.select { |r| r.witness == witness && r.value && r.verdict != "info" && ratio?(r) }
        plot.panel("#{name}, patched / stock", of.map { |r| point(r) })
      end
      plot.to_s
    end

    # Values that are no ratio of patched to stock: bytes, ns, MiB, shares.
    OTHER = /, bytes per method\z|, ns for |\Ans in the kernel |\Aextprof's |\Alost or missed /

    def self.ratio?(row) = !row.what.match?(OTHER)

    # A value that is far off is drawn at the edge with its number, so that the others stay readable.
    def self.point(row)
      shown, low, high = [row.value, *interval(row.note)].map { |v| v&.clamp(0.5, 2) }
      [shown == row.value ? row.what : "#{row.what} (is %.4g)" % row.value, row.mode, shown, low, high, row.bound]
    end

    def self.interval(note)
      note.to_s =~ /\[([\d.]+) ([\d.]+)\]/ ? [$1.to_f, $2.to_f] : [nil, nil]
    end
  end
end
