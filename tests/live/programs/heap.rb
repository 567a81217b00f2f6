# Objects that stay, made by methods of known names among ten times as many that do not.  After "go" it makes them, says
# "kept METHOD BYTES OBJECTS SLOT" of each method by ObjectSpace, and lives on.
require "objspace"

class Small; def initialize = @a = 1; end
class Wide; def initialize = @a = @b = @c = @d = @e = @f = @g = @h = @i = @j = nil; end

# The lists are made before the recording: one of them is a slot of 40 bytes and has much memory besides, so a sample of it
# would stand for more than all that it keeps.
KEPT = %i[keep_small keep_wide keep_string keep_array keep_hash keep_grown].to_h { |method| [method, []] }
SLOTS = {}
def keep_small = KEPT[:keep_small] << Small.new
def keep_wide = KEPT[:keep_wide] << Wide.new
def keep_string = KEPT[:keep_string] << "s" * 300
def keep_array = KEPT[:keep_array] << [1] * 60
def keep_hash = KEPT[:keep_hash] << { a: 1, b: 2 }
def keep_grown = KEPT[:keep_grown] << String.new
def garbage = (Small.new; "g" * 300; [2] * 60; { c: 3 }; Wide.new; nil)

def slot(object) = ObjectSpace.dump(object)[/"slot_size":(\d+)/, 1].to_i

# At one sample for each KiB, 100 of each are more than a thousand samples: whoever reads them gets a moment, also where
# others want the CPU.
def make(n, rest: 0.005)
  n.times do |i|
    sleep rest if rest > 0 && i % 100 == 99
    keep_small
    keep_wide
    keep_string
    keep_array
    keep_hash
    keep_grown
    10.times { garbage }
    yield i if block_given?
  end
  # As they were made.
  KEPT.each { |name, list| SLOTS[name] ||= slot(list[-1]) }
  KEPT[:keep_grown].each { |s| s << "more" * 100 if s.empty? }
end

def tell
  KEPT.each { |name, list| puts "kept #{name} #{list.sum { |o| ObjectSpace.memsize_of(o) }} #{list.size} #{SLOTS[name]}" }
  puts "told"
end

STDOUT.sync = true
if __FILE__ == $0
  puts "ready"
  $stdin.gets
  make(Integer(ARGV[0] || 10_000))
  GC.start
  # What moves can become smaller or larger, and the next collection tells it.
  (GC.compact; GC.start) if ARGV[1] == "compact"
  tell
  sleep
end
