# Parses files of the standard library with ripper: an event handler call per node.
require "ripper"
files = %w[tsort set erb/compiler].map { |f| $LOAD_PATH.filter_map { |d|
  p = "#{d}/#{f}.rb"
  File.read(p) if File.exist?(p)
}.first or raise f }

Workload.run(3) { files.sum { |text| Ripper.sexp(text).flatten.size + Ripper.lex(text).size } }
