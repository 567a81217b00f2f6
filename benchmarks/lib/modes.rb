# What each mode of extprof takes from a program that does what the mode looks at. One process does equal portions of work,
# with extprof attached in one mode after the other and without it, in random order. A portion is judged by the CPU time that
# it took, for each unit of work.

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

    def compare(target, side, mode, modes, windows)
      runs = Hash.new { |h, k| h[k] = [] }
      @recorder.target(side, mode, PROGRAM, "rests") do |other|
        windows.times do
          [nil, *modes].shuffle(random: @random).each { |m| runs[m] << one(target, other, m) }
        end
      end
      modes.to_h { |m| [m.what, result(m, runs[nil], runs[m])] }
    end

    # A portion, recorded in that mode or not.
    def one(target, other, mode)
      done = nil
      return portion(target.run(1)) unless mode
      used = @recorder.attached(mode.other ? other : target, *mode.options) { done = portion(target.run(1)) }
      done.merge(extprof_cpu: used[:cpu] / used[:seconds], lost: used[:lost] / [used[:taken], 1].max.to_f)
    end

    # What a program says of a portion: seconds of CPU time, units, seconds, events.
    def portion(numbers)
      cpu, units, wall, events = numbers
      raise Refused, "the program ended" unless units
      { each: cpu / units, rate: events / wall }
    end

    def result(mode, plain, recorded)
      pairs = plain.zip(recorded).map { |a, b| [a[:each], b[:each]] }
      shown = mode.each ? more(pairs) : Stats.estimate([pairs.map { |a, b| Math.log(b / a) }], random: @random).to_h
      { (mode.each ? "ns" : "ratio") => shown, "plain_ns" => (Stats.median(pairs.map(&:first)) * 1e9).round(1),
        "extprof_cpu" => Stats.mean(recorded.map { |r| r[:extprof_cpu] }).round(5),
        "rate" => Stats.median(recorded.map { |r| r[:rate] }).round(1) }
    end

    def more(pairs)
      e = Stats.estimate([pairs.map { |a, b| (b - a) * 1e9 }], random: @random)
      { "ns" => e.value.round(1), "low" => e.low.round(1), "high" => e.high.round(1), "n" => e.n }
    end
  end
end
