# frozen_string_literal: true
# Keeps a server on this machine busy: load.rb PORT SECONDS. Four connections,
# one request after the other on each, and an end after the seconds given.
require "socket"

port, seconds = Integer(ARGV[0]), Float(ARGV[1])
deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
words = %w[amber basalt cedar dune ember fjord]

def get(socket, path)
  socket.write("GET #{path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
  length = 0
  while (line = socket.gets("\r\n"))
    break if line == "\r\n"
    length = line.split(":")[1].to_i if line.start_with?("Content-Length")
  end
  socket.read(length) or raise "the server closed the connection"
end

counts = Array.new(4) do |i|
  Thread.new do
    count = 0
    TCPSocket.open("127.0.0.1", port) do |socket|
      while Process.clock_gettime(Process::CLOCK_MONOTONIC) < deadline
        word = words[(count + i) % words.size]
        get(socket, ["/search?q=#{word}", "/api/search?q=#{word}", "/product/#{count}"][count % 3])
        count += 1
      end
    end
    count
  end
end
warn "#{counts.sum(&:value)} requests in #{seconds} s"
