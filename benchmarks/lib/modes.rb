# What each mode of extprof takes from a program that does what the mode looks at. One process does equal portions of work: some
# without extprof, some with it attached, some without it again, for each mode in random order. The CPU time for a unit of
# work is compared with that before and after, each to the CPU time of the yardstick in the same portion: what else the
# machine does makes both slower.

require_relative "recorder"
require_relative "stats"

module Bench
  class Modes
    PROGRAM = File.expand_path("../workloads/modes.rb", __dir__)

    # what: the row's name, as in bounds.json. program: of workloads/modes.rb. options: of extprof. other: it records
    # another process, and has nothing to do with this one. each: what is shown is ns for each unit, and no ratio.
    Mode = Struct.new(:what, :program, :options, :other, :each, keyword_init: true)
    MODES = [
      Mode.new(what: "wall at 99 Hz, 64 idle threads", program: "idle", options: %w[-m wall -r 99]),
      Mode.new(what: "wall at 99 Hz, 20,000 switches/s", program: "switches", options: %w[-m wall -r 99]),
      Mode.new(what: "offcpu, 20,000 switches/s", program: "switches", options: %w[-m offcpu]),
      Mode.new(what: "gvl, 20,000 switches/s", program: "switches", options: %w[-m gvl]),
      Mode.new(what: "alloc at 512 KiB", program: "allocates", options: %w[-m alloc --alloc-interval 512k]),
      Mode.new(what: "alloc of another process", program: "allocates", options: %w[-m alloc --alloc-interval 512k], other: true),
      Mode.new(what: "gc at 99 Hz", program: "allocates", options: %w[-m gc -r 99]),
      Mode.new(what: "--syscall getppid, ns for each", program: "calls", options: %w[--syscall getppid], each: true),
      Mode.new(what: "--syscall getppid --latency, ns for each", program: "calls", options: %w[--syscall getppid --latency], each: true),
      Mode.new(what: "--syscall openat, ns for any call", program: "calls", options: %w[--syscall openat], each: true)
    ].freeze

    def initialize(recorder, random: Random.new(1))
      @recorder, @random = recorder, random
    end

    # { what => { "ratio" => estimate, or "ns" => of a unit, "low", "high", "plain_ns" => of a unit without extprof,
    #   "extprof_cpu" => share of a core, "rate" => what the program says that it does each second } }, or { "error" => why }
    def run(side, mode, modes, windows:)
      modes.group_by(&:program).flat_map do |program, of|
        measured(of) { @recorder.target(side, mode, PROGRAM, program) { |t| compare(t, side, mode, of, windows) } }.to_a
      end.to_h
    end

    private

    def measured(modes)
      yield
    rescue Refused, SystemCallError, ArgumentError => e
      modes.to_h { |m| [m.what, { "error" => e.message }] }
    end

    PORTIONS = 10

    def compare(target, side, mode, modes, windows)
      runs = Hash.new { |h, k| h[k] = [] }
      @recorder.target(side, mode, PROGRAM, "rests") do |other|
        windows.times do
          modes.shuffle(random: @random).each do |m|
            before = portions(target)
            recorded = recorded(target, m.other ? other : target, m)
            runs[m] << [around(before, portions(target)), recorded]
          end
        end
      end
      modes.to_h { |m| [m.what, result(m, runs[m])] }
    end

    def around(before, after)
      %i[each yard].to_h { |k| [k, Math.sqrt(before[k] * after[k])] }
    end

    def recorded(target, whom, mode)
      done = nil
      used = @recorder.attached(whom, *mode.options) { done = portions(target) }
      done.merge(extprof_cpu: used[:cpu] / used[:seconds])
    end

    # What a program says of its portions: CPU time, units, seconds, events, CPU time of the yardstick. "each": CPU time for a
    # unit, in yardsticks; "yard": of these, seconds; "rate": events a second.
    def portions(target)
      said = target.run(PORTIONS).each_slice(5).to_a
      raise Refused, "the program ended" unless said.size == PORTIONS
      { each: Stats.median(said.map { |cpu, units, _, _, yard| cpu / units / yard }), yard: Stats.median(said.map(&:last)),
        rate: said.sum { |s| s[3] } / said.sum { |s| s[2] } }
    end

    # runs: of each window, what there was without and with extprof.
    def result(mode, runs)
      recorded = runs.map(&:last)
      shown = mode.each ? more(runs) : Stats.estimate([runs.map { |a, b| Math.log(b[:each] / a[:each]) }], random: @random).to_h
      { (mode.each ? "ns" : "ratio") => shown, "plain_ns" => (Stats.median(runs.map { |a, _| a[:each] * a[:yard] }) * 1e9).round(1),
        "extprof_cpu" => Stats.mean(recorded.map { |r| r[:extprof_cpu] }).round(5),
        "rate" => Stats.median(recorded.map { |r| r[:rate] }).round(1) }
    end

    # In ns of the speed that the machine had around.
    def more(runs)
      e = Stats.estimate([runs.map { |a, b| (b[:each] - a[:each]) * a[:yard] * 1e9 }], random: @random)
      { "ns" => e.value.round(1), "low" => e.low.round(1), "high" => e.high.round(1), "n" => e.n }
    end
  end
end
