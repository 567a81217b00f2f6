require "psych"
yaml = Psych.dump(Array.new(60) { |i| { "id" => i, "name" => "n#{i}", "list" => [1, 2.5, nil, true], "deep" => { "k" => "v: #{i}" } } })

Workload.run(4) { Psych.dump(Psych.load(yaml)).size }
