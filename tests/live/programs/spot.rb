# A place on the stack that a test can recognise. For the first rounds each spot says what
# Ruby itself calls the frames that led to it; then it only uses some time.
KNOWN = {}
TURNS = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? 12_000 : 600 # about 15 us
$learning = false

def spot(*)
  if $learning
    stack = caller_locations(1).map { |l| [l.debug_label, l.path, l.lineno] }
    unless KNOWN[stack]
      KNOWN[stack] = true
      puts stack.reverse.map { |frame| frame.join("\x1f") }.join("\x1e")
    end
  end
  i = 0
  i += 1 while i < TURNS
end

# Two rounds to learn all stacks; then "ready", and on until the end.
def rounds
  $learning = true
  2.times { yield }
  $learning = false
  puts "ready"
  $stdout.flush
  yield while true
end
