# A ruby under comparison: its build directory, and a copy of what a program needs of it
# under a path of the same length as the other side's. Paths end up in strings, the
# environment and the auxiliary vector, so unequal ones would change counts and layout.

require "fileutils"
require "digest"

module Bench
  class Refused < StandardError; end

  class Side
    # Lines of CRuby's Makefile that must be equal on both sides. CFLAGS that configure is given are
    # in CFLAGS_NO_ARCH; cflags has its own.
    FLAGS = %w[CC ARCH_FLAG CFLAGS CFLAGS_NO_ARCH cflags optflags debugflags warnflags hardenflags
               CPPFLAGS cppflags XCFLAGS LDFLAGS DLDFLAGS XLDFLAGS ARFLAGS MAINLIBS ENABLE_SHARED
               YJIT_SUPPORT YJIT_RUSTC_ARGS CARGO_BUILD_ARGS RJIT_SUPPORT].freeze
    NO_PREFIX = "/nonexistent"
    # Gems of the release tarball that our programs use.
    GEMS = %w[csv racc rexml bigdecimal].freeze

    attr_reader :name, :build, :root, :exe

    # name: five letters. build: where CRuby was built. root: where the copy goes.
    def initialize(name, build, root)
      raise ArgumentError, "#{name}: names have five letters" unless name.size == 5
      @name, @build, @root = name, File.realpath(build), File.join(root, name)
      @exe = File.join(@root, "ruby")
    rescue Errno::ENOENT
      raise Refused, "no CRuby build in #{build}"
    end

    def source = File.expand_path(makefile.fetch("srcdir"), build)

    # Copies again when the build changed.
    def prepare
      built = File.join(build, "ruby")
      raise Refused, "#{build} holds no built ruby" unless File.executable?(built)
      key = "#{built} #{File.size(built)} #{newest.to_r}\n"
      stamp = File.join(root, "from")
      return self if File.exist?(stamp) && File.read(stamp) == key
      FileUtils.rm_rf(root)
      FileUtils.mkdir_p(File.join(root, "gems"))
      FileUtils.cp(built, exe)
      FileUtils.cp(Dir[File.join(build, "libruby*.so.*")], root)
      FileUtils.cp_r(File.join(source, "lib"), File.join(root, "lib"))
      copy_extensions
      copy_gems
      File.write(stamp, key)
      self
    end

    def gem_dir(name) = Dir[File.join(source, ".bundle/gems/#{name}-[0-9]*")].max

    # The whole environment of a measured process.
    def env
      libs = %w[lib ext gems].map { |d| File.join(root, d) }
      { "RUBYLIB" => libs.join(":"), "LD_LIBRARY_PATH" => root, "LANG" => "C.UTF-8",
        "HOME" => "/nonexistent", "PATH" => "/usr/local/bin:/usr/bin:/bin" }
    end

    # The command of a program in a mode (interp or yjit).
    def command(mode, args, options: ["--disable-gems"])
      [exe, *options, *({ "yjit" => ["--yjit"] }[mode]), *args]
    end

    def yjit? = makefile["YJIT_SUPPORT"] == "yes"

    # What the ruby was compiled with, without the paths that differ on purpose.
    def flags
      h = FLAGS.to_h { |k| [k, makefile[k].to_s.gsub(build, "BUILD").gsub(source, "SRC").strip] }
      h.merge("compiler in the binary" => comment)
    end

    def describe
      out = IO.popen([env, *command("interp", ["-v"]), unsetenv_others: true], &:read)
      { "version" => out.strip, "build" => build, "sha256" => Digest::SHA256.file(exe).hexdigest,
        "size" => File.size(exe), "flags" => flags, "prefix" => makefile["prefix"] }
    end

    # How two rubies were compiled differently, as text; nil if alike.
    def self.difference(a, b)
      differ = a.flags.keys.reject { |k| a.flags[k] == b.flags[k] }
      return if differ.empty?
      "#{a.name} and #{b.name} were not built alike:\n" + differ.map { |k|
        "  #{k}\n    #{a.name}: #{a.flags[k]}\n    #{b.name}: #{b.flags[k]}"
      }.join("\n")
    end

    def makefile
      @makefile ||= File.foreach(File.join(build, "Makefile")).each_with_object({}) do |line, h|
        h[$1] ||= $2.strip if line =~ /\A\s*([A-Za-z_]+)\s*=\s*(.*)$/
      end
    end

    private

    # When what is copied changed last: an extension alone does not link ruby again.
    def newest
      files = [File.join(build, "ruby"), File.join(build, "rbconfig.rb"), *Dir[File.join(build, ".ext/**/*.{so,rb}")],
               *Dir[File.join(source, "lib/**/*.rb")]]
      files.map { |f| File.stat(f).mtime }.max
    end

    def copy_extensions
      ext = File.join(root, "ext")
      FileUtils.cp_r(File.join(build, ".ext/common"), ext)
      FileUtils.cp_r(File.join(build, ".ext", makefile.fetch("arch"), "."), ext)
      # rubygems looks below the prefix: nobody's installed gems must be found there.
      config = File.read(File.join(build, "rbconfig.rb")).gsub(makefile.fetch("prefix"), NO_PREFIX)
      File.write(File.join(ext, "rbconfig.rb"), config)
    end

    def copy_gems
      GEMS.each do |gem|
        dir = gem_dir(gem) or raise Refused, "#{source} has no bundled gem #{gem}"
        FileUtils.cp_r(File.join(dir, "lib", "."), File.join(root, "gems"))
        native = Dir[File.join(build, ".bundle/extensions/*/*", File.basename(dir))].first
        FileUtils.cp_r(File.join(native, "."), File.join(root, "gems")) if native
      end
    end

    # GCC and LLVM leave their versions in .comment; strip keeps it.
    def comment
      @comment ||= IO.popen(["readelf", "-p", ".comment", File.join(build, "ruby")], err: File::NULL, &:read)
                     .scan(/\]\s+(.*)$/).flatten.sort.join("; ")
    end
  end
end
