RSpec.describe Account do
  it("has a balance") { Account.new.balance }

  it("has a history") do
    def history = burn(0.1, :history)
    history
  end
end
