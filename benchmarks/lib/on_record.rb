# Stock ruby as the gate on record has it: how it was compiled, and its counts. qemu-user counts the same on every
# machine. So stock is not built where the patched ruby and the witnesses are those of the record.

require "json"
require_relative "side"
require_relative "passed"

module Bench
  # The record says nothing of these rubies, or the patched one is not within the bounds by it.
  class NotOnRecord < StandardError; end

  class OnRecord
    attr_reader :name

    def initialize(file = Passed::FILE)
      record = JSON.parse(File.read(file))
      @name, @file, @data = "stock", file, record.fetch("data")
      @about, @date = record.fetch("about").fetch("sides").fetch(@name), record.fetch("about").fetch("date")
    rescue SystemCallError, JSON::ParserError, KeyError => e
      raise NotOnRecord, "#{file}: #{e.message}"
    end

    def flags = @about.fetch("flags")
    def describe = @about.merge("from" => "#{File.basename(@file)} of #{@date}")
    def yjit? = flags["YJIT_SUPPORT"] == "yes"
    def inspect = "#<#{self.class} #{@file}>"

    # Its figures, beside those of another side. table: { kind or program => { mode => { side => figure } } }
    def fill(witness, table)
      table.each do |what, row|
        row.each { |mode, sides| sides[@name] = @data.dig(witness, what, mode, @name) if sides.is_a?(Hash) }
      end
    end
  end
end
