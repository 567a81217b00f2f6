# Ractors that run at the same time, each methods of its own. (A Ractor's `send` is another one.)
def r0_work = (i = 0; i += 1 while i < 50_000)
def r1_inner(n) = n.times { |i| i + 1 }
def r1_work = r1_inner(20_000)
def r2_work = 500.times { |i| "x" * (i % 50) }

$stdout.sync = true
ractors = 3.times.map { |i| Ractor.new(:"r#{i}_work") { |name| __send__(name) while true } }
sleep 0.2
puts "ready"
sleep
