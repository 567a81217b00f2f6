# Code that is made, runs once and is gone. The number of each piece is in its name, its path and its
# line, so that a wrong name is noticed. ARGV[0]: what is made; ARGV[1]: "compact" moves objects, too.
def burn
  i = 0
  i += 1 while i < 300
end

def unique(i)
  case ARGV[0]
  when "method"
    Class.new.class_eval("def self.u#{i} = burn\nself", "/u#{i}.rb", i).send(:"u#{i}")
  when "redefined"
    Object.class_eval("def again = u#{i}\ndef u#{i} = burn", "/u#{i}.rb", i)
    again
    Object.remove_method(:"u#{i}")
  when "block"
    eval("[:u#{i}].each { |name| \"u#{i}\"; burn }", nil, "/u#{i}.rb", i)
  when "class"
    Object.class_eval("class U#{i}\ndef u#{i} = burn\nend\nU#{i}.new", "/u#{i}.rb", i).send(:"u#{i}")
    Object.send(:remove_const, :"U#{i}")
  when "define_method"
    c = Class.new
    c.class_eval("define_method(:u#{i}) { burn }", "/u#{i}.rb", i)
    c.new.send(:"u#{i}")
  end
end

$stdout.sync = true
puts "ready"
i = 0
while true
  i += 1
  unique(i)
  GC.start if i % 2000 == 0
  GC.compact if ARGV[1] && i % 5000 == 0
end
