# frozen_string_literal: true
# SPDX-License-Identifier: BSD-2-Clause
# A Rack middleware: profiles by `extprof --group-by label:request` show which request used the time.
#
#   use RackLabels                                 # method and path
#   use(RackLabels) { |env| env["SERVER_NAME"] }   # or a name of your own: few different ones are best; nil: no label
#
# Middleware runs before the router of Rails, so it knows no route.  In Rails let an around_action set the label:
#
#   around_action { |c, action| Fiber.with_labels(request: "#{controller_name}##{action_name}", &action) }
class RackLabels
  # A path of its own for each record would be a label of its own: numbers are replaced.
  NAME = ->(env) { "#{env["REQUEST_METHOD"]} #{env["PATH_INFO"].gsub(%r{(?<=/)\d+(?=/|\z)}, ":id")}" }

  def initialize(app, &name)
    @app, @name = app, name || NAME
  end

  def call(env)
    return @app.call(env) unless Fiber.respond_to?(:with_labels)

    name = @name.call(env).to_s
    Fiber.with_labels(request: name.empty? ? nil : name) { @app.call(env) }
  end
end
