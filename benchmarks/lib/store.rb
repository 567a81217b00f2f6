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

    def self.machine = File.read("/proc/cpuinfo")[/^model name\s*:\s*(.*)/, 1].to_s
  end
end
