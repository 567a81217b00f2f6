require "rexml/document"
xml = "<library>" + Array.new(60) { |i|
  %(<book id="b#{i}" lang="en"><title>Title &amp; #{i}</title><price>#{i}.50</price><!-- #{i} --></book>)
}.join + "</library>"

Workload.run(8) do
  doc = REXML::Document.new(xml)
  n = 0
  doc.root.each_element { |b| n += b.attributes["id"].size + b.elements["title"].text.size }
  out = +""
  doc.write(out)
  n + out.size
end
