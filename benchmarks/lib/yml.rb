# Turns a file of CRuby's benchmark/*.yml into a program of ours. benchmark_driver puts the
# loop in <main>, where YJIT never compiles it, and that gem is not in the tarball anyway.
# Here the loop is in a lambda, which YJIT compiles and from which the prelude's local
# variables can be seen.

require "yaml"

module Bench
  module Yml
    module_function

    # turns: of the loop, per job and round.
    def convert(path, turns:, rounds:)
      spec = YAML.safe_load_file(path)
      jobs = jobs_of(spec.fetch("benchmark"), File.basename(path, ".yml"))
      bodies = jobs.map { |_, body| loop_around(body) }
      <<~RUBY
        # Made from #{File.basename(path)} by benchmarks/lib/yml.rb.
        #{preludes(spec, jobs)}
        __jobs = [
        #{bodies.join(",\n")}
        ]
        40.times { __jobs.each { |__job| __job.call(20) } }
        Workload.run(#{rounds}) { __jobs.each { |__job| __job.call(#{turns}) }; nil }
      RUBY
    end

    def loop_around(body)
      "->(__n) {\n__i = 0\nwhile __i < __n\n#{body.chomp}\n__i += 1\nend\n}"
    end

    # [[name, body], ...]: a benchmark is a string, a hash of strings, or a list of hashes.
    def jobs_of(value, name)
      case value
      when String then [[name, value]]
      when Hash then value.key?("script") ? [[name, value.fetch("script")]] : value.map { |k, v| [k, v] }
      when Array then value.flat_map { |v| jobs_of(v, name) }
      else raise ArgumentError, "a benchmark that is a #{value.class}"
      end
    end

    def preludes(spec, jobs)
      raise ArgumentError, "a body that is not text" unless jobs.all? { |_, b| b.is_a?(String) }
      spec["prelude"].to_s
    end
  end
end
