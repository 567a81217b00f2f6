# Witness 2: instructions of whole programs, stock and patched, both modes.

require_relative "icount"
require_relative "programs"
require_relative "stats"

module Bench
  class Counts
    # links: { side's name => links of it }. A program that needs them is counted with each, too, and the
    # least holds: where a table's keys are addresses of the VM's code, collisions only add.
    def initialize(icount, workers:, seed: 0, timeout: 900, links: {})
      @icount, @workers, @seed, @timeout, @links = icount, workers, seed, timeout, links
    end

    # { program => { mode => { side => count or { "error" => why } } } }
    def run(programs, sides, modes)
      cells = programs.product(modes, sides).flat_map do |p, mode, side|
        [side, *(@links[side.name] if p.relinked)].map { |exe| [p, mode, side, exe] }
      end
      counts = Jobs.map(cells, workers: @workers, progress: "counts") { |p, mode, _, exe| count(p, mode, exe) }
      table = {}
      cells.zip(counts).group_by { |cell, _| cell.first(3) }.each do |(program, mode, side), found|
        values = found.map(&:last)
        value = net(values.grep(Hash).first || values.min, program, mode, side)
        row = table[program.name] ||= { "group" => program.group }
        (row[mode] ||= {})[side.name] = value
      end
      table
    end

    # { program => { mode => (largest - least) / least } } of `times` counts.
    def repeats(programs, side, modes, times)
      programs.to_h do |program|
        [program.name, modes.to_h do |mode|
          counts = Jobs.map([nil] * times, workers: @workers) { count(program, mode, side) }
          failed = counts.grep(Hash).first
          [mode, failed || (counts.max - counts.min) / counts.min.to_f]
        end]
      end
    end

    # A program's count without that of an empty one, which has a row of its own. Otherwise
    # start-up would be counted once more in each short program.
    def net(value, program, mode, side)
      return value if program.group == "start" || value.is_a?(Hash)
      @empty ||= {}
      empty = @empty[[mode, side.name, program.options]] ||= count(Programs.empty(program.gems), mode, side)
      empty.is_a?(Hash) ? empty : value - empty
    end

    def count(program, mode, side)
      c = @icount.count(side, mode, program.args_for("count"), seed: @seed, env: program.env_for("count"),
                        timeout: @timeout, chdir: program.chdir || "/", options: program.options,
                        before: program.private.to_a)
      c.error ? { "error" => c.error } : c.total
    end
  end
end
