# The gate's own test: stock ruby with some instructions more in vm_push_frame must come out
# red; stock linked in another order must not.

require_relative "links"

module Bench
  module Plant
    LINE = "rb_control_frame_t *const cfp = RUBY_VM_NEXT_CONTROL_FRAME(ec->cfp);"

    module_function

    # Turns on the address of the new frame, so many there and so many back: each waits for
    # the one before, and all that is stored to the frame waits for the last.
    def code(turns) = (["rol $1, %0"] * turns + ["ror $1, %0"] * turns).join("; ")

    def helper(source, turns)
      text = File.read(File.join(source, "vm_insnhelper.c"))
      start = text.index(/^vm_push_frame(_id)?\(/) or raise Refused, "#{source}: no vm_push_frame"
      at = text.index(LINE, start)
      raise Refused, "#{source}: vm_push_frame looks different" unless at && at - start < 2500
      text[at, LINE.size] = <<~C.strip
        rb_control_frame_t *planted = RUBY_VM_NEXT_CONTROL_FRAME(ec->cfp);
            __asm__ volatile ("#{code(turns)}" : "+r" (planted));
            rb_control_frame_t *const cfp = planted;
      C
      text
    end

    # A side like `side` whose vm.o is compiled with it. Two more are the relinks alone.
    def make(side, dir, turns)
      object = File.join(dir, "vm.o")
      text = helper(side.source, turns)
      current = File.exist?(object) && File.read(File.join(dir, "vm_insnhelper.c")) == text &&
                File.mtime(object) > File.mtime(File.join(side.build, "vm.o"))
      object = Relink.compile_vm(side.build, side.source, dir, text) unless current
      { "vm.o" => object }
    end
  end
end
