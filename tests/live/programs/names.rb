# One frame of every kind that has a name of its own. See spot.rb.
load File.join(__dir__, "spot.rb")

# Before Ruby 3.4 it is no parameter of a block.
def it = nil

class Plain
  def instance_method = spot
  def self.singleton_method = spot
  class << self
    def in_singleton_class = spot
    private def private_one = spot
    def calls_private = private_one
  end
  # More of them than a name is deep.
  def self.deep_evals(left) = eval(DEEP, binding, "/names/deep.rb")
  DEEP = "(left -= 1) > 0 ? eval(Plain::DEEP, binding, %(/names/deep.rb)) : spot"
  def self.block_in_singleton = [1].each { spot }
  def blocks
    [1].each do
      spot
      [1].each do
        spot
        [1].each { spot }
      end
    end
  end
  def in_lambda = -> { spot }.call
  def rescued
    raise "x"
  rescue
    spot
    [1].each { spot }
  end
  def ensured
    [1].each do
      return 1
    ensure
      spot
    end
  end
  def block_rescued
    [1].each do
      raise "x"
    rescue
      spot
    end
  end
  def nested_rescue
    raise "x"
  rescue
    begin
      raise "y"
    rescue
      spot
    end
  end
  def optional(a = spot, *b, k: spot, **o, &c) = spot
  def evaluated = eval("spot", binding, "/names/eval.rb", 7)
  def evaluated_block = eval("[1].each do\n  spot\nend", binding, "/names/eval_block.rb", 40)
  def evaluated_in_block = [1].each { eval("spot", binding, "/names/eval_in_block.rb", 3) }
  def original = spot
  alias aliased original
  alias_method :aliased_again, :aliased
  define_method(:defined) { spot }
  define_method(:defined_blocks) { [1].each { spot } }
  define_method(:defined_from_method, instance_method(:original))
  define_method(:"with blanks; and \"quotes\"") { spot }
  define_method(:größe) { spot }
  define_method("long_" + "x" * 600) { spot }
  def method_missing(name, ...) = name == :missing_one ? spot : super
  def respond_to_missing?(*) = (spot; true)
  def +(other) = spot
  def -@ = spot
  def [](i) = spot
  def []=(i, j)
    spot
  end
  def <=>(other) = (spot; 0)
  def !~(other) = spot
  def `(text) = spot
  def backtick = `x`
  def setter=(value)
    spot
  end
  def question? = spot
  def bang! = spot
  def to_s = (spot; "s")
  def to_proc = (spot; proc { spot })
  def coerce(n) = (spot; [1, 2])
  def hash = (spot; 1)
  def ===(other) = (spot; true)
  def call(*) = spot
  def each = (spot; yield 1)
  include Comparable
  include Enumerable
  def self.const_missing(name) = (spot; 1)
  def self.inherited(by) = (spot; super)
  protected def protected_one = spot
  def calls_protected = protected_one
  def initialize_copy(from) = spot
end

class Plain::Inner
  def method = spot
  def self.method_of_class = spot
  class Deeper
    class << self
      def deep = spot
    end
  end
end

class Child < Plain
  def instance_method = super
  def self.singleton_method = super
  def initialize(*) = spot
end

module Included
  def included_method = spot
  def both = spot
end
module Prepended
  def both = (super; spot)
end
class Mixed
  include Included
  prepend Prepended
  def both = (super; spot)
  extend Included
end

module Functions
  module_function
  def function = spot
  def deep_evals(left) = eval(Plain::DEEP, binding, "/names/deep.rb")
  def self.own = spot
end
class UsesFunctions
  include Functions
  def call_it = function
  def call_deep = deep_evals(70)
end

class Reopened
  def before = spot
end
Copy = Reopened.dup
Cloned = Reopened.clone
class Copy
  def only_in_copy = spot
end

ANONYMOUS = Class.new { def m = spot }.new
ANONYMOUS_CHILD = Class.new(Plain) { def m = spot }.new
ANONYMOUS_GRANDCHILD = Class.new(Class.new(Plain)) { def m = spot }.new
ANONYMOUS_CLASS_METHOD = Class.new.tap { |c| def c.m = spot }.new
ANONYMOUS_SINGLETON = Class.new(Plain).new.tap { |o| def o.m = spot }
module_in = Module.new { def m = spot; def self.own = spot }
IN_MODULE = Object.new.extend(module_in)
ANONYMOUS_NESTED = Module.new.tap { |m| m.const_set(:Within, Class.new { def m = spot }) }
ANONYMOUS_CLASS_SINGLETON = Class.new(Plain) { class << self; def m = spot; end }
NAMED_LATER = Class.new { def m = spot }
NamedThen = NAMED_LATER
TEMPORARY = Class.new { def m = spot }.tap { |c| c.set_temporary_name("fake<x>") }
SINGLETON = Plain.new
def SINGLETON.m = spot
class << SINGLETON
  def other = spot
  def deep_evals(left) = eval(Plain::DEEP, binding, "/names/deep.rb")
  attr_accessor :a
  define_method(:defined) { spot }
end
STRING = +"x"
def STRING.m = spot
MAIN = self
def self.on_main = spot
META = Plain.singleton_class
def META.meta = spot
OBJECT_META = SINGLETON.singleton_class
def OBJECT_META.meta = spot
Structured = Struct.new(:a) do
  def m = spot
  def initialize(*) = (spot; super)
end
Dated = Data.define(:a) do
  def m = spot
  def initialize(a:) = (spot; super)
end
UNNAMED_STRUCT = Struct.new(:a) { def m = spot }.new(1)

module Refines
  refine(Plain) { def refined = spot }
  refine(Plain.singleton_class) { def refined_class_method = spot }
  refine(Integer) { def refined = [1].each { spot } }
  refine(Included) { def refined_in_module = spot }
end
REFINES_ANONYMOUSLY = Module.new { refine(String) { def refined_anonymously = spot } }
# The name of each holds the one before twice: 4 of them are shown in part, 10 are more than a name may have.
def refine_refinements(n)
  n.times.inject([Module.new, String]) do |(mod, target), _|
    refined = nil
    mod.module_eval { refine(target) { refined = self } }
    [refined.const_set(:M, Module.new), refined]
  end.last
end
REFINED_REFINEMENTS = [4, 10].map { |n| refine_refinements(n).tap { |r| r.define_singleton_method(:m) { spot } } }
using Refines
using REFINES_ANONYMOUSLY

def toplevel = spot
define_method(:toplevel_defined) { spot } rescue self.class.send(:define_method, :toplevel_defined) { spot }
LAMBDA = ->(*) { spot }
PROC = proc { [1].each { spot } }
HASH = Hash.new { spot }

plain = Plain.new
path = File.join(__dir__, "names_loaded.rb")
RubyVM::InstructionSequence.compile("def tail_called = spot", "/names/iseq.rb", "/names/iseq.rb", 12).eval
binary = RubyVM::InstructionSequence.compile("module FromBinary; def self.m = [1].each {\n  spot }\nend",
                                             "/names/binary.rb", "/names/binary.rb", 100).to_binary
RubyVM::InstructionSequence.load_from_binary(binary).eval
Plain.class_eval "def from_string = spot", "/names/class_eval.rb", 9
Plain.class_eval { def from_class_eval = spot }
Plain.class_exec { spot }
SINGLETON.instance_eval "def self.from_instance_eval = spot", "/names/instance_eval.rb", 11
# From the second on it is code of several methods, and named so.
Functions.deep_evals(1)
UsesFunctions.new.call_deep

rounds do
  spot
  plain.instance_method
  Plain.singleton_method
  Plain.in_singleton_class
  Plain.calls_private
  Plain.block_in_singleton
  plain.blocks
  plain.in_lambda
  plain.rescued
  plain.ensured
  plain.block_rescued
  plain.nested_rescue
  plain.optional
  plain.evaluated
  plain.evaluated_block
  plain.evaluated_in_block
  plain.original
  plain.aliased
  plain.aliased_again
  plain.defined
  plain.defined_blocks
  plain.defined_from_method
  plain.send("with blanks; and \"quotes\"")
  plain.größe
  plain.send("long_" + "x" * 600)
  plain.missing_one
  plain.respond_to?(:nothing)
  plain + 1
  -plain
  plain[1]
  plain[1] = 2
  plain < plain
  plain !~ 1
  plain.backtick
  plain.setter = 1
  plain.question?
  plain.bang!
  "#{plain}"
  [1].each(&plain)
  1 + plain
  {plain => 1}
  case 1 when plain then 1 end
  plain.()
  plain.map { spot }
  plain.each_with_index { spot }
  plain.inject(1) { spot }
  Plain::Nothing
  Class.new(Plain)
  plain.calls_protected
  plain.dup
  Plain::Inner.new.method
  Plain::Inner.method_of_class
  Plain::Inner::Deeper.deep
  Child.new(1).instance_method
  Child.singleton_method
  Mixed.new.included_method
  Mixed.new.both
  Mixed.included_method
  Functions.function
  Functions.own
  UsesFunctions.new.call_it
  UsesFunctions.new.call_deep
  Functions.deep_evals(70)
  Plain.deep_evals(70)
  SINGLETON.deep_evals(70)
  Reopened.new.before
  Copy.new.before
  Copy.new.only_in_copy
  Cloned.new.before
  ANONYMOUS.m
  ANONYMOUS_CHILD.m
  ANONYMOUS_GRANDCHILD.m
  ANONYMOUS_CLASS_METHOD.class.m
  ANONYMOUS_SINGLETON.m
  IN_MODULE.m
  module_in.own
  ANONYMOUS_NESTED::Within.new.m
  ANONYMOUS_CLASS_SINGLETON.m
  NAMED_LATER.new.m
  TEMPORARY.new.m
  SINGLETON.m
  SINGLETON.other
  SINGLETON.defined
  STRING.m
  MAIN.on_main
  META.meta
  OBJECT_META.meta
  Structured.new(1).m
  Dated.new(1).m
  UNNAMED_STRUCT.m
  plain.refined
  Plain.refined_class_method
  1.refined
  Mixed.new.refined_in_module
  "x".refined_anonymously
  REFINED_REFINEMENTS.each(&:m)
  toplevel
  toplevel_defined
  LAMBDA.(1)
  PROC.call
  HASH[1]
  tail_called
  FromBinary.m
  plain.from_string
  plain.from_class_eval
  SINGLETON.from_instance_eval
  load path
  load path, true
  eval("class ::Bodied; spot; class << self; spot; end; end", nil, "/names/body.rb", 5)
  eval("module ::BodiedModule; [1].each { spot }; end", nil, "/names/body.rb", 6)
  [1].map { spot }
  [1].select { spot }
  [3].sort_by { spot }
  {1 => 2}.each { spot }
  {1 => 2}.map { spot }
  (1..1).each { spot }
  1.times { spot }
  1.upto(1) { spot }
  loop { spot; break }
  1.tap { spot }
  1.then { spot }
  catch(:x) { spot }
  for i in [1] do spot end
  [1].each { _1; spot }
  [1].each { it; spot }
  "x".gsub(/x/) { spot; "" }
  Array.new(1) { spot }
  1.instance_exec { spot }
  1.instance_eval { spot }
  Plain.class_exec { spot }
  plain.public_send(:original)
  plain.method(:original).call
  plain.method(:original).unbind.bind_call(plain)
  [1].each(&plain.method(:call))
  [plain].each(&:original)
  Fiber.new { spot; Fiber.new { spot }.resume }.resume
  Thread.new { spot; toplevel }.join
  Enumerator.new { |y| spot; y << 1 }.next
  [1].lazy.map { spot }.to_a
  begin
    raise "x"
  rescue
    spot
  ensure
    spot
  end
  while true
    spot
    break
  end
end
