# The programs that are counted and timed: ours, CRuby's own, and yjit-bench's when there
# is a checkout.

require "fileutils"
require_relative "yml"

module Bench
  # args: after the mode's options; timed: the same when it is timed. gems: whether rubygems
  # and bundler are loaded. count, time: rounds. untimed: it is only counted. private: what
  # runs a command whose files others of it write too. relinked: it is counted with other links, too. probe: rounds when
  # its memory is measured, if not those of counting. collected: when counted, garbage is collected at fixed points.
  Program = Struct.new(:name, :group, :args, :timed, :env, :count, :time, :chdir, :gems, :untimed, :private, :relinked,
                       :probe, :collected, keyword_init: true) do
    def args_for(role)
      return timed if role == "time" && timed
      collected && role == "count" ? ["-r", Programs::HARNESS, "-r", Programs::COLLECT, *args.drop(2)] : args
    end

    def options = gems ? [] : ["--disable-gems"]
    def env_for(role)
      rounds = { "count" => count, "time" => time, "probe" => probe || count }.fetch(role)
      (env || {}).merge({ "BENCH_ROLE" => role }, rounds ? { "BENCH_ROUNDS" => rounds.to_s } : {})
    end
  end

  class Programs
    DIR = File.expand_path("../workloads", __dir__)
    HARNESS = File.join(DIR, "harness.rb")
    COLLECT = File.join(DIR, "collect.rb")

    # Name => rounds when counted, when timed, when memory is measured if not as when counted. A round is a few
    # milliseconds. What expires of define_methods does so from the third on.
    OURS = {
      "poly_calls" => [10, 250], "block_chain" => [10, 250], "kwargs_splat" => [10, 250],
      "raise_ensure" => [10, 500], "fiber_deep" => [10, 300], "deep_recursion" => [5, 60],
      "define_methods" => [20, 20, 3], "require_tree" => [1, 1], "load_lib" => [1, 1],
      "racc_calc" => [10, 200], "rexml_parse" => [5, 40], "csv_parse" => [5, 150],
      "erb_render" => [5, 300], "json_pure" => [5, 180], "prism_visit" => [1, 15],
      "ripper_sexp" => [1, 8], "psych_load" => [2, 80], "object_churn" => [5, 200]
    }.freeze

    # They compile much code. The compiler decodes it by a table with addresses of the interpreter's code as keys,
    # and how many collide is luck of a link, 0.25 % of require_tree.
    RELINKED = %w[require_tree load_lib define_methods].freeze

    # When the VM collects their garbage is luck: of 24 heaps that differ by 833 objects, define_methods has 12 to 21
    # collections, and the ratios of its counts a standard deviation of 1.6 %. object_churn went from 0.982 to 1.016 by a
    # patch that adds 5,000 of its 215 M instructions. The loops of CRuby's benchmark/ are collected so, too.
    COLLECTED = %w[define_methods object_churn].freeze

    # Scripts of CRuby's benchmark/ that are run whole: a text, and what replaces it when
    # counted and when timed, so that they take about 0.03 and 0.3 s.
    SCRIPTS = {
      "app_fib" => ["fib(34)", "fib(25)", "fib(34)"],
      "app_tak" => ["18, 9, 0", "14, 7, 0", "18, 9, 0"],
      "so_ackermann" => ["NUM = 9", "NUM = 6", "NUM = 9"],
      "so_nbody" => ["n = Integer(init)", "n = 8_000", "n = 60_000"],
      "so_object" => ["n = 1500000", "n = 30_000", "n = 800_000"],
      "so_lists" => ["NUM = 300", "NUM = 6", "NUM = 150"],
      "so_matrix" => ["n = 60 ", "n = 3 ", "n = 40 "],
      "so_exception" => ["NUM = 250000", "NUM = 8_000", "NUM = 200_000"],
      "app_raise" => ["i<300000", "i<10_000", "i<250_000"],
      "loop_times" => ["30_000_000", "500_000", "10_000_000"],
      "loop_generator" => ["max = 6000000", "max = 60_000", "max = 1_000_000"],
      "vm_symbol_block_pass" => ["5_000.times", "200.times", "2_000.times"]
    }.freeze

    # Converted: turns of the loop per job and round, and rounds when timed; nil where YJIT
    # leaves too little to time. A round is about 2 M instructions.
    LOOPS = {
      "vm_method" => [5000, nil], "vm_method_with_block" => [5000, nil], "vm_blockparam_call" => [10_000, 400],
      "vm_super" => [10_000, nil], "vm_zsuper" => [10_000, nil], "vm_call_bmethod" => [500, 500],
      "vm_method_splat_calls" => [1000, 400], "vm_raise2" => [500, 400], "vm_send_cfunc" => [2000, 400],
      "keyword_arguments" => [1000, 300], "vm_fiber_switch" => [10_000, 250], "vm_method_missing" => [2000, 250],
      "vm_call_symproc" => [200, 250], "vm_proc" => [10_000, 500], "vm_block" => [10_000, nil]
    }.freeze

    YJIT_BENCH = %w[binarytrees blurhash etanni fannkuchredux matmul nbody nqueens optcarrot rubykon
                    ruby-json sudoku 30k_ifelse 30k_methods attr_accessor cfunc_itself fib getivar
                    keyword_args loops-times object-new respond_to ruby-xor setivar setivar_object
                    setivar_young str_concat throw].freeze
    # Iterations that are timed, some seconds of the interpreter.
    HEADLINE = {
      "activerecord" => 8, "chunky-png" => 4, "erubi-rails" => 2, "hexapdf" => 1, "mail" => 20,
      "psych-load" => 1, "railsbench" => 1, "ruby-lsp" => 15, "sequel" => 50, "shipit" => 1,
      "liquid-c" => 12, "liquid-compile" => 15, "liquid-render" => 8, "lobsters" => 1, "rubocop" => 4
    }.freeze

    # They write /tmp/hexapdf-result-*.pdf, databases of SQLite, logs and caches.
    PRIVATE = %w[hexapdf lobsters railsbench shipit].freeze

    # A file that some copies of yjit-bench lack, being large. It is listed then, not forgotten.
    NEEDS = { "lobsters" => "benchmarks/lobsters/db/production.sqlite3" }.freeze

    # cruby: where CRuby's benchmark/ is. work: for generated files. yjit_bench: a checkout.
    def initialize(cruby:, work:, yjit_bench: nil, gem_home: nil)
      @cruby, @work, @yjit_bench, @gem_home = cruby, work, yjit_bench, gem_home
      FileUtils.mkdir_p(work)
    end

    def all(groups = %w[start ours cruby yjit-bench])
      groups.flat_map do |g|
        case g
        when "start" then start
        when "ours" then ours
        when "cruby" then scripts + loops
        when "yjit-bench" then @yjit_bench ? yjit_bench(YJIT_BENCH.to_h { |n| [n, 1] }, "yjit-bench", false) : []
        when "headline" then @yjit_bench ? yjit_bench(HEADLINE.except(*left_out.keys), "headline", true) : []
        else raise ArgumentError, "no group #{g}"
        end
      end
    end

    # Programs of the headline that the checkout has not whole: { name => why }.
    def left_out
      return {} unless @yjit_bench
      NEEDS.reject { |_, file| File.size?(File.join(@yjit_bench, file)) }.transform_values { |file| "the checkout has no #{file}" }
    end

    # The programs of these names. An unknown name is an error.
    def self.pick(programs, names)
      names.map { |n| programs.find { |p| p.name == n } or raise ArgumentError, "no program #{n}" }
    end

    def self.empty(gems) = Program.new(name: gems ? "start_gems" : "start", group: "start", args: ["-e", "1"], gems: gems)

    def start = [false, true].map { |gems| Programs.empty(gems).tap { |p| p.untimed = true } }

    def ours
      OURS.map do |name, (count, time, probe)|
        env = name == "require_tree" ? { "BENCH_TREE" => tree } : {}
        Program.new(name: name, group: "ours", args: ["-r", HARNESS, File.join(DIR, "ours", "#{name}.rb")],
                    env: env, count: count, time: time, probe: probe, relinked: RELINKED.include?(name),
                    collected: COLLECTED.include?(name))
      end
    end

    def scripts
      SCRIPTS.map do |name, (from, small, large)|
        text = File.read(File.join(@cruby, "#{name}.rb"), encoding: "UTF-8")
        raise ArgumentError, "#{name}.rb has no #{from.inspect}" unless text.include?(from)
        args, timed = [small, large].map do |to|
          file = write("#{name}.#{to == small ? "count" : "time"}.rb", text.gsub(from, to))
          ["-r", HARNESS, "-e", "Workload.script(ARGV[0])", file]
        end
        Program.new(name: name, group: "cruby", args: args, timed: timed)
      end
    end

    def loops
      LOOPS.map do |name, (turns, timed)|
        file = write("#{name}.rb", Yml.convert(File.join(@cruby, "#{name}.yml"), turns: turns, rounds: 1))
        Program.new(name: name, group: "cruby", args: ["-r", HARNESS, file], count: 2, time: timed, untimed: !timed,
                    collected: true)
      end
    end

    def yjit_bench(rounds, group, gems)
      rounds.map do |name, time|
        file = ["#{name}/benchmark.rb", "#{name}.rb"].map { |f| File.join(@yjit_bench, "benchmarks", f) }
                                                     .find { |f| File.exist?(f) }
        env = gems ? { "GEM_HOME" => @gem_home, "GEM_PATH" => @gem_home } : {}
        Program.new(name: name, group: group, env: env, count: 1, time: time, gems: gems,
                    private: (private_files("/tmp", File.dirname(file)) if file && PRIVATE.include?(name)),
                    chdir: @yjit_bench, args: ["-r", HARNESS, "-I", File.join(DIR, "yjit-bench"), file || "#{name} is missing"])
      end
    end

    # Put before a command: it gets a copy of these directories of its own.
    def private_files(*dirs)
      dir = File.join(@work, "private").tap { |d| FileUtils.mkdir_p(d) }
      ["sh", File.expand_path("../tools/private.sh", __dir__), dir, *dirs, "--"]
    end

    # Two thousand files, made once.
    def tree
      dir = File.join(@work, "tree")
      return dir if Dir.exist?(dir) && Dir.children(dir).size == 2000
      FileUtils.mkdir_p(dir)
      2000.times do |i|
        File.write(File.join(dir, "part%04d.rb" % i), <<~RUBY)
          # frozen_string_literal: true
          module Tree
            class Part#{i}
              LIMIT = #{i}
              attr_reader :name
              def initialize(name) = @name = name
              def each = LIMIT.times { |k| yield k }
              def to_s
                "part \#{@name}"
              end
              def self.build(*args, **options) = new(*args)
            end
          end
        RUBY
      end
      dir
    end

    private

    def write(name, text)
      file = File.join(@work, name)
      File.write(file, text) unless File.exist?(file) && File.read(file) == text
      file
    end
  end
end
