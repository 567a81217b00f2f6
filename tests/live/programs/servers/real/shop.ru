# A request asks a slow backend, and then computes 2 ms.
require "net/http"
require "socket"
require_relative "measured"

class Shop
  BACKEND = URI("http://127.0.0.1:#{ENV.fetch("BACKEND")}/")

  def fetch
    from = Measured.now
    Net::HTTP.get(BACKEND)
    Measured.since(from)
  end

  def render
    from = Measured.now
    till = from[1] + 2_000_000
    nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) < till
    Measured.since(from)
  end

  def call(env)
    return [200, {}, [Measured.report]] if env["PATH_INFO"] == "/measured"
    spent = { fetch: fetch, render: render }
    spent.each { |name, ns| Measured.add(name, ns) }
    [200, {}, ["ok"]]
  end
end

run Shop.new
