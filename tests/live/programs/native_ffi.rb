# Calls a library by the gem ffi, which calls Ruby again; see native_ffi.c: ruby native_ffi.rb LIBRARY TURNS
# Says after each line how much CPU time each kind of work took, and how long it has waited, in ns.
require "ffi"
$stdout.sync = true
KINDS = %i[plain calls blockings threads sorts deep]
SIZE = 10 * ARGV[1].to_i
module Lib
  extend FFI::Library
  ffi_lib ARGV[0]
  callback :answer, %i[long], :long
  attach_function :work, :lib_work, %i[long], :long
  attach_function :took, :lib_took, %i[long], :long
  attach_function :forget, :lib_forget, [], :void
  attach_function :calls, :lib_calls, %i[answer long], :long
  attach_function :blocking, :lib_calls, %i[answer long], :long, blocking: true
  attach_function :thread, :lib_thread, %i[answer long], :long, blocking: true
  ffi_lib "c"
  callback :compare, %i[pointer pointer], :int
  attach_function :qsort, %i[pointer size_t size_t compare], :void
end
LIST = FFI::MemoryPointer.new(:int, 8)
def answers(n) = Lib.work(n)
def callback = FFI::Function.new(:long, %i[long]) { |n| answers(n) }
def waiter = FFI::Function.new(:long, %i[long]) { |n| waits(n) }
def waits(n)
  from = now
  sleep(n / 1e6)
  $waited += now - from
  n
end
# Five times Ruby, ffi, C and a closure.
def downs = FFI::Function.new(:long, %i[long]) { |n| ($depth -= 1).zero? ? answers(n) : down(n) }
def down(n) = Lib.calls(DOWNS, n)
CALLBACK, DOWNS, WAITER = callback, downs, waiter

def plain = Lib.work(SIZE)
def calls = Lib.calls(CALLBACK, SIZE + 1)
def blockings = Lib.blocking(CALLBACK, SIZE + 2)
def threads = Lib.thread(CALLBACK, SIZE + 3)
def sorts
  LIST.write_array_of_int((0...8).map { |i| i * 5 % 8 })
  Lib.qsort(LIST, 8, 4) { |a, b| Lib.work(SIZE / 50 * 10 + 4); a.read_int <=> b.read_int }
end
def deep
  $depth = 5
  down(SIZE + 5)
end
def sleeps = Lib.calls(WAITER, 20_000)
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

$waited = 0
(KINDS + %i[sleeps]).each { |k| __send__(k) }
Lib.forget
$waited = 0
puts "ready"
while (line = $stdin.gets)
  *kinds, seconds = line.split
  until_ = now + seconds.to_f
  kinds.each { |k| __send__(k) } while now < until_
  puts KINDS.each_with_index.map { |k, i| "#{k}=#{Lib.took(i)}" }.join(" ") + " foreign=#{Lib.took(7)} waited=#{($waited * 1e9).to_i}"
end
