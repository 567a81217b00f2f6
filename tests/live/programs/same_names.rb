# Different code of one name: files whose top level does the work, and a method that templates in
# several files define. Argument: a directory that has the files. Each piece of work is between two
# readings of this thread's CPU clock.
DIRECTORY = ARGV[0]
FILES = { "a/init.rb" => 3, "b/init.rb" => 2, "main.rb" => 1 }
TEMPLATES = { "views/a/show.erb" => 4, "views/b/show.erb" => 2 }
USED = Hash.new(0)

module Templates; end

def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

WORK = "begin_at = now; i = 0; i += 1 while i < %d * 20_000; USED[%p] += now - begin_at\n"

FILES.each { |name, n| File.write(File.join(DIRECTORY, name), format(WORK, n, name)) }
puts "ready"
$stdout.flush
finish = now + (1e9 * $stdin.gets.to_f).to_i
while now < finish
  FILES.each_key { |name| load File.join(DIRECTORY, name) }
  TEMPLATES.each do |name, n|
    Templates.module_eval("def self.__tilt_16\n" + format(WORK, n, name) + "end", File.join(DIRECTORY, name))
    Templates.__tilt_16
  end
end
USED.each { |name, ns| puts "#{name} #{ns}" }
puts "done"
$stdout.flush
$stdin.gets
