# Where the instructions of a difference are: callgrind's count per function, stock beside
# patched. Slow (about 80 times), so it serves a reader, never the gate.

require "tempfile"
require_relative "jobs"
require_relative "icount"
require_relative "../workloads/kinds"

module Bench
  class Explain
    PROGRAM = File.expand_path("../workloads/kinds.rb", __dir__)

    def initialize(icount) = @icount = icount

    # Per turn of a kind, as the difference of a long and a short run.
    def kind(side, mode, name, short: 500, long: 2500)
      a, b = [short, long].map { |n| functions(side, mode, [PROGRAM, name, n.to_s]) }
      turns = 3.0 * (long - short)
      (a.keys | b.keys).to_h { |f| [f, (b[f] - a[f]) / turns] }
    end

    def program(side, mode, program)
      functions(side, mode, program.args_for("count"), program.env_for("count"), program.options, program.chdir || "/")
    end

    # Self cost per function of a whole process. Code that YJIT made has no name.
    def functions(side, mode, args, env = {}, options = ["--disable-gems"], chdir = "/")
      Tempfile.create("callgrind") do |file|
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=#{file.path}",
                   "--compress-strings=no", "--compress-pos=no", *side.command(mode, args, options: options)]
        outcome = Jobs.run(side.env.merge("LD_PRELOAD" => @icount.seed, "FIXSEED" => "0").merge(env), command, chdir: chdir)
        raise Refused, outcome.error if outcome.error
        parse(file.path)
      end
    end

    def parse(path)
      costs = Hash.new(0)
      function, called = nil, false
      File.foreach(path) do |line|
        case line
        when /\Afn=(.*)/ then function = $1.start_with?("0x") ? "(code without a name: YJIT's, stubs)" : $1.sub(/'\d+\z/, "")
        when /\Acalls=/ then called = true
        when /\A[\d+*-]\S* (\d+)/
          costs[function] += $1.to_i unless called
          called = false
        end
      end
      costs
    end

    def self.line(name, a, b) = "%-62s %14.2f %14.2f %+12.2f" % [name[0, 62], a, b, b - a]

    # The rows that differ by `floor` or more, largest first.
    def self.diff(stock, patched, floor)
      rows = (stock.keys | patched.keys).map { |f| [f, stock.fetch(f, 0), patched.fetch(f, 0)] }
      rows.select { |_, a, b| (b - a).abs >= floor }.sort_by { |_, a, b| -(b - a).abs }
    end
  end
end
