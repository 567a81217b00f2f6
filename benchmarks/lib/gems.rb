# Installs the gems of yjit-bench's headline programs, once, for both sides: the same files
# are loaded by both. Native ones are compiled against stock's headers; the extension ABI is
# the same. This is the only part that uses the network (RubyGems, through bundler).

require "fileutils"
require_relative "jobs"
require_relative "programs"

module Bench
  class Gems
    # home: GEM_HOME of both. stage: where stock ruby is installed for its headers.
    def initialize(stock, home, stage)
      @stock, @home, @stage = stock, home, stage
      FileUtils.mkdir_p(home)
    end

    # { program => nil or why it failed }
    def install(programs)
      stage
      copy_bundler
      programs.to_h do |p|
        dir = File.dirname(p.args.last)
        next [p.name, "no Gemfile"] unless File.exist?(File.join(dir, "Gemfile"))
        outcome = Jobs.run(env, ["ruby", "-S", "bundle", "install", "--quiet"], chdir: dir, timeout: 1800)
        outcome = Jobs.run(env.merge("BENCH_ROLE" => "setup", "BENCH_ROUNDS" => "1"), ["ruby", *p.args],
                           chdir: p.chdir, timeout: 1800) unless outcome.error
        [p.name, outcome.error]
      end
    end

    def env
      top = File.join(@stage, @stock.makefile.fetch("prefix"))
      lib = File.join(top, "lib/ruby/3.4.0")
      { "RUBYLIB" => "#{lib}:#{lib}/#{@stock.makefile.fetch("arch")}", "PATH" => "#{top}/bin:#{@home}/bin:#{ENV.fetch("PATH")}", "GEM_HOME" => @home, "GEM_PATH" => @home,
        "HOME" => @home, "LANG" => "C.UTF-8", "MAKE" => "make -j2" }.merge(ENV.slice("http_proxy", "https_proxy", "SSL_CERT_FILE", "BUNDLE_MIRROR__ALL", "GIT_CONFIG_GLOBAL"))
    end

    private

    # The counted ruby is not installed, so it has no default gems; Bundler looks for its own.
    def copy_bundler
      from = File.join(@stage, @stock.makefile.fetch("prefix"), "lib/ruby/gems/3.4.0")
      spec = Dir[File.join(from, "specifications/default/bundler-*.gemspec")].first or raise Refused, "no bundler in #{from}"
      %w[specifications gems].each { |d| FileUtils.mkdir_p(File.join(@home, d)) }
      FileUtils.cp(spec, File.join(@home, "specifications"))
      FileUtils.cp_r(File.join(from, "gems", File.basename(spec, ".gemspec")), File.join(@home, "gems"))
    end

    # An installed ruby finds its own prefix from where its rbconfig.rb is.
    def stage
      return if File.exist?(File.join(@stage, "done"))
      FileUtils.rm_rf(@stage)
      outcome = Jobs.run({ "PATH" => ENV.fetch("PATH"), "HOME" => "/nonexistent" },
                         ["make", "-C", @stock.build, "install", "bundled-gems=", "DESTDIR=#{@stage}"], timeout: 1800)
      raise Refused, "installing stock ruby failed: #{outcome.error}" if outcome.error
      FileUtils.touch(File.join(@stage, "done"))
    end
  end
end
