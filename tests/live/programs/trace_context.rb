# The address of a record of OpenTelemetry's thread context for the fiber that runs, by rb_profile_context_set(); or, with
# TRACE_LIBRARY, for the native thread that runs, in a thread-local variable of that library (trace_library.c).
require "fiddle"

module TraceContext
  # With the GVL: the function stores at the EC that runs.
  def self.functions(handle, set, get)
    [Fiddle::Function.new(handle[set], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID, need_gvl: true),
     Fiddle::Function.new(handle[get], [], Fiddle::TYPE_VOIDP, need_gvl: true)]
  end
  OF_FIBERS = functions(Fiddle::Handle::DEFAULT, "rb_profile_context_set", "rb_profile_context_get")

  def self.load_library = functions(Fiddle.dlopen(ENV["TRACE_LIBRARY"]), "trace_set", "trace_get")
  # TRACE_LATE: the library is loaded when the program is told to.
  SET, GET = ENV["TRACE_LIBRARY"] && !ENV["TRACE_LATE"] ? load_library : OF_FIBERS

  # 28 bytes: trace, span, 1 if it is valid, a reserved byte, and the size of attributes, which follow.
  def self.record(trace, span, valid: 1, attributes: 0) = [trace, span, valid, 0, attributes].pack("H32H16CCS")

  # The memory of a record: it is never freed.
  def self.memory(trace, span, **more)
    text = record(trace, span, **more)
    Fiddle::Pointer.malloc(text.bytesize).tap { |p| p[0, text.bytesize] = text }
  end

  def self.with(address)
    before = GET.call
    SET.call(address)
    yield
  ensure
    SET.call(before)
  end
end
