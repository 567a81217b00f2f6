# Loads every *_test.rb beside it and runs their test methods; the last line is the total.

require_relative "harness"
Dir[File.join(__dir__, "*_test.rb")].sort.each { |f| require f }
exit Test.run(ARGV)
