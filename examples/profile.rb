#!/usr/bin/env ruby
# SPDX-License-Identifier: BSD-2-Clause
# Profile a process with libextprof from Ruby, without compiling anything: profile.rb PID SECONDS [FORMAT]
# Any language with a foreign function interface can do the same. It prints the profile, folded by default.
require "fiddle/import"

module Extprof
  extend Fiddle::Importer
  dlload ENV.fetch("LIBEXTPROF", "libextprof.so.0.1")
  extern "int extprof_options_create(void **)"
  extern "int extprof_options_set(void *, const char *, const char *, void *)"
  extern "void *extprof_options_get(void *)"
  extern "void extprof_options_destroy(void *)"
  extern "int extprof_recording_create(void **, void *, void *)"
  extern "int extprof_recording_open(void *, void *)"
  extern "int extprof_recording_begin(void *, void *)"
  extern "int extprof_recording_run(void *, void *)"
  extern "int extprof_recording_finish(void *, void *)"
  extern "int extprof_recording_write_to(void *, const char *, void *, void *, void *, void *)"
  extern "void extprof_recording_destroy(void *)"

  # A size, a code, a text and more: see struct extprof_error. A larger size than is needed is fine.
  Error = struct ["size_t size", "int code", "char text[640]", "char hint[640]", "int advice", "long advice_value"]
end

error = Extprof::Error.malloc(Fiddle::RUBY_FREE)
error.size = Extprof::Error.size
check = ->(status) { abort "profile.rb: #{error.text.pack("c*").unpack1("Z*")}" if status < 0 }
made = ->(pointer) { Fiddle::Pointer.new(pointer[0, Fiddle::SIZEOF_VOIDP].unpack1("J")) }
place = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)

pid, seconds, format = ARGV
format ||= "folded"
abort "usage: profile.rb PID SECONDS [FORMAT]" unless seconds
check[Extprof.extprof_options_create(place)]
options = made[place]
{ "pid" => pid, "duration" => seconds, "rate" => "999" }.each do |name, value|
  check[Extprof.extprof_options_set(options, name, value, error)]
end
check[Extprof.extprof_recording_create(place, Extprof.extprof_options_get(options), error)]
recording = made[place]
%i[open begin run finish].each { |step| check[Extprof.send("extprof_recording_#{step}", recording, error)] }
writer = Fiddle::Closure::BlockCaller.new(Fiddle::TYPE_INT, [Fiddle::TYPE_VOIDP] * 2 + [Fiddle::TYPE_SIZE_T]) do |_, data, size|
  $stdout.write(data[0, size])
  0
end
check[Extprof.extprof_recording_write_to(recording, format, nil, writer, nil, error)]
Extprof.extprof_recording_destroy(recording)
Extprof.extprof_options_destroy(options)
