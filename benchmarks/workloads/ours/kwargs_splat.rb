# Every way to hand arguments on.
def required(a:, b:) = a + b
def optional(a, b = 2, c: 3) = a + b + c
def rest(*a) = a.size
def both(*a, **k) = a.size + k.size
def forward(...) = optional(...)
def block(*a, &b) = b.call(*a)

list, hash = [1, 2], { a: 1, b: 2 }
Workload.run(20) do
  sum = 0
  i = 0
  while i < 1500
    sum += required(a: i, b: 1) + required(**hash) + optional(i) + optional(i, c: 1)
    sum += rest(*list) + both(*list, **hash) + forward(i, c: 2) + block(i) { |x| x + 1 }
    i += 1
  end
  sum
end
