# Results as JSON, with what is needed to read them later: machine, versions, flags. Each witness writes
# its figures when it has them; a run writes all of them and its table to one file at its end.

require "json"
require "fileutils"
require "etc"
require "time"

module Bench
  class Store
    RUN = "run"
    LINE = 240 # what is shorter stays on one line

    # command: what was asked for.
    def initialize(dir, command: nil)
      FileUtils.mkdir_p(@dir = dir)
      @command = command
      @written = {}
    end

    def path(name) = File.join(@dir, "#{name}.json")

    def write(name, data, sides)
      @written[name] = data
      put(name, { "about" => Store.about(sides), "data" => data })
    end

    # report: the table as it is printed. more: of the run. Returns the path.
    def write_run(report, sides, more = {})
      put(RUN, { "about" => { "command" => @command, **more, **Store.about(sides) }, "report" => report.lines(chomp: true), "data" => @written })
    end

    def read(name) = File.exist?(path(name)) ? JSON.parse(File.read(path(name))) : nil

    # JSON with a line for each program, row or line of text: what has objects or texts in it is opened
    # while it is long, what has only figures is one line.
    def self.json(value, indent = "")
      line = JSON.generate(value)
      return line if line.size <= LINE || flat?(value)
      inner = indent + " "
      items = value.is_a?(Hash) ? value.map { |k, v| "#{JSON.generate(k.to_s)}: #{json(v, inner)}" } : value.map { |v| json(v, inner) }
      open, close = value.is_a?(Hash) ? "{}".chars : "[]".chars
      "#{open}\n#{items.map { |i| inner + i }.join(",\n")}\n#{indent}#{close}"
    end

    def self.flat?(value)
      case value
      when Hash then value.values.none? { |v| v.is_a?(Hash) || v.is_a?(Array) }
      when Array then value.none? { |v| v.is_a?(Hash) || v.is_a?(String) }
      else true
      end
    end

    def self.about(sides)
      { "date" => Time.now.utc.iso8601, "machine" => machine, "kernel" => Etc.uname.values_at(:sysname, :release, :machine).join(" "),
        "cpus" => Etc.nprocessors, "load" => File.read("/proc/loadavg").split.first(3),
        "sides" => sides.to_h { |s| [s.name, s.describe] } }
    end

    # A guest's model name can be all of a maker's.
    def self.machine
      cpu = File.read("/proc/cpuinfo")
      family, model = ["cpu family", "model"].map { |key| cpu[/^#{key}\s*:\s*(\d+)/, 1] }
      [cpu[/^model name\s*:\s*(.*)/, 1], family && "family #{family} model #{model}"].compact.join(", ")
    end

    private

    def put(name, value)
      File.write(path(name), Store.json(value) + "\n")
      path(name)
    end
  end
end
