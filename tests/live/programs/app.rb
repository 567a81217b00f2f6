# For `extprof record -- ruby app.rb`: works a while, says its arguments, ends with a status.
def busy(seconds)
  finish = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + seconds
  nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < finish
end
busy(0.5)
p ARGV, Process.uid
Process.kill(ARGV[1], $$) || sleep if ARGV[0] == "die"
exit ARGV[0].to_i
