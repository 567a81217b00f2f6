# frozen_string_literal: true
# SPDX-License-Identifier: BSD-2-Clause
# A Rack middleware: GET /posts?extprof answers as always, and then shows the flame graph of this request, of what
# `extprof daemon` (or `extprof record -m wall`) has recorded.  No profiler runs in the process.
#
#   extprof daemon & extprof serve                          # prints an address, which only this machine can open
#   EXTPROF_SERVE=http://127.0.0.1:41827/5b1f...e2/ puma
#
#   use RackProfile                                         # from this machine alone, and not by a proxy that says so
#   use(RackProfile) { |env| env["warden"].user&.admin? }   # or for whom you trust with all that was recorded
#
# Behind a proxy on this machine that adds neither X-Forwarded-For nor Forwarded, give it a block.
require "erb"
require "securerandom"

class RackProfile
  SECONDS = 7 # a recording has a sample after 5 s at most

  def initialize(app, serve = ENV["EXTPROF_SERVE"], &allowed)
    @app, @serve = app, serve
    @allowed = allowed || lambda do |env|
      ["127.0.0.1", "::1"].include?(env["REMOTE_ADDR"]) && !env["HTTP_X_FORWARDED_FOR"] && !env["HTTP_FORWARDED"]
    end
  end

  def call(env)
    asked = env["QUERY_STRING"].to_s.split("&").include?("extprof")
    return @app.call(env) unless asked && @serve && Fiber.respond_to?(:with_labels) && @allowed.call(env)

    # Only such requests have a label of their own: a recording keeps 8,192 values of one.
    id = SecureRandom.hex(8)
    status, _, body = Fiber.with_labels(request_id: id) { @app.call(env) }
    body.close if body.respond_to?(:close)
    link = "#{@serve}flamegraph?mode=wall&filter=#{ERB::Util.url_encode("label:request_id=#{id}")}"
    page = "<!DOCTYPE html><title>extprof</title><meta http-equiv=refresh content=\"#{SECONDS}; url=#{link}\">" \
           "The request has answered with #{status}. Its <a href=\"#{link}\">flame graph</a> is there in #{SECONDS} s."
    [200, { "content-type" => "text/html; charset=utf-8", "cache-control" => "no-store" }, [page]]
  end
end
