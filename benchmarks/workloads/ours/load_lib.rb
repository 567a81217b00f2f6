# Loads some 400 files of the standard library.
Workload.run(1, cold: true) do
  %w[rdoc bundler prism optparse net/http uri erb csv rexml/document racc/parser open-uri tempfile
     securerandom reline psych json ripper digest socket set time logger pstore tsort].each { |f| require f }
  require "irb"
  $LOADED_FEATURES.size
end
