# One interpreted and one YJIT call as machine code, both sides: what a push consists of.

require "tempfile"
require_relative "jobs"

module Bench
  module Disasm
    FUNCTION = "vm_call_iseq_setup_normal_0start_1params_1locals"
    PROGRAM = File.expand_path("../workloads/disasm.rb", __dir__)

    module_function

    def interpreted(side)
      text = tool("objdump", "-d", "--no-show-raw-insn", "--disassemble=#{FUNCTION}", side.exe)
      text.lines.grep(/^\s+\h+:\s/).map { |l| l.sub(/^\s+\h+:\s+/, "").rstrip }
    end

    # The frame's address is in r13, ec's in r12; 0x10(%r12) is ec->cfp.
    def yjit(side)
      Tempfile.create("jit") do |file|
        outcome = Jobs.run(side.env, side.command("yjit", [PROGRAM, file.path]))
        raise Refused, "disassembling YJIT's code: #{outcome.error}" if outcome.error
        base, code = File.binread(file.path).split("\n", 2)
        File.binwrite(file.path, code)
        text = tool("objdump", "-D", "--no-show-raw-insn", "-b", "binary", "-m", "i386:x86-64", "--adjust-vma=0x#{base}", file.path)
        lines = text.lines.grep(/^\s+\h+:\s/).map { |l| l.sub(/^\s+\h+:\s+/, "").rstrip }
        frame(lines)
      end
    end

    # The last push in the code: where ec->cfp is stored right after the frame's address was
    # lowered, and what leads to it from the stores of the last two words of ep: two constants, or one pair.
    def frame(lines)
      ends = (1...lines.size).select { |i| lines[i] =~ /\Amov\s+%r13,0x10\(%r12\)/ && lines[i - 1] =~ /\Asub\s+\$0x\h+,%r13/ }
      return ["(no push found)"] if ends.empty?
      from = (0..ends.last).select { |i| lines[i + 1] =~ /\Amovq\s+\$0x1111\h{4},|\Amovups\s+%xmm/ }.last || [ends.last - 24, 0].max
      lines[from..ends.last]
    end

    def tool(*command)
      outcome = Jobs.run({ "PATH" => ENV.fetch("PATH"), "LC_ALL" => "C" }, command)
      raise Refused, "#{command[0]}: #{outcome.error}" if outcome.error
      outcome.out
    end

    # Without what follows its return: padding and a full stack.
    def length(lines) = (lines.index("ret") || lines.size - 1) + 1

    def print(sides)
      { "interpreted call, #{FUNCTION}" => :interpreted, "YJIT's push of a method's frame" => :yjit }.each do |title, how|
        columns = sides.map { |s| send(how, s) }
        puts "", title, "%-66s %s" % sides.map { |s| "#{s.name}, #{length(send(how, s))} instructions" }
        columns.map(&:size).max.times { |i| puts ("%-66s %s" % columns.map { |c| c[i].to_s[0, 65] }).rstrip }
      end
    end
  end
end
