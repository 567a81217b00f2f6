# Loaded by names.rb.
spot
class Loaded
  spot
  def m = spot
  class Nested
    [1].each { spot }
  end
  class << self
    spot
  end
end
module LoadedModule
  spot
end
Loaded.new.m
[1].each { spot }
