# One kind of call each, for slopes. The parent gives a kind's name and a length n: the
# body runs in a loop in a method, as YJIT never compiles a loop outside one; the ends of
# a run of n and of one of 2n are marked with getsid, which the counter knows.
#
# frames says how many frames one turn of the body pushes, and who pushes them:
#   i  the interpreter or C code, a Ruby frame      c  the same, a C frame or ifunc
#   j  code that YJIT made, any frame
# and e how often C calls code that YJIT made, which keeps a frame pointer then. Only where
# the frames leave no room for it.
# yjit is what YJIT makes of it; by default it makes all of them.

Kind = Struct.new(:name, :frames, :yjit, :defs, :locals, :body)
KINDS = {}

def kind(name, frames, body, defs: "", locals: "", yjit: nil)
  yjit ||= "j#{frames.scan(/\d+/).sum(&:to_i)}"
  KINDS[name] = Kind.new(name, frames, yjit, defs, locals, body)
end

# Without a frame: what is not paid for here must not cost anything.
kind "loop", "", ""
kind "integer_plus", "", "i + i"
kind "ivar", "", "@a = i; @a"
kind "constant", "", "Float"
kind "attr_reader", "", "o.a", defs: "class O; attr_accessor :a; end", locals: "o = O.new"
kind "attr_writer", "", "o.a = i", defs: "class O; attr_accessor :a; end", locals: "o = O.new"
kind "struct_reader", "", "o.a", defs: "S = Struct.new(:a)", locals: "o = S.new(1)"
kind "leaf_builtin", "", "x.first", locals: "x = [1]"
kind "array_aref", "", "x[0]", locals: "x = [1]"
kind "hash_aref", "", "x[:a]", locals: "x = {a: 1}"
kind "string_interp", "", '"a#{i}b"', yjit: "j1" # it calls Integer#to_s

# One Ruby frame.
kind "method", "i1", "m(i)", defs: "def m(a) = a + a"
kind "method_empty", "i1", "m", defs: "def m; end", yjit: ""
kind "method_6_args", "i1", "m(i, 2, 3, 4, 5, 6)", defs: "def m(a, b, c, d, e, f) = a + f"
kind "method_locals", "i1", "m(i)", defs: "def m(a); b = c = d = e = f = a; b + f; end"
kind "optional", "i1", "m(i)", defs: "def m(a, b = 2) = a + b"
kind "kwargs", "i1", "m(a: i)", defs: "def m(a:, b: 2) = a + b"
kind "kwargs_splat", "i1", "m(**h)", defs: "def m(a:, b: 2) = a + b", locals: "h = {a: 1}"
kind "splat", "i1", "m(*x)", defs: "def m(*a) = a", locals: "x = [1, 2]"
kind "splat_to_fixed", "i1", "m(*x)", defs: "def m(a, b) = a + b", locals: "x = [1, 2]"
kind "yield", "i1", "yield i"
kind "bmethod", "i1", "m(i)", defs: "self.class.define_method(:m) { |a| a + a }"
kind "proc_call", "i1", "x.call(i)", locals: "x = proc { |a| a + a }", yjit: "i1"
kind "lambda_call", "i1", "x.(i)", locals: "x = ->(a) { a + a }", yjit: "i1"
kind "send", "i1", "__send__(:m, i)", defs: "def m(a) = a + a"
kind "method_missing", "i1", "o.x(i)", yjit: "i1",
     defs: "class O; def method_missing(n, a) = a + a; end", locals: "o = O.new"
kind "begin_rescue", "i1", "begin; m(i); rescue; 0; end", defs: "def m(a) = a + a"
kind "refined", "i1", "o.m(i)", locals: "o = O.new", yjit: "i1",
     defs: "class O; end; module R; refine(O) { def m(a) = a + a }; end; using R"
kind "to_s_interp", "i1", '"#{o}"', yjit: "i1", defs: "class O; def to_s = 'o'; end", locals: "o = O.new"
kind "class_body", "i1", "O.open", yjit: "i1 j1", defs: "class O; def self.open; class << self; end; end; end"

# Several.
kind "block", "i2", "m { i }", defs: "def m = yield"
kind "block_call", "i2", "m { i }", defs: "def m(&b) = b.call", yjit: "j1 i1"
kind "super", "i2", "o.m(i)", locals: "o = P.new",
     defs: "class O; def m(a) = a + a; end; class P < O; def m(a) = super(a); end"
kind "zsuper", "i2", "o.m(i)", locals: "o = P.new",
     defs: "class O; def m(a) = a + a; end; class P < O; def m(a) = super; end"
kind "forward", "i2", "m(i)", yjit: "j1 i1", defs: "def n(a) = a + a; def m(...) = n(...)"
kind "ensure", "i2", "begin; m(i); ensure; m(i); end", defs: "def m(a) = a + a"
kind "times", "i2", "1.times { i }"

# C functions.
kind "cfunc", "c1", "x.include?(1)", locals: "x = [1]"
kind "cfunc_ord", "c1", "x.ord", locals: "x = 'a'"
kind "each", "c1 i1", "x.each { i }", locals: "x = [1]"
kind "map", "c1 i1", "x.map { i }", locals: "x = [1]"
kind "any", "c1 i1", "x.any? { i }", locals: "x = [1]", yjit: "j1 i1"
kind "hash_each", "c1 i1", "x.each { i }", locals: "x = {a: 1}", yjit: "j1 i1"
kind "map_symproc", "c2", "x.map(&:ord)", locals: "x = ['a']", yjit: "j1 c1"
kind "each_with_index", "c4 i2", "x.each_with_index { i }", locals: "x = 1..2", yjit: "j1 c3 i2"
kind "method_object", "c1 i1", "x.call(i)", defs: "def m(a) = a + a", locals: "x = method(:m)", yjit: "j1 i1 e1"
kind "public_send", "c1 i1", "public_send(:m, i)", defs: "public def m(a) = a + a", yjit: "j1 i1"
kind "instance_exec", "c1 i1", "instance_exec { i }", yjit: "j1 i1"
kind "comparable", "c1 i1", "o > o", yjit: "j1 i1 e1", locals: "o = O.new; p = O.new",
     defs: "class O; include Comparable; def <=>(b) = 1; end"
kind "object_new", "c2", "Object.new", yjit: "j1 c1"
kind "new_initialize", "c1 i1", "O.new(i)", defs: "class O; def initialize(a) = @a = a; end", yjit: "j1 i1"
kind "catch_throw", "c2 i1", "catch(:a) { throw :a }", yjit: "c2 i1"
kind "raise", "c4 i1", "begin; raise 'x'; rescue; 0; end", yjit: "c4 i1"
# The fiber's own loop is in a block that runs once, so YJIT does not compile it.
kind "fiber_switch", "c2", "x.resume", yjit: "j1 c1", locals: "x = Fiber.new { Fiber.yield while true }"

if __FILE__ == $0
  kind = KINDS.fetch(ARGV[0])
  n = Integer(ARGV[1])
  # Method tables are hashed by the numbers of symbols: let these vary with the seed.
  (ENV["FIXSEED"].to_i * 7).times { |k| eval ":pad#{k}" }
  eval <<~RUBY, TOPLEVEL_BINDING
    #{kind.defs}
    def run(n)
      #{kind.locals}
      i = 0
      while i < n
        #{kind.body}
        i += 1
      end
    end
    def go(n) = run(n) { |a| a + a }
  RUBY
  compiled = -> { defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? RubyVM::YJIT.runtime_stats[:compiled_iseq_count] : 0 }
  # Long enough for YJIT to compile all of it, a short one last for the calls it makes late.
  40.times { go(40) }
  3.times { go(1000) }
  GC.start
  GC.disable
  before = compiled.call
  go(10)
  Process.getsid(0)
  go(n)
  Process.getsid(0)
  go(2 * n)
  Process.getsid(0)
  abort "YJIT still compiled during the count" unless compiled.call == before
end
