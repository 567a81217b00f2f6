# Required by the programs of case_processes.py: work of a known CPU time, and a file that says what was done.
$stdout.sync = true
$truth = File.open(ENV.fetch("TRUTH"), "a")
$truth.sync = true

def cpu(clock = Process::CLOCK_THREAD_CPUTIME_ID) = Process.clock_gettime(clock, :nanosecond)

# As extprof's /proc has it, in whatever pid namespace this process is.
def outer_pid = File.readlink("/proc/self").to_i

# One line is one write: processes that write at the same time do not mix their lines.
def tell(*words) = $truth.write(words.join(" ") + "\n")

# Use so much CPU time in this thread, in the name of the caller, and say how much it was, and what the process had used
# before.
def burn(seconds, name)
  before = cpu(Process::CLOCK_PROCESS_CPUTIME_ID)
  wall, from = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond), cpu
  till = from + (seconds * 1e9).to_i
  nil while cpu < till
  tell "work", outer_pid, name, cpu - from, Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - wall, before
end

# A method that nobody has defined before.
def burn_anew(seconds, name)
  eval "def #{name}(seconds) = burn(seconds, :#{name})"
  send name, seconds
end

# The CPU time that this process has used in all, whatever it executed before.
def tell_cpu(what = "cpu") = tell(what, outer_pid, "-", cpu(Process::CLOCK_PROCESS_CPUTIME_ID))

# A method that is called for the first time just before the end of its process has no name: not so these.
tell "loaded", outer_pid, "-", cpu
at_exit { sleep ENV["LINGER"].to_f } if ENV["LINGER"]
