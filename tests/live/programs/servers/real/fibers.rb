# A server of one thread: each request is a fiber of the scheduler of the gem async. It asks a slow backend, and then
# computes 2 ms.
$stdout.sync = true
require "async"
require "socket"
require_relative "measured"

class Server
  def fetch
    from = Measured.now
    socket = TCPSocket.new("127.0.0.1", ENV.fetch("BACKEND").to_i)
    socket.write "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    nil until socket.gets == "\r\n"
    socket.close
    Measured.since(from)
  end

  def render
    from = Measured.now
    till = from[1] + 2_000_000
    nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) < till
    Measured.since(from)
  end

  def answer(client)
    path = client.gets.split[1]
    nil until client.gets == "\r\n"
    if path == "/measured"
      Measured.add(:thread, Measured.since(@from)) if @from
      text = Measured.report
      @from = Measured.now
    else
      spent = { fetch: fetch, render: render }
      spent.each { |name, ns| Measured.add(name, ns) }
      text = "ok"
    end
    client.write "HTTP/1.1 200 OK\r\nContent-Length: #{text.bytesize}\r\nConnection: close\r\n\r\n#{text}"
  ensure
    client.close
  end

  def run(server)
    Async do |task|
      loop do
        client = server.accept
        task.async { answer(client) }
      end
    end
  end
end

server = TCPServer.new("127.0.0.1", ENV.fetch("PORT").to_i)
puts "ready"
Server.new.run(server)
