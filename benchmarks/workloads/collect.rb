# Loaded after the harness when a program is counted whose collections are luck: garbage is collected after each round and
# at no other time, every third time all of it. That is about as often as the VM does it in define_methods by
# itself. What a collection takes counts, when it would come does not. Not a part of the harness, since one more method
# there moves the counts of other programs.

module Workload
  def self.run(_rounds, cold: false)
    GC.disable
    ROUNDS.times do |i|
      yield
      GC.start(full_mark: i % 3 == 2)
    end
  end
end
