# 4. usleep of libc with the GVL held: a signal would end it early, and the program sees that.
require "fiddle"
USLEEP = Fiddle::Function.new(Fiddle::Handle::DEFAULT["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true)

def sleeps = USLEEP.call(50_000)

interrupted = 0
from = nil
Truth.measure do
  from = Truth.wall
  40.times { interrupted += 1 if sleeps != 0 }
end
Truth.tell([{ "what" => "sleeps of libc that were interrupted, of 40", "kind" => "did", "key" => "interrupted", "truth" => 0 }],
           "fixed" => true, "interrupted" => interrupted)
