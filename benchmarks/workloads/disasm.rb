# Writes the machine code that YJIT made for a call to the file ARGV[0], after its address on
# the first line: the text of this process's JIT region between two compiled methods.
def callee(a) = a + a

def caller_of(n)
  i = 0
  while i < n
    callee(i)
    i += 1
  end
end

100.times { caller_of(10) }
File.open(ARGV[0], "wb") do |out|
  memory = File.open("/proc/self/mem", "rb")
  line = File.foreach("/proc/self/maps").find { |l| l =~ /\A\h+-\h+ r-xp 00000000 00:00 0\s*(\[anon:Ruby:rb_yjit_reserve_addr_space\])?\s*\z/ } or
    abort "no JIT region in the memory map"
  from, to = line[/\A\h+-\h+/].split("-").map { |x| x.to_i(16) }
  memory.seek(from)
  out.puts from.to_s(16)
  out.write memory.read([to - from, RubyVM::YJIT.runtime_stats[:code_region_size]].min)
end
