# Processes that do work when they are told to, and extprof that records them.

require_relative "programs"

module Bench
  class Recorder
    # A process that waits for work on its stdin, pinned to a core. extprof is not pinned.
    Target = Struct.new(:pid, :in, :out) do
      # nil where it ended.
      def line
        raise Refused, "the sampled program does not answer" unless IO.select([out], nil, nil, 300)
        out.gets
      end

      def run(portions)
        self.in.puts portions
        line.to_s.split.map(&:to_f)
      end

      def starts(slices)
        self.in.puts slices
        starts = line.to_s.split.map(&:to_i)
        raise Refused, "the sampled program ended" unless starts.size == slices + 1
        starts
      end
    end

    def initialize(extprof, core: 0)
      @extprof, @core = extprof, core
    end

    # Yields a process of that program; it ends after the block.
    def target(side, mode, program, *arguments)
      r_in, w_in = IO.pipe
      r_out, w_out = IO.pipe
      command = ["taskset", "-c", @core.to_s, *side.command(mode, ["-r", Programs::HARNESS, program, *arguments])]
      pid = Process.spawn(side.env, *command, in: r_in, out: w_out, unsetenv_others: true, pgroup: true)
      [r_in, w_out].each(&:close)
      target = Target.new(pid, w_in, r_out)
      raise Refused, "the sampled program did not start" unless target.line == "ready\n"
      yield target
    ensure
      Process.kill(:KILL, pid) if pid && $! # it may not read what it is told
      [w_in, r_out].compact.each(&:close)
      Process.wait(pid) if pid
    end

    # Attaches, yields, detaches: what was sampled, and what extprof used from when it had settled, with the seconds of that.
    def attached(target, *options)
      r, w = IO.pipe
      pid = Process.spawn(@extprof, "-p", target.pid.to_s, *options, "-o", "/dev/null", "-f", "folded",
                          in: File::NULL, out: w, err: w, pgroup: true)
      w.close
      reader = Thread.new { r.read }
      settle(pid)
      cpu, wall = cpu_of(pid), clock
      yield
      used = { cpu: cpu_of(pid) - cpu, seconds: clock - wall, rss: status(pid, "VmHWM") }
      ended = Recorder.stop(pid, :TERM) # SIGINT is ignored by what a shell starts in the background
      pid = nil
      text = reader.value
      raise Refused, "extprof: #{ended}: #{text.lines.first}" unless ended&.success?
      used.merge(Recorder.account(text))
    ensure
      Recorder.stop(pid, :KILL) if pid
    end

    # Returns its status, or nil when it had ended before.
    def self.stop(pid, signal)
      Process.kill(signal, pid)
      Process.wait2(pid).last
    rescue Errno::ESRCH, Errno::ECHILD
      nil
    end

    def self.account(text)
      taken = text[/samples taken ([\d,]+)/, 1] or raise Refused, "extprof wrote no account of its samples"
      lost, missed = [/\blost ([\d,]+)/, /^missed besides: ([\d,]+)/].map { |r| text[r, 1].to_s.delete(",").to_i }
      { taken: taken.delete(",").to_i, lost: lost, missed: missed }
    end

    private

    # Until its programs are attached, and the names that there are at the beginning have been read. Where it has ended,
    # what it said is seen at the end.
    def settle(pid, within: 30)
      till = clock + within
      sleep 0.05 until attached?(pid) || Process.wait(pid, Process::WNOHANG) || clock > till
      sleep 0.5
    end

    def attached?(pid)
      Dir.each_child("/proc/#{pid}/fd").any? { |fd| File.readlink("/proc/#{pid}/fd/#{fd}").match?(/perf_event|bpf_link/) }
    rescue SystemCallError
      false
    end

    # The main thread's and the others' time on a CPU, to the nanosecond.
    def cpu_of(pid)
      Dir["/proc/#{pid}/task/*/schedstat"].sum { |f| File.read(f).to_i / 1e9 }
    end

    def status(pid, key) = File.read("/proc/#{pid}/status")[/^#{key}:\s+(\d+)/, 1].to_i
    def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
