# Instruction counts of whole processes and of marked parts of them, by qemu-user with the
# plugin in tools/icount.c.

require "tempfile"
require_relative "jobs"
require_relative "place"

module Bench
  class Icount
    # total: from exec to exit. marks: the count at each Process.getsid(0).
    Count = Struct.new(:total, :marks, :out, :error)
    attr_reader :seed
    SOURCES = File.expand_path("../tools", __dir__)

    # dir: where the two small C files are compiled to. place: a Place, or nil.
    def initialize(dir, place = nil)
      @dir, @place = dir, place
      FileUtils.mkdir_p(dir)
      @qemu = ENV.fetch("PATH").split(":").map { |d| "#{d}/qemu-x86_64" }.find { |f| File.executable?(f) } or
        raise Refused, "qemu-x86_64 is missing (Debian: qemu-user)"
      @plugin = compile("icount", "-fvisibility=hidden")
      @seed = compile("fixseed")
    end

    def compile(name, *flags) = Icount.compile(@dir, name, "#{name}.so", "-shared", "-fPIC", *flags)

    def self.compile(dir, name, made, *flags)
      source, made = File.join(SOURCES, "#{name}.c"), File.join(dir, made)
      return made if File.exist?(made) && File.mtime(made) > File.mtime(source)
      system(ENV["CC"] || "cc", "-O2", "-Wall", "-Wextra", *flags, "-o", made, source) or
        raise Refused, "cannot compile #{source}"
      made
    end

    # seed: which constant the guest's random bytes are; nil leaves them random. before: what runs it.
    def count(side, mode, args, seed: 0, env: {}, timeout: 600, chdir: "/", options: ["--disable-gems"], before: [])
      Tempfile.create("icount", @dir) do |file|
        preload = seed ? ["-E", "LD_PRELOAD=#{@seed}", "-E", "FIXSEED=#{seed}"] : []
        command = [*before, @qemu, *preload, "-plugin", "#{@plugin},out=#{file.path}",
                   *side.command(mode, args, options: options)]
        environment = side.env.merge(env)
        environment, command = @place.put(environment, command) if @place
        outcome = Jobs.run(environment, command, timeout: timeout, chdir: chdir)
        lines = File.readlines(file.path, chomp: true)
        total = lines.pop.to_s[/\Aend (\d+)\z/, 1]
        error = outcome.error || (total ? nil : "no count was written")
        Count.new(total&.to_i, lines.map(&:to_i), outcome.out, error)
      end
    end
  end
end
