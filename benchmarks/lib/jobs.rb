# Runs commands, several at once, and says exactly how each ended. Nothing is tried twice.

module Bench
  # out, err: what it wrote. error: nil, or why it failed.
  Outcome = Struct.new(:out, :err, :error)

  module Jobs
    module_function

    # One command in an environment of its own; killed after `timeout` seconds. What it leaves running
    # is killed when it ends, and so is it when we do. inherit: files that it has open, by their numbers here.
    def run(env, command, timeout: 600, chdir: "/", input: File::NULL, inherit: [])
      out_r, out_w = IO.pipe
      err_r, err_w = IO.pipe
      pid = nil
      Thread.handle_interrupt(Object => :never) do # we do not end between the two either
        pid = Process.spawn(env, *command, in: input, out: out_w, err: err_w, chdir: chdir,
                            unsetenv_others: true, pgroup: true, **inherit.to_h { |io| [io, io] })
      end
      [out_w, err_w].each(&:close)
      readers = [out_r, err_r].map { |io| Thread.new { io.read.tap { io.close } } }
      late = false
      timer = Thread.new { sleep timeout; late = true; killed(pid) }
      _, status = Process.wait2(pid)
      killed(pid)
      out, err = readers.map { |r| r.join(10) ? r.value : r.kill && nil }
      timer.kill
      error = if late then "no end within #{timeout} s"
              elsif !(out && err) then "something that it started still runs and holds its output"
              elsif !status.success? then "#{status.to_s.sub(/\Apid \d+ /, "")}: #{err.lines.last(3).join.strip}"
              end
      Outcome.new(out.to_s, err.to_s, error)
    rescue SystemCallError => e
      Outcome.new("", "", e.message)
    ensure
      killed(pid) if pid && !status
    end

    # Its whole process group.
    def killed(pid)
      Process.kill(:KILL, -pid)
    rescue Errno::ESRCH
      nil
    end

    # Yields each item in one of `workers` threads; the results come back in order. What a block raises
    # is raised when all threads have ended, so that nothing runs beside what comes next.
    def map(items, workers:, progress: nil)
      queue = Queue.new
      items.each_with_index { |item, i| queue << [item, i] }
      queue.close
      results = Array.new(items.size)
      done = 0
      lock = Mutex.new
      threads = Array.new([workers, items.size].min) do
        Thread.new do
          while (item, i = queue.pop)
            results[i] = yield item
            lock.synchronize { done += 1; show(progress, done, items.size) }
          end
        end.tap { |t| t.report_on_exception = false }
      end
      threads.each { |t| t.join rescue nil }
      threads.each(&:value)
      results
    end

    # The numbers of those that this process may use.
    def cores
      list = File.read("/proc/self/status")[/^Cpus_allowed_list:\s*(\S+)/, 1]
      list.split(",").flat_map { |part| Range.new(*part.split("-").map(&:to_i).values_at(0, -1)).to_a }
    end

    # The same, one item at a time on each of the cores: yields the item and its core.
    def on_cores(items, cores, progress: nil)
      idle = Queue.new
      cores.each { |c| idle << c }
      map(items, workers: cores.size, progress: progress) do |item|
        core = idle.pop
        yield item, core
      ensure
        idle << core
      end
    end

    def show(what, done, all)
      return unless what && $stderr.tty?
      $stderr.print "\r#{what}: #{done}/#{all}#{"\n" if done == all}"
    end
  end
end
