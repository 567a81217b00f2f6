# Runs the examples of labels. Argument: their directory. Prints "N passed" when all is right.
require "rack/builder"
require "rack/mock_request"
require File.join(ARGV[0], "rack_labels")
require File.join(ARGV[0], "active_job_labels")

$passed = 0

def check(expected, got)
  raise "expected #{expected.inspect}, got #{got.inspect}" unless expected == got
  $passed += 1
end

seen = []
app = ->(env) { seen << Fiber.labels; env["PATH_INFO"] == "/raise" ? raise(IOError) : [200, {}, ["ok"]] }
rack = Rack::Builder.app { use RackLabels; run app }
check 200, Rack::MockRequest.new(rack).get("/users/42/posts").status
begin
  Rack::MockRequest.new(rack).post("/raise")
rescue IOError
end
check [{ "request" => "GET /users/:id/posts" }, { "request" => "POST /raise" }], seen
check({}, Fiber.labels)
named = Rack::Builder.app { use(RackLabels) { |env| :"route #{env["QUERY_STRING"]}" }; run app }
Rack::MockRequest.new(named).get("/x?a")
check({ "request" => "route a" }, seen.last)
# Rails sets this in its router, which comes later.
unnamed = Rack::Builder.app { use(RackLabels) { |env| env["action_dispatch.route"] }; run app }
Rack::MockRequest.new(unnamed).get("/x")
check({}, seen.last)

# What ActiveJob does: the callback is called with the job, and with a block that performs it.
class Job
  def self.around_perform(&callback) = @callback = callback
  def self.callback = @callback
  include ActiveJobLabels
  attr_reader :labels
  def queue_name = :mail
  def perform = @labels = Fiber.labels
  def perform_now = instance_exec(self, -> { perform }, &self.class.callback)
end

job = Job.new
check({ "job" => "Job", "queue" => "mail" }, job.perform_now)
check({}, Fiber.labels)
puts "#{$passed} passed"
