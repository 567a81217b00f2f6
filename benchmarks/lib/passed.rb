# The last gate that passed, in results/gate.json, and whether what it measured is the same now: then only the
# exact counts need to be repeated.

require "digest"
require "json"

module Bench
  module Passed
    TOP = File.expand_path("../..", __dir__)
    FILE = File.join(TOP, "benchmarks/results/gate.json")
    SHORT = %w[slopes counts repeat].freeze

    PATCHES = File.join(TOP, "patches/ruby-3.4")
    # What the series changes and neither ruby runs.
    TESTS = %r{\A(test|spec|bootstraptest|benchmark|doc|ext/-test-)/|\ANEWS|\.md\z}

    # Of benchmarks/, what the gate does not run.
    OTHERS = %r{/(lib/(modes|recorder|sampled)|workloads/(modes|sampled))\.rb\z}

    # A hash of the source of both rubies, of how they are compiled, and of how they are compared.
    def self.inputs(sides)
      source = sides.last&.source.to_s
      series = [File.read(File.join(PATCHES, "BASE")), changed.map { |f| [f, digest(File.join(source, f))] }]
      files = Dir[File.join(TOP, "benchmarks/{lib,tools,workloads}/**/*"), File.join(TOP, "benchmarks/{bounds.json,build-stock}")]
      compared = files.select { |f| File.file?(f) }.grep_v(OTHERS).sort.map { |f| [f.delete_prefix(TOP), digest(f)] }
      Digest::SHA256.hexdigest(JSON.generate([series, sides.map(&:flags), compared]))
    end

    # The files of CRuby that the series changes, but for tests and texts.
    def self.changed
      names = Dir[File.join(PATCHES, "*.patch")].flat_map { |p| File.foreach(p).filter_map { |l| l[/\Adiff --git a\/(\S+) b\//, 1] } }
      names.uniq.grep_v(TESTS).sort
    end

    def self.digest(file)
      File.exist?(file) ? Digest::SHA256.file(file).hexdigest : "none"
    end

    # When and where a gate passed with the same inputs; nil if none did.
    def self.find(inputs, file = FILE)
      about = JSON.parse(File.read(file))["about"]
      about.values_at("date", "machine") if about["passed"] && about["inputs"] == inputs
    rescue SystemCallError, JSON::ParserError
      nil
    end
  end
end
