# Stacks of more than 1,200 frames that part at random: <main>, ARGV[0] times `left` or
# `right`, then some work. Nearly no two are equal.
def left(n) = n > 0 ? (rand(2) == 0 ? left(n - 1) : right(n - 1)) : work
def right(n) = n > 0 ? (rand(2) == 0 ? left(n - 1) : right(n - 1)) : work

def work
  i = 0
  i += 1 while i < 20_000
end

depth = ARGV[0].to_i
puts "ready"
$stdout.flush
left(depth) while true
