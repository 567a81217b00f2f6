# Processes that begin together what is timed: each says that it has come to it, and goes on when
# all have, or have ended. A warm-up takes longer in one process than in another, and what then runs
# beside it is not what runs beside the others (at_barrier in workloads/harness.rb is the other side).

module Bench
  class Barrier
    # n: how many processes; each of them is to be run by `member`.
    def initialize(n)
      @come, @tell = IO.pipe
      @wait, @open = IO.pipe
      @gate = Thread.new do
        n.times { @come.read(1) }
        @open.close
      end
    end

    # Yields what one of the processes needs: its environment, and what it is to inherit. One that has
    # ended keeps nobody waiting.
    def member
      yield({ "BENCH_BARRIER" => "#{@tell.fileno},#{@wait.fileno}" }, [@tell, @wait])
    ensure
      @tell.write(".")
    end

    # After the last of them.
    def close
      @gate.kill.join
      [@come, @tell, @wait, @open].each(&:close)
    end
  end
end
