# The same paths for what is counted, wherever the checkout is. The paths of libraries and scripts are objects of the
# program: their length moves what is allocated after them, and so when the heap grows and when it is collected.

require_relative "jobs"

module Bench
  class Place
    TOOL = File.expand_path("../tools/placed.sh", __dir__)
    # Of one length. The second one is for a checkout that lies in the first.
    AT = %w[/mnt /srv].freeze

    attr_reader :why

    # bench: BUILD/bench. here: the directory of the workloads.
    def initialize(bench, here)
      @bench, @here = bench, here
      @at = AT.find { |at| [bench, here].none? { |d| "#{File.realpath(d)}/".start_with?("#{at}/") } }
      @map = { bench => "#{@at}/bench", here => "#{@at}/here" }.sort_by { |from, _| -from.size }.to_h
      tried = Jobs.run({ "PATH" => "/usr/local/bin:/usr/bin:/bin" }, [*prefix, "true"])
      @why = tried.error
    end

    def usable? = @why.nil?

    # A text with these directories as a command that is placed sees them.
    def map(text) = text.gsub(/(?:#{Regexp.union(@map.keys)})(?=[\/:,]|\z)/, @map)

    # [environment, command]
    def put(env, command)
      return [env, command] unless usable?
      [env.transform_values { |v| map(v) }, [*prefix, *command.map { |w| map(w) }]]
    end

    private

    def prefix = ["sh", TOOL, @at, @bench, @here]
  end
end
