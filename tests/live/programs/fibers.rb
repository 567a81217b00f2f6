# Threads of which each runs methods of its own in fibers that live shorter than any reader needs
# to look them up. The fibers' slots go from thread to thread.
$stdout.sync = true

def t0_inside = 300.times { |i| i.to_s }
def t1_inside = 300.times { |i| i.to_s }
def t2_inside = 300.times { |i| i.to_s }
def t3_inside = 300.times { |i| i.to_s }

def t0_run = Fiber.new { t0_inside }.resume
def t1_run = Fiber.new { t1_inside }.resume
def t2_run = Fiber.new { t2_inside }.resume
def t3_run = Fiber.new { t3_inside }.resume

threads = 4.times.map do |i|
  Thread.new do
    Thread.current.name = "worker #{i}"
    run = :"t#{i}_run"
    Thread.current[:up] = true
    # What waits lets the next one go on: all get their turn between two looks of the reader.
    loop do
      20.times { send(run) }
      Thread.pass
    end
  end
end
sleep 0.01 until threads.all? { |t| t[:up] }
puts "ready"
threads.each(&:join)
