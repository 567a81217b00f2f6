# Allocates a known number of objects of known classes, and says what the collector counted.
$stdout.sync = true

# Structs with that many members fill slots of these sizes.
Small = Struct.new(*(1..3).map { |i| :"m#{i}" })        # 40
Other = Class.new(Small)                                 # 40
Middle = Struct.new(*(1..38).map { |i| :"m#{i}" })      # 320
Large = Struct.new(*(1..78).map { |i| :"m#{i}" })       # 640
Half = Class.new(Large)                                  # 640
CLASSES = { "Small" => Small, "Other" => Other, "Middle" => Middle, "Large" => Large, "Half" => Half, "Anonymous" => Class.new(Small) }

def rare(klass) = klass.new
def frequent(klass) = klass.new

# In a fixed pattern: 9 and 1.
def measured(frequently, rarely, n)
  i = 0
  while i < n
    frequent(frequently)
    frequent(frequently)
    frequent(frequently)
    frequent(frequently)
    frequent(frequently)
    frequent(frequently)
    frequent(frequently)
    frequent(frequently)
    frequent(frequently)
    rare(rarely)
    i += 1
  end
end

def heaps = GC.stat_heap.values.map { |h| [h[:slot_size], h[:total_allocated_objects]] }

# [[size of slot, objects]]
def counted
  before = heaps
  yield
  heaps.zip(before).map { |(size, after), (_, n)| [size, after - n] }
end

def thread_body(klass, n)
  i = 0
  i += 1 while i < n && klass.new
end

def closure(n) = lambda { n }

# Memory of malloc: strings of that size, each dropped at once; an array that grows.
def strings(size, n)
  i = 0
  while i < n
    String.new(capacity: size)
    i += 1
  end
end

def grown(n)
  array = []
  i = 0
  while i < n
    array.push(i)
    i += 1
  end
  array
end

# What malloc gives for a string of that size, as the program itself can tell it.
def malloced(object)
  require "objspace"
  ObjectSpace.memsize_of(object) - ObjectSpace.dump(object)[/"slot_size":(\d+)/, 1].to_i
end

CLASSES.each_value { |klass| thread_body(klass, 2000) }
GC.start
puts "ready"
while (line = $stdin.gets)
  command, *words = line.split
  case command
  when "pattern" # FREQUENT RARE TIMES
    truth = counted { measured(CLASSES[words[0]], CLASSES[words[1]], words[2].to_i) }
    truth.each { |size, n| puts "#{size} #{n}" }
  when "threads" # CLASS TIMES CLASS TIMES
    truth = counted do
      words.each_slice(2).map { |name, n| Thread.new { thread_body(CLASSES[name], n.to_i) } }.each(&:join)
    end
    truth.each { |size, n| puts "#{size} #{n}" }
  when "ractors" # CLASS TIMES CLASS TIMES
    words.each_slice(2).map do |name, n|
      Ractor.new(CLASSES[name], n.to_i) { |klass, times| Object.new.send(:thread_body, klass, times) }
    end.each(&:take)
  when "malloc" # SIZE TIMES PUSHES
    size, n, pushes = words.map(&:to_i)
    puts malloced(String.new(capacity: size))
    strings(size, n)
    puts malloced(grown(pushes))
  when "lambdas" # TIMES: the VM makes an environment for each
    n = words[0].to_i
    i = 0
    while i < n
      closure(i)
      i += 1
    end
  when "again" # the program begins anew
    exec(ENV["TESTED_RUBY"], "--disable=gems", "-W0", __FILE__)
  when "fork" # CLASS TIMES: a child that allocates, says so and waits
    from, to = IO.pipe
    said, say = IO.pipe
    $child = fork do
      to.close
      thread_body(CLASSES[words[0]], words[1].to_i)
      say.puts "worked"
      from.read(1)
      exit!
    end
    from.close
    say.close
    said.gets
    said.close
    $hold = to
    puts $child
  when "end"
    $hold.close
    Process.wait($child)
  end
  puts "done"
end
