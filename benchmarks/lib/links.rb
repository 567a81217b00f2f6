# The relinks of a side, made when they are first needed and kept until its objects change.

require "fileutils"
require_relative "relink"

module Bench
  class Links
    # A side whose executable is one of its relinks.
    Link = Struct.new(:side, :exe, :number) do
      def name = side.name
      def env = side.env
      def command(mode, args, options:) = [exe, *side.command(mode, args, options: options).drop(1)]
    end

    # dir/NAME/NN/ruby: the same length for each side and each link.
    def initialize(side, dir, replace: {})
      @side, @dir = side, File.join(dir, side.name)
      @relink = Relink.new(side.build, replace: replace)
      # Links of other objects than these are of no use.
      key = ([File.join(side.build, "ruby")] + replace.values).map { |f| "#{f} #{File.stat(f).mtime.to_r}\n" }.join
      stamp = File.join(@dir, "from")
      return if File.exist?(stamp) && File.read(stamp) == key
      FileUtils.rm_rf(@dir)
      FileUtils.mkdir_p(@dir)
      File.write(stamp, key)
    end

    # The seed differs per side too: a pair must not share a lucky order.
    def take(numbers, workers:)
      Jobs.map(numbers, workers: workers, progress: "relinking #{@side.name}") do |i|
        exe = File.join(@dir, "%02d" % i, "ruby")
        @relink.make(exe, @side.name.sum * 1000 + i) unless File.exist?(exe)
        Link.new(@side, exe, i)
      end
    end
  end
end
