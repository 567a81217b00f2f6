# Does what it is told, a known number of times, and says what it did.
$stdout.sync = true

# Structs with that many members fill slots of these sizes.
SIZES = {40 => 3, 80 => 8, 160 => 18, 320 => 38, 640 => 78}
SIZES.each { |size, n| Object.const_set("Slot#{size}", Struct.new(*(1..n).map { |i| :"m#{i}" })) }
CLASSES = SIZES.keys.map { |size| [size, Object.const_get("Slot#{size}")] } << [40, Class.new(Slot40)]

def fibers(n) = n.times { Fiber.new { Fiber.yield }.tap(&:resume).resume }
def threads(n) = n.times { Thread.new {}.join }
def allocate(klass, n)
  i = 0
  i += 1 while i < n && klass.new
end

def states(reader, writer)
  thread = Thread.new do
    sleep 0.02
    reader.read(1)
    Thread.pass
  end
  sleep 0.1
  writer << "x"
  thread.join
end

CLASSES.each { |_, klass| allocate(klass, 2000) }
GC.start
puts "ready"
while (line = $stdin.gets)
  command, n = line.split
  n = n.to_i
  case command
  when "fibers"
    fibers(n)
  when "threads"
    threads(n)
    sleep 0.05 # the last one may still be giving its stack up
  when "states"
    IO.pipe { |r, w| states(r, w) }
    sleep 0.05
  when "gc"
    before = GC.count
    n.times { GC.start }
    puts GC.count - before
  when "alloc"
    CLASSES.each do |size, klass|
      allocate(klass, n / size)
      puts "#{size} #{n / size}"
    end
  when "fork"
    from, to = IO.pipe
    parent = $$
    fork do
      to.close
      puts "child #{$$}"
      from.read(1) # until our parent closes it
      from.close
      Fiber.new { }.resume
      GC.start
      allocate(Slot40, n / 40)
      puts "worked"
      sleep 0.1 while Process.ppid == parent # stdin is our parent's to read
    end
    from.close
    $child = to
  when "go"
    $child.close
  end
  puts "done"
end
