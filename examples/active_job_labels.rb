# frozen_string_literal: true
# SPDX-License-Identifier: BSD-2-Clause
# For ActiveJob: profiles by `extprof --group-by label:job` or `label:queue` show which job used the time.
#
#   class ApplicationJob < ActiveJob::Base
#     include ActiveJobLabels
#   end
module ActiveJobLabels
  def self.included(job)
    job.around_perform do |performed, block|
      if Fiber.respond_to?(:with_labels)
        Fiber.with_labels(job: performed.class.name || "(unnamed)", queue: performed.queue_name.to_s, &block)
      else
        block.call
      end
    end
  end
end
