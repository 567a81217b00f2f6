# Makes code that is gone at once, some thousand pieces a second; says for each line that it reads
# how many pieces the VM still keeps the names of.
$stdout.sync = true
Thread.new do
  while $stdin.gets
    puts "retired #{RubyVM.stat(:external_debug_retired_records)}"
  end
  exit!(0)
end
puts "ready"
loop do
  400.times { eval("1") }
  GC.start
  sleep 0.01
end
