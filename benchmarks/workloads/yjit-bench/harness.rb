# What yjit-bench's programs require as "harness" (-I comes before its own): one round is
# one of their iterations. Only what the programs call is here.
require "rbconfig"
Random.srand(1337)

def run_benchmark(_hint, **) = Workload.run(1) { yield; nil }
def is_macos = false

def setup_cmds(commands)
  commands.each { |c| system(c, out: File::NULL) or raise "#{c} failed in #{Dir.pwd}" }
end

# The gems are installed beforehand (BENCH_ROLE=setup): a counted process installs nothing.
def use_gemfile(extra_setup_cmd: nil)
  setup_cmds([extra_setup_cmd].compact) if Workload::ROLE == "setup"
  require "bundler/setup"
  # An installed ruby has its own libraries behind the gems; here they are in RUBYLIB, before them, and a
  # default gem would hide the one that was resolved (prism for rubocop).
  own = ENV.fetch("RUBYLIB", "").split(":")
  $LOAD_PATH.replace($LOAD_PATH.partition { |dir| !own.include?(dir) }.flatten)
end
