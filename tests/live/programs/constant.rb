# One stack that stays the same: it is in one long call in C.
def outer(n) = middle(n)
def middle(n)
  [n].each do |m|
    inner(m)
  end
end
def inner(n)
  begin
    raise "x"
  rescue
    forever(n)
  end
end
# Backtracking without a cache: the backreference forbids it.
def forever(n) = ("b" + "a" * n).match?(/\Ab(?:(a+)+)+\1b\z/)

$stdout.sync = true
puts "ready"
outer(ARGV[0].to_i)
