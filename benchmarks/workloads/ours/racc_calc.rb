# A racc-generated parser, tables and all, run by racc's pure Ruby runtime.
require "racc/grammarfileparser"
Racc_No_Extensions = true unless defined?(Racc_No_Extensions)
require "racc"
GRAMMAR = <<~'Y'
  class Calc
  prechigh
    left '*' '/'
    left '+' '-'
  preclow
  rule
    target: exp
    exp: exp '+' exp { result = val[0] + val[2] }
       | exp '-' exp { result = val[0] - val[2] }
       | exp '*' exp { result = val[0] * val[2] }
       | '(' exp ')' { result = val[1] }
       | NUMBER
  end
  ---- inner
    def parse(tokens)
      @tokens = tokens.dup
      do_parse
    end
    def next_token = @tokens.shift
Y
# The generator makes the parser once; it is a program of its own kind.
result = Racc::GrammarFileParser.new.parse(GRAMMAR, "calc.y")
states = Racc::States.new(result.grammar).nfa
result.params.filename = "calc.y"
eval Racc::ParserFileGenerator.new(states, result.params).generate_parser

text = Array.new(60) { |i| "(#{i} + 3) * #{i % 7} - 4" }.join(" + ")
tokens = text.scan(/\d+|\S/).map { |t| t =~ /\d/ ? [:NUMBER, t.to_i] : [t, t] } << [false, nil]
calc = Calc.new
Workload.run(20) { 5.times.sum { calc.parse(tokens) } }
