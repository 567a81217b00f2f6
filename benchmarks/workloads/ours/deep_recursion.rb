# Down five thousand frames and up again: more of the VM stack than the caches hold.
def down(n, a) = n == 0 ? a : down(n - 1, a + n) + 1

def blocks(n, &b) = n == 0 ? b.call : [n].each { |x| return blocks(x - 1, &b) + 1 }

Workload.run(20) do
  sum = 0
  12.times { sum += down(5000, 0) }
  4.times { sum += blocks(1000) { 1 } }
  sum
end
