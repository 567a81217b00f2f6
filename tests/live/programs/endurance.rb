# A server whose code, threads, labels and processes come and go without an end. ARGV[0]: turns a second, of which each makes a
# method, a thread, a fiber, a class and values of labels that were never there; each tenth makes a process, each hundredth a collection.
$stdout.sync = true
TURNS = Float(ARGV[0] || 20)
made = Hash.new(0)

def burn(n = 3000)
  i = 0
  i += 1 while i < n
  i
end

def turn(i, made)
  Class.new.class_eval("def self.u#{i} = burn\nself", "/u#{i}.rb", i % 1000 + 1).send(:"u#{i}")
  Object.class_eval("class U#{i}\ndef u#{i} = Array.new(50) { |n| \"text \#{n} of #{i}\" }\nend\nU#{i}.new", "/v#{i}.rb", i % 1000 + 1).send(:"u#{i}")
  Object.send(:remove_const, :"U#{i}")
  thread = Thread.new { Thread.current.name = "job #{i}"; burn; sleep 0.002 }
  Fiber.with_labels(request: "/items/#{i}", job: "Job#{i % 100}") { burn; thread.join }
  Fiber.new { burn; Fiber.yield; burn }.then { |f| f.resume; f.resume }
  made["methods"] += 2
  made["threads"] += 1
  return unless i % 10 == 0
  Process.wait(fork { Process.setproctitle("endurance: worker #{i}"); burn(20_000); exit!(0) })
  made["processes"] += 1
  GC.start if i % 100 == 0
end

puts "ready"
trap(:TERM) { $end = true }
i = 0
from = Process.clock_gettime(Process::CLOCK_MONOTONIC)
until $end
  turn(i += 1, made)
  ahead = from + i / TURNS - Process.clock_gettime(Process::CLOCK_MONOTONIC)
  ahead > 0 ? sleep(ahead) : (from -= ahead)
end
puts "turns %d, %s" % [i, made.map { |name, n| "%s %d" % [name, n] }.join(", ")]
