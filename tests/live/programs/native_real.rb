# Works in one library for each line with a number of turns, and says which part took how many ns of CPU time:
# ruby native_real.rb LIBRARY
$stdout.sync = true
TOOK = Hash.new(0)
def part(name)
  from = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
  __send__(name)
  TOOK[name] += Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) - from
end
def work = PARTS.each { |name| part(name) }
WORDS = (1..2000).map { |i| "word#{i * 7919 % 1009}" }
TEXT = WORDS.join(" ") * 4
ROWS = (1..200).map { |i| { "id" => i, "name" => "name #{i}", "price" => i * 1.25, "tags" => %w[a b c], "ok" => i.even? } }
XML = "<list>" + ROWS.map { |r| "<item id='#{r["id"]}'><name>#{r["name"]}</name><price>#{r["price"]}</price></item>" }.join + "</list>"

case ARGV[0]
when "zlib"
  require "zlib"
  def packs = $packed = Zlib::Deflate.deflate(TEXT)
  def unpacks = 8.times { Zlib::Inflate.inflate($packed) }
  def sums = 40.times { Zlib.crc32(TEXT) }
  PARTS = %i[packs unpacks sums]
when "openssl"
  require "openssl"
  KEY = OpenSSL::PKey::RSA.new(2048)
  def signs = KEY.sign("SHA256", "text")
  def digests = 4.times { OpenSSL::Digest::SHA512.digest(TEXT) }
  def derives = OpenSSL::KDF.pbkdf2_hmac("password", salt: "salt", iterations: 1000, length: 32, hash: "SHA512")
  PARTS = %i[signs digests derives]
when "bigdecimal"
  require "bigdecimal"
  A, B = BigDecimal("1." + "1234567890" * 20), BigDecimal("3." + "9876543210" * 20)
  def multiplies = 20.times { A * B }
  def divides = 5.times { A.div(B, 200) }
  def roots = A.sqrt(50)
  def texts = 20.times { A.to_s }
  PARTS = %i[multiplies divides roots texts]
when "oj"
  require "oj"
  def dumps = $json = Oj.dump(ROWS, mode: :compat)
  def loads = Oj.load($json)
  PARTS = %i[dumps loads]
when "msgpack"
  require "msgpack"
  def packs = $packed = MessagePack.pack(ROWS)
  def unpacks = MessagePack.unpack($packed)
  PARTS = %i[packs unpacks]
when "sqlite3"
  require "sqlite3"
  DB = SQLite3::Database.new(":memory:")
  DB.execute("CREATE TABLE words(id INTEGER PRIMARY KEY, word TEXT)")
  WORDS.each { |w| DB.execute("INSERT INTO words(word) VALUES(?)", [w]) }
  def groups = DB.execute("SELECT word, count(*), max(id) FROM words GROUP BY word ORDER BY 2 DESC, 1 LIMIT 5")
  def searches = DB.execute("SELECT count(*) FROM words WHERE word LIKE '%77%'")
  def inserts = 20.times { |i| DB.execute("INSERT OR REPLACE INTO words(id, word) VALUES(?, ?)", [i, "w"]) }
  PARTS = %i[groups searches inserts]
when "ffi"
  require "ffi"
  module C
    extend FFI::Library
    ffi_lib "c"
    callback :compare, %i[pointer pointer], :int
    attach_function :qsort, %i[pointer size_t size_t compare], :void
    attach_function :strtol, %i[string pointer int], :long
    attach_function :memset, %i[pointer int size_t], :pointer
  end
  ROOM = FFI::MemoryPointer.new(:char, 1 << 20)
  LIST = FFI::MemoryPointer.new(:int, 100)
  def sorts
    LIST.write_array_of_int((0...100).map { |i| i * 37 % 100 })
    C.qsort(LIST, 100, 4) { |a, b| a.read_int <=> b.read_int }
  end
  def numbers = 300.times { C.strtol("1234567", nil, 10) }
  def fills = 5.times { C.memset(ROOM, 1, 1 << 20) }
  PARTS = %i[sorts numbers fills]
when "nokogiri"
  require "nokogiri"
  def reads = $document = Nokogiri::XML(XML)
  def finds = $document.xpath("//item[price > 100]/name").size
  def writes = $document.to_xml
  PARTS = %i[reads finds writes]
end

work
TOOK.clear
puts "ready"
while (line = $stdin.gets)
  line.to_i.times { work }
  puts "done #{TOOK.map { |name, ns| "#{name}=#{ns}" }.join(" ")}"
end
