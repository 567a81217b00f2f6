# A stack of known depth: <main>, ARGV[0] times `down`, `bottom`.
def down(n) = n > 1 ? down(n - 1) : bottom

def bottom
  puts caller_locations(0).size
  $stdout.flush
  while true
  end
end

down(ARGV[0].to_i)
