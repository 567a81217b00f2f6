# 5b. A native function by Fiddle, and then a Ruby method that returns quickly: each has its own time.
require "fiddle"
LENGTH = Fiddle::Function.new(Fiddle::Handle::DEFAULT["strlen"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_SIZE_T)
TEXT = Fiddle::Pointer["x" * 200_000_000]

def native = LENGTH.call(TEXT)
def after = Thread.current

def burns(n)
  i = 0
  i += 1 while i < n
end

called = rest = 0.0
Truth.measure do
  while called + rest < 1.0
    from = Truth.thread_cpu
    native
    middle = Truth.thread_cpu
    after
    burns(200_000)
    called += middle - from
    rest += Truth.thread_cpu - middle
  end
end
Truth.tell([{ "what" => "share of the native call", "kind" => "share", "leaf" => "\\bcall\\z", "among" => "\\b(native|after|burns)\\z",
              "truth" => called / (called + rest) }])
