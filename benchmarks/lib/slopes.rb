# Witness 1: instructions per turn of each kind of call, stock and patched, both modes.

require_relative "icount"
require_relative "stats"
require_relative "../workloads/kinds"

module Bench
  class Slopes
    PROGRAM = File.expand_path("../workloads/kinds.rb", __dir__)
    SEEDS = [0, 1, 2].freeze

    def initialize(icount, workers:, length: 10_000, seeds: SEEDS)
      @icount, @workers, @length, @seeds = icount, workers, length, seeds
    end

    # { kind => { mode => { side => slope or { "error" => why } } } }
    def run(sides, modes, kinds = KINDS.keys)
      cells = kinds.product(modes, sides, @seeds)
      slopes = Jobs.map(cells, workers: @workers, progress: "slopes") do |kind, mode, side, seed|
        slope(side, mode, kind, seed)
      end
      table = {}
      cells.zip(slopes).group_by { |(kind, mode, side, _), _| [kind, mode, side] }.each do |(kind, mode, side), rows|
        values = rows.map(&:last)
        failed = values.find { |v| v.is_a?(String) }
        # Addresses and ids are keys of hash tables, and collisions only ever add.
        value = failed ? { "error" => failed } : values.min.round(3)
        ((table[kind] ||= {})[mode] ||= {})[side.name] = value
      end
      table
    end

    def slope(side, mode, kind, seed)
      count = @icount.count(side, mode, [PROGRAM, kind, @length.to_s], seed: seed, timeout: 120)
      return count.error if count.error
      return "#{count.marks.size} marks, expected 3" unless count.marks.size == 3
      a, b, c = count.marks
      ((c - b) - (b - a)) / @length.to_f
    end
  end
end
