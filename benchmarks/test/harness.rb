# As much of a test framework as we need.

class Test
  class Failed < StandardError; end
  class Skipped < StandardError; end
  @suites = []
  class << self
    def inherited(suite) = (super; suites << suite)
    def suites = Test.instance_variable_get(:@suites)

    def run(names)
      passed = failed = skipped = 0
      suites.each do |suite|
        suite.instance_methods.grep(/\Atest_/).sort.each do |name|
          next unless names.empty? || names.any? { |n| name.to_s.include?(n) }
          begin
            suite.new.public_send(name)
            passed += 1
          rescue Skipped => e
            skipped += 1
            puts "skipped: #{suite} #{name}: #{e.message}"
          rescue Failed, StandardError => e
            failed += 1
            puts "FAIL #{suite} #{name}: #{e.class == Failed ? "" : "#{e.class}: "}#{e.message}", *e.backtrace.grep(/_test\.rb/).first(3)
          end
        end
      end
      puts "#{passed} passed, #{failed} failed#{", #{skipped} skipped" if skipped > 0}"
      failed == 0 ? 0 : 1
    end
  end

  def ok(condition, message = "not true") = condition || raise(Failed, message)
  def is(got, expected) = ok(got == expected, "got #{got.inspect}, expected #{expected.inspect}")
  def near(got, expected, by) = ok((got - expected).abs <= by, "got #{got}, expected #{expected} +- #{by}")

  # What this machine does not let us do is said, and not passed over.
  def skip(why) = raise(Skipped, why)

  def raises(error)
    yield
  rescue error => e
    e
  else
    raise Failed, "no #{error}"
  end
end
