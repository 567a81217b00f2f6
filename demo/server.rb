# frozen_string_literal: true
# A small HTTP/1.1 server: a shop with a page (ERB) and an API (JSON), from the
# standard library alone. Prints the port it listens on; ends when stdin closes.
require "digest"
require "erb"
require "json"
require "socket"
require "time"

Product = Struct.new(:id, :name, :cents, :tags) do
  def price = format("%d.%02d", *cents.divmod(100))
  def to_h = { id: id, name: name, price: price, tags: tags }
end

class Catalog
  WORDS = %w[amber basalt cedar dune ember fjord granite harbor indigo juniper].freeze

  def initialize(size)
    random = Random.new(42)
    @products = Array.new(size) do |i|
      Product.new(i, Array.new(3) { WORDS.sample(random: random) }.join(" "),
                  random.rand(100..99_999), WORDS.sample(2, random: random))
    end
  end

  def search(word, limit: 40)
    @products.select { |product| product.name.include?(word) }
             .sort_by { |product| [-score(product, word), product.cents] }
             .first(limit)
  end

  def score(product, word)
    product.name.split.count(word) * 2 + product.tags.count(word)
  end

  def find(id) = @products[id % @products.size]
end

class Page
  include ERB::Util

  TEMPLATE = ERB.new(<<~HTML, trim_mode: "-")
    <!DOCTYPE html><title><%= h @word %></title>
    <h1><%= @products.size %> results for <%= h @word %></h1>
    <ul>
    <%- @products.each do |product| -%>
      <li><a href="/product/<%= product.id %>"><%= h product.name %></a> <%= product.price %></li>
    <%- end -%>
    </ul>
  HTML
  TEMPLATE.def_method(self, "render()", "page.erb")

  def initialize(word, products)
    @word = word
    @products = products
  end
end

class Application
  Response = Struct.new(:status, :type, :body)

  def initialize
    @catalog = Catalog.new(400)
  end

  def call(path, query)
    case path
    when "/search" then page(query.fetch("q", "amber"))
    when "/api/search" then api(query.fetch("q", "amber"))
    when %r{\A/product/(\d+)\z} then product($1.to_i)
    else Response.new(404, "text/plain", "not found\n")
    end
  end

  private

  def page(word) = Response.new(200, "text/html", Page.new(word, @catalog.search(word)).render)

  def api(word)
    Response.new(200, "application/json", JSON.generate(@catalog.search(word).map(&:to_h)))
  end

  def product(id)
    body = JSON.pretty_generate(@catalog.find(id).to_h)
    Response.new(200, "application/json", body)
  end
end

class Server
  def initialize(application, threads:)
    @application = application
    @listener = TCPServer.new("127.0.0.1", 0)
    @workers = Array.new(threads) do |i|
      Thread.new { work }.tap { |thread| thread.name = "worker #{i}" }
    end
  end

  def port = @listener.addr[1]

  private

  def work
    loop do
      client = @listener.accept
      serve(client)
    rescue Errno::ECONNRESET, Errno::EPIPE
      nil # the client has gone
    ensure
      client&.close
    end
  end

  def serve(client)
    while (request = read_request(client))
      path, query = request
      response = @application.call(path, query)
      write(client, response)
    end
  end

  def read_request(client)
    verb, target = client.gets("\r\n", 8192)&.split
    return unless verb == "GET" && target
    nil until client.gets("\r\n", 8192).to_s.strip.empty?
    path, arguments = target.split("?", 2)
    [path, arguments.to_s.split("&").to_h { |pair| pair.split("=", 2).then { |k, v| [k, v.to_s] } }]
  end

  def write(client, response)
    client.write("HTTP/1.1 #{response.status} OK\r\n",
                 "Date: #{Time.now.httpdate}\r\n",
                 "Content-Type: #{response.type}\r\n",
                 "ETag: \"#{Digest::SHA256.hexdigest(response.body)}\"\r\n",
                 "Content-Length: #{response.body.bytesize}\r\n\r\n",
                 response.body)
  end
end

server = Server.new(Application.new, threads: 4)
$stdout.puts server.port
$stdout.flush
$stdin.read
