# As spring does it: the program is loaded once, and each run of its tests is a child of that process.
require ENV.fetch("TRUTH_RB")
require "rspec/core"

class Account
  def balance = burn(0.1, :balance)
end

3.times do |run|
  Process.wait fork {
    RSpec.configuration.output_stream = File.open(File::NULL, "w")
    exit! RSpec::Core::Runner.run([ENV.fetch("SPEC")])
  }
  abort "run #{run}: #{$?}" unless $?.success?
end
