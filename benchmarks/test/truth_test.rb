# What a tool's samples answer: made-up samples, no tool.
require_relative "../truth/metrics"
require_relative "../truth/table"

class TruthTest < Test
  def sample(names, weight, state = nil) = Truth::Sample.new(names.map { |n| n.split("\t", 2) }, weight, state)
  def answer(ask, *samples, did: {}) = Truth::Metrics.answer(ask, samples, did)

  def test_a_share_of_leaves_and_of_what_is_on_the_stack
    s = [sample(["Object#counts", "String#count", "[GC mark]"], 3), sample(["Object#loops"], 1), sample(["count"], 96)]
    ask = { "kind" => "share", "leaf" => "\\b(String#)?count\\z", "among" => "\\b(counts|loops)\\z" }
    is answer(ask, *s), 0.75
    is answer(ask.merge("leaf" => "\\bcounts\\z"), *s), 0.0
    is answer({ "kind" => "share", "any" => "\\bcounts\\z" }, *s), 0.03
    is answer(ask), nil # without samples there is no answer, and not 0
  end

  def test_a_state_is_asked_for_by_itself
    s = [sample(["naps"], 9, "gvl"), sample(["naps"], 1), sample(["burns"], 5, "gvl")]
    is answer({ "kind" => "share", "any" => "naps", "among" => "naps", "state" => "gvl" }, *s), 0.9
  end

  def test_a_pair_that_never_was
    ask = { "kind" => "cross", "pairs" => [%w[hot_a leaf_b], %w[hot_b leaf_a]] }
    is answer(ask, sample(%w[hot_a leaf_a], 3), sample(%w[x hot_b leaf_a], 1)), 0.25
    is answer(ask, sample(%w[other], 1)), nil
  end

  def test_the_line_that_is_farthest_off
    ask = { "kind" => "lines", "any" => "hot\\z", "lines" => [5, 6], "file" => "lines.rb", "truth" => 0.5 }
    is answer(ask, sample(["hot\t/a/lines.rb:5"], 1), sample(["hot\t/a/lines.rb:6"], 3)), 0.25
    is answer(ask, sample(["hot\t/a/lines.rb:0"], 3)), nil # no lines at all
    is answer(ask, sample(["hot\t/a/lines.rb:4"], 3)), 0.0 # a line, but none of these
  end

  # What chance is worth is no difference between tools.
  def test_the_nearest_tool
    ask = { "kind" => "share", "truth" => 0.5, "what" => "w" }
    nearest = ->(rate, *answers) do
      results = answers.each_with_index.to_h { |a, i| [%w[extprof b c][i], { "answers" => [{ "answer" => a, "truth" => 0.5 }] }] }
      results["none"] = { "did" => { "cpu" => 1.0 } }
      Truth::Table.nearest({ "rate" => rate, "mode" => "cpu", "asks" => [ask], "results" => results }, results.keys - ["none"], 0)
    end
    is nearest[100, 0.52, 0.5, 0.7], "extprof, b"
    is nearest[100_000, 0.52, 0.5, 0.7], "**not extprof**: b"
    is nearest[100_000, 0.52, nil, 0.7], "extprof"
  end

  def test_what_failed_and_what_did_not_answer_is_said
    ask = { "kind" => "share" }
    is Truth::Table.cell(ask, { "error" => "exit 1" }, 0), "failed"
    is Truth::Table.cell(ask, { "answers" => [{ "answer" => nil, "truth" => 0.5 }] }, 0), "no answer"
    is Truth::Table.cell(ask, { "answers" => [{ "answer" => 0.25, "truth" => 0.5 }] }, 0), "25.0 % (-25.0)"
  end

  def test_a_target_that_behaved_differently
    none = { "cpu" => 2.0, "wall" => 2.0, "interrupted" => 0 }
    is Truth::Table.changed(none, { "cpu" => 3.0, "wall" => 9, "interrupted" => 0 }, "cpu"), "1.50"
    is Truth::Table.changed(none, { "cpu" => 3.0, "wall" => 2, "interrupted" => 4 }, "wall"), "1.00, **interrupted 4, not 0**"
  end
end
