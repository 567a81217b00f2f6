# Proves, each time, that the gate works: stock with a planted slowdown must be red by
# every witness that is fast enough, stock in another order of objects by none.

require_relative "plant"
require_relative "timing"
require_relative "slopes"
require_relative "counts"
require_relative "judge"

module Bench
  class SelfTest
    KINDS_USED = %w[loop method yield cfunc block].freeze
    COUNTED = %w[app_fib poly_calls block_chain].freeze
    # Turns planted: eight instructions are seen by counting, to the last one. By time eight
    # cycles are less than what the placement of code is worth; see README.md.
    COUNTED_TURNS = 4
    TIMED_TURNS = 12
    TIMED = %w[app_fib app_tak so_ackermann deep_recursion block_chain].freeze

    def initialize(icount, stock, dir, programs, workers:, cores:, links: 12)
      @icount, @stock, @dir, @workers, @cores, @links = icount, stock, dir, workers, cores, links
      @programs = programs.all(%w[ours cruby])
    end

    def run(judge)
      again = Links.new(renamed("again"), links_dir)
      plant = planted("plant", COUNTED_TURNS)
      { "plant" => [plant, "fail"], "again" => [again, "pass"] }.each do |name, (links, expected)|
        link = links.take([0], workers: 1).first
        counted(judge, name, link, expected)
      end
      timed(judge, planted("slows", TIMED_TURNS))
    end

    private

    def links_dir = File.join(@dir, "links")

    # The same build under another name: its relinks go to a directory of their own, its
    # libraries are stock's.
    def renamed(name) = @stock.dup.tap { |s| s.instance_variable_set(:@name, name) }

    def planted(name, turns)
      Links.new(renamed(name), links_dir, replace: Plant.make(@stock, File.join(@dir, name), turns))
    end

    # Counting: stock's own executable against the link. Only the interpreter: the planted
    # code is in C.
    def counted(judge, name, link, expected)
      sides = [@stock, link]
      test = Judge.new(sides: ["stock", name])
      kinds = KINDS.slice(*KINDS_USED)
      test.slopes(Slopes.new(@icount, workers: @workers, seeds: [0, 1]).run(sides, ["interp"], kinds.keys), kinds, ["interp"])
      expect(judge, "slopes: #{name}", test, expected)
      test = Judge.new(sides: ["stock", name])
      programs = Programs.pick(@programs, COUNTED)
      test.counts(Counts.new(@icount, workers: @workers).run(programs, sides, ["interp"]), programs, ["interp"])
      expect(judge, "counts: #{name}", test, expected)
    end

    # Timing, with another link of stock as the third process of every pair: the plant must
    # fail (where the machine is too loud to tell stock from stock, not pass), and stock must not
    # fail against stock.
    def timed(judge, plant)
      programs = Programs.pick(@programs, TIMED)
      numbers = (0...@links).to_a
      links = [Links.new(@stock, links_dir), plant].map { |l| l.take(numbers, workers: @workers) }
      timing = Timing.new(cores: @cores)
      table = TimeTable.new(timing.run(programs, ["interp"], *links), draws: 2000).to_h
      { "plant" => [table, planted_expectation(table, judge)], "again" => [swapped(table), "not fail"] }.each do |name, (t, expected)|
        test = Judge.new(sides: ["stock", name])
        test.time(t, name == "plant" ? programs : [], ["interp"], timing.failures, "gate")
        expect(judge, "time: #{name}", test, expected)
      end
    end

    def planted_expectation(table, judge)
      Judge.time_off(table.dig("interp", "aa"), judge.bounds["time"]["gate"]) ? "not pass" : "fail"
    end

    # Stock against stock, judged as if it were the other side.
    def swapped(table) = table.transform_values { |t| t.merge("suite" => t["aa"], "aa" => { "ratio" => 1.0, "low" => 1.0, "high" => 1.0 }) }

    def expect(judge, what, test, expected)
      got = { 0 => "pass", 1 => "fail", 3 => "inconclusive" }.fetch(test.status)
      good = expected.start_with?("not ") ? got != expected.delete_prefix("not ") : got == expected
      # Red by a measured value: a witness that did not run is red too, but proves nothing.
      good &&= test.rows.none? { |r| r.gates && !r.value.is_a?(Numeric) }
      red = test.rows.select { |r| r.gates && r.verdict != "pass" }.first(3)
      suite = test.rows.find { |r| r.what == "suite" }
      judge.add(witness: "selftest", what: what, mode: "interp", value: suite&.value, bound: expected,
                verdict: good ? "pass" : "fail",
                note: ["is #{got}", suite&.note, *red.map { |r| "#{r.what} #{r.value.is_a?(Float) ? r.value.round(4) : r.note}" }].compact.join(", "))
    end
  end
end
