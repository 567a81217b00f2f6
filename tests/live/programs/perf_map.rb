# Machine code in memory that belongs to no file, as a JIT makes it: two functions that count down, called 2:1 in what they
# count.  The map says which they are; the test has another name for it, or makes it wrong.  With an argument the code is in that
# file, which is no program.
require "fiddle"

PAGE = 4096
mmap = Fiddle::Function.new(Fiddle::Handle::DEFAULT["mmap"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T] + [Fiddle::TYPE_INT] * 3 +
  [Fiddle::TYPE_LONG], Fiddle::TYPE_VOIDP)
file = ARGV[0] && File.open(ARGV[0], "w+b")
file&.write("\0" * PAGE)
file&.flush
# Readable, writable, executable; private and of no file, or shared and of the file.
memory = mmap.call(nil, PAGE, 7, file ? 1 : 0x22, file ? file.fileno : -1, 0)
# mov rcx, rdi; L: dec rcx; jnz L; ret
code = [0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3].pack("C*")
heavy, light = [64, 128].map do |at|
  memory[at, code.size] = code
  Fiddle::Function.new(memory + at, [Fiddle::TYPE_LONG], Fiddle::TYPE_VOID)
end

def heavy_one(f, n) = f.call(n)
def light_one(f, n) = f.call(n)

$stdout.sync = true
puts "ready %x %x %x %d" % [memory.to_i + 64, memory.to_i + 128, code.size, Process.pid]
while $stdin.gets
  case $_
  when "exec\n"
    exec("/proc/self/exe", $0, *ARGV)
  when "fork\n"
    # The child goes on here.
    pid = fork
    pid ? Process.wait(pid) && exit : puts("child %d" % Process.pid)
    next
  end
  till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + $_.to_f
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
    heavy_one(heavy, 2_000_000)
    light_one(light, 1_000_000)
  end
  puts "done"
end
