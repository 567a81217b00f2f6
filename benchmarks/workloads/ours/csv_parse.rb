require "csv"
text = Array.new(150) { |i| [i, "name #{i}", %("quoted, #{i}"), i * 1.5, ""].join(",") }.join("\n")

Workload.run(12) do
  rows = CSV.parse(text)
  out = CSV.generate { |c| rows.each { |r| c << r } }
  rows.size + out.size
end
