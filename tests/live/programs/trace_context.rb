# The address of a record of OpenTelemetry's thread context for the fiber that runs, by rb_profile_context_set().
require "fiddle"

module TraceContext
  FUNCTION = Fiddle::Handle::DEFAULT
  # With the GVL: the function stores at the EC that runs.
  SET = Fiddle::Function.new(FUNCTION["rb_profile_context_set"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID, need_gvl: true)
  GET = Fiddle::Function.new(FUNCTION["rb_profile_context_get"], [], Fiddle::TYPE_VOIDP, need_gvl: true)

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
