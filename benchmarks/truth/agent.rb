# Loaded before a program (-r). A program calls Truth.measure around what is profiled and Truth.tell with what it
# knows. TRUTH_TOOL names the profiler that measure starts in this process, if it is one that runs inside.
# Both write to TRUTH_OUT: what the program knows of itself, and what the tool said in one form for all tools:
#   samples: [[frames, weight, state]]   frames are "NAME\tLINE", outermost first; weight in seconds, or in
#                                        objects or bytes where allocations are sampled
# TRUTH_RATE is in samples per second, TRUTH_MODE cpu, wall or alloc.

require "json"

module Truth
  OUT = ENV["TRUTH_OUT"]
  RATE = ENV.fetch("TRUTH_RATE", "1000").to_i
  MODE = ENV.fetch("TRUTH_MODE", "cpu")
  EVERY = ENV.fetch("TRUTH_EVERY", "10").to_i # allocations per sample, for tools that count them
  @did = {}

  module_function

  def thread_cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
  def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  def wall = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # asks: [{ "what" =>, "kind" =>, "truth" => , ... }], see METRICS in lib/metrics.rb. did: what it did, to be
  # compared between tools.
  def tell(asks, did = {}) = write("program", "asks" => asks, "did" => @did.merge(did))

  def measure(&)
    started = [wall, cpu]
    tool = Tools[ENV["TRUTH_TOOL"]]
    tool ? in_process(tool, &) : yield
    @did.merge!("wall" => wall - started[0], "cpu" => cpu - started[1]) unless tool
  end

  def in_process(tool)
    tool.start
    started = [wall, cpu]
    yield
    @did.merge!("wall" => wall - started[0], "cpu" => cpu - started[1])
    write("tool", "samples" => tool.stop)
  end

  def write(name, value) = OUT && File.write("#{OUT}.#{name}.json", JSON.generate(value))

  # The profilers that run in the process. stop gives samples.
  module Tools
    def self.[](name) = name && const_defined?(name.capitalize) ? const_get(name.capitalize) : nil

    module Vernier
      module_function

      def start
        require "vernier"
        options = MODE == "alloc" ? { allocation_interval: EVERY } : { interval: 1_000_000 / RATE }
        @collector = ::Vernier::Collector.new(:wall, **options)
        @collector.start
      end

      STATES = { 1 => "idle", 2 => "gvl" }.freeze
      def stop
        result = @collector.stop
        stacks = Hash.new { |h, i| h[i] = result.stack(i).frames.map { |f| "#{f.name}\t#{f.filename}:#{f.lineno}" }.reverse }
        result.threads.values.flat_map do |t|
          next t[:allocations][:samples].zip(t[:allocations][:weights]).map { |i, w| [stacks[i], w, nil] } if MODE == "alloc"
          t[:samples].zip(t[:weights], t[:sample_categories]).map { |i, w, c| [stacks[i], w / RATE.to_f, STATES[c]] }
        end
      end
    end

    module Stackprof
      module_function

      def start
        require "stackprof"
        options = MODE == "alloc" ? { mode: :object, interval: EVERY } : { mode: MODE.to_sym, interval: 1_000_000 / RATE }
        StackProf.start(raw: true, **options)
      end

      def stop
        StackProf.stop
        result = StackProf.results
        raw, lines = result[:raw].to_a.dup, result[:raw_lines].to_a.dup
        weight = MODE == "alloc" ? EVERY : 1.0 / RATE
        samples = []
        until raw.empty?
          ids, at = [raw, lines].map { |list| list.shift(list.shift) }
          count = raw.shift
          lines.shift
          frames = ids.zip(at).map { |id, line| f = result[:frames][id]; "#{f[:name]}\t#{f[:file]}:#{line}" }
          gc = frames.any? { |f| f.start_with?("(garbage collection)", "(marking)", "(sweeping)") }
          samples << [frames, count * weight, ("gc" if gc)]
        end
        samples
      end
    end

    module Pf2
      module_function

      def start
        require "pf2"
        raise "pf2 does not sample allocations" if MODE == "alloc"
        raise "pf2's shortest interval is 1 ms" if RATE > 1000
        ::Pf2.start(interval_ms: 1000 / RATE, time_mode: MODE.to_sym)
      end

      def stop
        result = ::Pf2.stop
        names = result[:locations].map do |l|
          f = result[:functions][l[:function_index]]
          "#{f[:name]}\t#{f[:filename]}:#{l[:lineno]}"
        end
        result[:samples].map { |s| [s[:stack].map { |i| names[i] }.reverse, (1000 / RATE) / 1000.0, nil] }
      end
    end

    module Rperf
      module_function

      def start
        require "rperf"
        raise "rperf does not sample allocations" if MODE == "alloc"
        ::Rperf.start(frequency: RATE, mode: MODE.to_sym)
      end

      def stop
        result = ::Rperf.stop
        labels = result[:label_sets].to_a
        result[:aggregated_samples].map do |frames, weight, _thread, label|
          of = labels[label.to_i].to_h
          state = "gc" if of[:"%GC"]
          state = "gvl" if of[:"%GVL"] == "wait"
          state = "idle" if of[:"%GVL"] == "blocked"
          [frames.map { |file, name| "#{name}\t#{file}:" }.reverse, weight / 1e9, state]
        end
      end
    end
  end
end
