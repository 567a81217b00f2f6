# Required by the servers of case_real.py. They say what they do by the clocks of the thread that does it, and by gvltools,
# which counts from when a thread is ready for the GVL to when it goes on with it.
require "gvltools"

GVLTools::LocalTimer.enable

module Measured
  @lock, @sums = Mutex.new, {}

  # ns by the wall clock, on a CPU, and waiting for the GVL.
  def self.now = [Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond),
                  Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond), GVLTools::LocalTimer.monotonic_time]

  def self.since(from) = now.zip(from).map { |a, b| a - b }

  # Called after all that is measured: the lock is not to be waited for in the midst of it.
  def self.add(name, spent)
    @lock.synchronize { @sums[name] = [1, *spent].zip(@sums[name] || [0] * 4).map(&:sum) }
  end

  # A line for each name: how often, and the sums of ns. It begins anew then.
  def self.report = @lock.synchronize { @sums.map { |name, sums| "#{name} #{sums.join(" ")}\n" }.join.tap { @sums = {} } }
  singleton_class.alias_method :reset, :report
end
