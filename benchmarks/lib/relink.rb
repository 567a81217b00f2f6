# Links a built ruby again with its objects in another order and a random pad before them.
# Layout alone moves a mixed program by 2 %, so each timed pair takes a link of its own.

require "fileutils"
require "shellwords"
require "pathname"
require_relative "jobs"
require_relative "side"

module Bench
  class Relink
    ENVIRONMENT = { "PATH" => ENV.fetch("PATH"), "LC_ALL" => "C", "HOME" => "/nonexistent" }.freeze

    # build: a CRuby build directory. replace: { "vm.o" => path }, for the planted slowdown.
    def initialize(build, replace: {})
      @build = build
      lines = dry_run("-W", "vm.o", "ruby")
      raise Refused, "relinks need a static ruby" if lines.any? { |l| l =~ /-o ruby\s*\z/ && l =~ /-lruby-shared|-lruby\b(?!-)/ }
      archive = lines.reverse.find { |l| l =~ /\bar \w+\s+libruby-static\.a / } or raise Refused, "#{build}: no line makes libruby-static.a"
      link = lines.reverse.find { |l| l =~ /-o ruby\s*\z/ } or raise Refused, "#{build}: no line links ruby"
      @link = Shellwords.split(link)
      own = @link.grep(/\.o\z/)
      objects = Shellwords.split(archive).grep(/\.o\z/) | own
      @objects = objects.map { |o| File.expand_path(replace.fetch(o, o), build) }
      @link.reject! { |w| own.include?(w) || w == "-lruby-static" }
    end

    # Makes `path`; the same seed gives the same order.
    def make(path, seed)
      random = Random.new(seed)
      FileUtils.mkdir_p(File.dirname(path))
      made = "#{path}.#{$$}" # nobody takes a half one, nor one that others make
      pad = "#{made}.pad.s"
      File.write(pad, ".text\n.skip #{16 * random.rand(1..255)}, 0x90\n.section .note.GNU-stack,\"\",@progbits\n")
      at = @link.index("-o")
      command = [*@link[0...at], pad, *@objects.shuffle(random: random), *@link[(at + 2)..],
                 "-Wl,--strip-debug", "-o", made]
      # Libraries come after what needs them.
      libraries, rest = command.partition { |w| w.start_with?("-l") }
      outcome = Jobs.run(ENVIRONMENT, [*rest, *libraries], chdir: @build)
      raise Refused, "relinking failed: #{outcome.error}" if outcome.error
      File.rename(made, path)
      path
    ensure
      FileUtils.rm_f([pad, made].compact)
    end

    # Compiles vm.c with another vm_insnhelper.c; dir gets the sources and vm.o.
    def self.compile_vm(build, source, dir, helper)
      FileUtils.mkdir_p(dir)
      FileUtils.cp(File.join(source, "vm.c"), dir)
      File.write(File.join(dir, "vm_insnhelper.c"), helper)
      line = dry_run(build, "-W", "#{source}/vm.c", "-W", File.join(Pathname(source).relative_path_from(build), "vm.c"), "vm.o")
               .reverse.find { |l| l =~ /-o vm\.o / } or raise Refused, "#{build}: no line compiles vm.c"
      words = Shellwords.split(line)
      words[words.index("-o") + 1] = File.join(dir, "vm.o")
      words[-1] = File.join(dir, "vm.c")
      outcome = Jobs.run(ENVIRONMENT, words, chdir: build)
      raise Refused, "compiling vm.c failed: #{outcome.error}" if outcome.error
      File.join(dir, "vm.o")
    end

    def self.dry_run(build, *args)
      outcome = Jobs.run(ENVIRONMENT, ["make", "-n", "V=1", "-C", build, "--no-print-directory", *args])
      outcome.out.gsub("\\\n", " ").lines(chomp: true)
    end

    private

    def dry_run(*args) = Relink.dry_run(@build, *args)
  end
end
