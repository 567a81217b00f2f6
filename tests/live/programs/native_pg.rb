# Asks a PostgreSQL server by the gem pg: ruby native_pg.rb DIRECTORY-OF-ITS-SOCKET
# Says at the end of each line how long each kind of query took, and how much CPU time of this thread, in ns, and
# how many of each there were.
require "pg"
$stdout.sync = true
DB = PG.connect(host: ARGV[0], user: "postgres", dbname: "postgres")
# The server waits; the same without the scheduler of fibers; the server works; this program takes many rows.
def sleeps = DB.exec("SELECT pg_sleep(0.05)")
def sync_sleeps = DB.sync_exec("SELECT pg_sleep(0.05)")
def counts = DB.exec("SELECT count(*) FROM generate_series(1, 300000) i WHERE i % 7 = 3")
def rows = DB.exec("SELECT i, md5(i::text) FROM generate_series(1, 20000) i")
def values = $rows.values
KINDS = %i[sleeps sync_sleeps counts rows values]
def now(clock = Process::CLOCK_MONOTONIC) = Process.clock_gettime(clock, :nanosecond)

$rows = rows
KINDS.each { |k| __send__(k) }
puts "ready #{DB.backend_pid}"
while (line = $stdin.gets)
  until_, took, cpu, count = now + (line.to_f * 1e9).to_i, Hash.new(0), Hash.new(0), 0
  while now < until_
    count += 1
    KINDS.each do |k|
      from, cpu_from = now, now(Process::CLOCK_THREAD_CPUTIME_ID)
      __send__(k)
      took[k] += now - from
      cpu[k] += now(Process::CLOCK_THREAD_CPUTIME_ID) - cpu_from
    end
  end
  puts KINDS.map { |k| "#{k}=#{took[k]}/#{cpu[k]}/#{count}" }.join(" ")
end
