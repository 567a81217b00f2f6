# frozen_string_literal: true
# SPDX-License-Identifier: BSD-2-Clause
# Samples of extprof have the ids of OpenTelemetry's current span: extprof report FILE --trace ID, --group-by trace,span.
# See docs/traces.md.
#
#   require "opentelemetry/sdk"
#   require_relative "opentelemetry_context"
#
# OpenTelemetry keeps a stack of contexts for each fiber.  Whenever it changes, the ids of the span on its top are written
# into the record of that fiber, whose address the fiber has.  Nothing is to be done when fibers switch.
require "fiddle"
require "opentelemetry"

module OpenTelemetryContext
  # Of the patched ruby.  The GVL has to be held: it stores at the fiber that runs.
  SET = begin
    Fiddle::Function.new(Fiddle::Handle::DEFAULT["rb_profile_context_set"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID, need_gvl: true)
  rescue Fiddle::DLError
    nil
  end

  # A record of OTEP 4947: 16 bytes of the trace, 8 of the span, 1 if it is valid, a reserved one, 2 for the size of attributes.
  class Record
    SIZE, IDS, VALID = 28, 24, 24
    NONE = ("\0" * IDS).b

    def initialize
      @memory = Fiddle::Pointer.malloc(SIZE, Fiddle::RUBY_FREE)
      @memory[0, SIZE] = "\0" * SIZE
      self.ids = NONE
      SET.call(@memory)
    end

    # Who reads meanwhile sees that it is not valid.
    def ids=(ids)
      return if ids == @ids

      @memory[VALID] = 0
      @memory[0, IDS] = ids
      @memory[VALID] = 1
      @ids = ids
    end
  end

  # In front of OpenTelemetry::Context's own methods: the others of it call these.
  def attach(...) = super.tap { OpenTelemetryContext.publish }
  def detach(...) = super.tap { OpenTelemetryContext.publish }
  def clear(...) = super.tap { OpenTelemetryContext.publish }

  def self.publish
    # OpenTelemetry knows spans in the main ractor alone.
    return unless Ractor.current == Ractor.main

    span = OpenTelemetry::Trace.current_span.context
    fiber = Fiber.current
    # The fiber keeps its record: both end together.
    (fiber.extprof_record ||= Record.new).ids = span.valid? ? span.trace_id + span.span_id : Record::NONE
  end

  if SET
    Fiber.attr_accessor :extprof_record
    OpenTelemetry::Context.singleton_class.prepend(self)
  end
end
