# Results as JSON, with what is needed to read them later: machine, versions, flags.

require "json"
require "fileutils"
require "etc"
require "time"

module Bench
  class Store
    def initialize(dir) = FileUtils.mkdir_p(@dir = dir)

    def path(name) = File.join(@dir, "#{name}.json")

    def write(name, data, sides)
      File.write(path(name), JSON.pretty_generate({ "about" => Store.about(sides), "data" => data }))
    end

    def read(name) = File.exist?(path(name)) ? JSON.parse(File.read(path(name))) : nil

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
  end
end
