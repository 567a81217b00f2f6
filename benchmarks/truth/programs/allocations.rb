# 9. Nine allocations by one method and one by another, in a fixed pattern.
def often = Object.new
def seldom = Object.new

Truth.measure do
  200_000.times do
    often; often; often; often; often; often; often; often; often
    seldom
  end
end
Truth.tell([{ "what" => "share of the objects of the method that makes nine of ten", "kind" => "share", "any" => "\\boften\\z",
              "among" => "\\b(often|seldom)\\z", "truth" => 0.9 }], "fixed" => true, "objects" => 2_000_000)
