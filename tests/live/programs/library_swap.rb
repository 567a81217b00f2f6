# Loads and unloads two libraries by turns, at the same place; see library_swap.c.
require "fiddle"
$stdout.sync = true
PATHS = ARGV
$places = []

def load(path)
  library = Fiddle::Handle.new(path)
  $places |= File.foreach("/proc/self/maps").grep(/ r-xp .*#{Regexp.escape(path)}$/).map { |l| l.split("-")[0] }
  [library, Fiddle::Function.new(library["entry"], [Fiddle::TYPE_LONG], Fiddle::TYPE_VOID, need_gvl: true)]
end

def in_a(function, until_)
  function.call(20) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < until_
end

def in_b(function, until_)
  function.call(20) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < until_
end

def hold(function, until_)
  function.call(20) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < until_
end

# `turn`: seconds that each of them is there.
def swap(seconds, turn)
  until_ = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  while (now = Process.clock_gettime(Process::CLOCK_MONOTONIC)) < until_
    PATHS.zip(%i[in_a in_b]) do |path, method|
      library, function = load(path)
      __send__(method, function, Process.clock_gettime(Process::CLOCK_MONOTONIC) + turn)
      library.close
    end
  end
end

puts "ready"
while (line = $stdin.gets)
  what, seconds, turn = line.split
  if what == "swap"
    swap(seconds.to_f, turn.to_f)
  else
    library, function = load(PATHS[0])
    hold(function, Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds.to_f)
    library.close
  end
  puts "done #{$places.size}"
end
