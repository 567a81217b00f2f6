# An application with gems below it: makes them in the directory ARGV[0], works for the seconds of a line of stdin, and
# says how much CPU time was in what, by its own clock.
require "fileutils"

root = File.realpath(ARGV[0])
FILES = {
  "vendor/bundle/ruby/3.4.0/gems/mustache-1.1.2/lib/mustache.rb" => <<~RUBY,
    class Mustache
      def self.render(n)
        i = 0
        i += 1 while i < n
        yield if block_given?
      end
    end
  RUBY
  "vendor/bundle/ruby/3.4.0/bundler/gems/ledger-0123456789ab/lib/ledger.rb" => <<~RUBY,
    class Ledger
      def self.add(text, n) = n.times { text.gsub(/o+/) { |o| o } }
    end
  RUBY
  "app/shop.rb" => <<~RUBY
    class Shop
      def show(n, text)
        Mustache.render(n * 3000) { helper(n, text) }
      end

      def helper(n, text)
        n.times { text.gsub("o", "0") }
      end

      def count(n)
        i = 0
        i += 1 while i < n * 3000
      end

      def book(n, text) = Ledger.add(text, n)
      class_eval("def loaded(n)\\n i = 0\\n i += 1 while i < n * 3000\\n end")
    end
  RUBY
}
FILES.each do |path, text|
  file = File.join(root, path)
  FileUtils.mkdir_p(File.dirname(file))
  File.write(file, text)
end
Dir.chdir(root)
FILES.each_key { |path| require File.join(root, path) }

def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

TRUTH = Hash.new(0)
def timed(name)
  start = now
  yield
  TRUTH[name] += now - start
end

$stdout.sync = true
shop, text = Shop.new, "foo boo zoo " * 40
shop.show(1, text)
puts "ready"
finish = now + $stdin.gets.to_f * 1_000_000_000
while now < finish
  n = 5 + rand(10)
  timed("count") { shop.count(n) }
  timed("helper") { shop.helper(n, text) }
  timed("book") { shop.book(n, text) }
  timed("loaded") { shop.loaded(n) }
  timed("show") { shop.show(n, text) }
end
# `show` is the gem's loop, and the helper.
TRUTH.each { |name, ns| puts "#{name} #{ns}" }
puts "done"
$stdin.gets
