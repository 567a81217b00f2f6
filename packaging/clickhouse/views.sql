-- SPDX-License-Identifier: BSD-2-Clause
-- The views of `extprof sql` over all machines, for the tables of schema.sql.  Names and columns are the same; `day` and
-- `service`, of threads also `host`, come first.  Run it on each server that is asked:
--     clickhouse-client --multiquery < views.sql
-- Sums are made on the shards; their stacks are looked up where the question is asked.

CREATE VIEW top_methods AS
SELECT day, service, mode, method, path, sum(if(place = 1, ns, 0)) AS self, sum(ns) AS total, sum(n) AS count
FROM
(
    SELECT day, service, mode, Methods, Paths, ns, n
    FROM
    (
        SELECT toDate(Start) AS day, ServiceName AS service, Type AS mode, StackHash AS Hash, sum(Value) AS ns, sum(Count) AS n
        FROM extprof_samples GROUP BY day, service, mode, Hash
    )
    ANY INNER JOIN (SELECT Hash, any(Methods) AS Methods, any(Paths) AS Paths FROM extprof_stacks GROUP BY Hash) USING Hash
)
ARRAY JOIN Methods AS method, Paths AS path, arrayEnumerate(Methods) AS place
GROUP BY day, service, mode, method, path
ORDER BY total DESC;

CREATE VIEW top_lines AS
SELECT day, service, mode, path, line, sum(ns) AS self, sum(n) AS count
FROM
(
    SELECT toDate(Start) AS day, ServiceName AS service, Type AS mode, StackHash AS Hash, sum(Value) AS ns, sum(Count) AS n
    FROM extprof_samples GROUP BY day, service, mode, Hash
)
ANY INNER JOIN (SELECT Hash, any(RubyPath) AS path, any(RubyLine) AS line FROM extprof_stacks GROUP BY Hash) USING Hash
WHERE line > 0
GROUP BY day, service, mode, path, line
ORDER BY self DESC;

CREATE VIEW gc_by_method AS
SELECT day, service, mode, method, path, phase, sum(ns) AS value, sum(n) AS count
FROM
(
    SELECT toDate(Start) AS day, ServiceName AS service, Type AS mode, StackHash AS Hash, sum(Value) AS ns, sum(Count) AS n
    FROM extprof_samples GROUP BY day, service, mode, Hash
)
ANY INNER JOIN
(
    SELECT Hash, any(Methods[2]) AS method, any(Paths[2]) AS path, any(Methods[1]) AS phase
    FROM extprof_stacks WHERE Collector = 1 GROUP BY Hash
) USING Hash
GROUP BY day, service, mode, method, path, phase
ORDER BY value DESC;

CREATE VIEW lock_waits AS
SELECT day, service, state, method, path, line, thread_name, sum(time) AS ns, sum(n) AS waits
FROM
(
    SELECT toDate(Start) AS day, ServiceName AS service, State AS state, Thread AS thread_name, StackHash AS Hash,
           sum(Value) AS time, sum(Count) AS n
    FROM extprof_samples WHERE State IN ('gvl', 'mutex', 'queue', 'condvar', 'join', 'ractor')
    GROUP BY day, service, state, thread_name, Hash
)
ANY INNER JOIN
(
    SELECT Hash, any(Methods[1]) AS method, any(RubyPath) AS path, any(RubyLine) AS line FROM extprof_stacks GROUP BY Hash
) USING Hash
GROUP BY day, service, state, method, path, line, thread_name
ORDER BY ns DESC;

CREATE VIEW states_by_thread AS
SELECT toDate(Start) AS day, ServiceName AS service, Host AS host, Pid AS pid, ThreadId AS tid, Thread AS thread_name, Type AS mode,
       State AS state, sum(Value) AS ns, sum(Count) AS count
FROM extprof_samples
GROUP BY day, service, host, pid, tid, thread_name, mode, state
ORDER BY ns DESC;

CREATE VIEW idle_threads AS
SELECT toDate(Start) AS day, ServiceName AS service, Host AS host, Pid AS pid, ThreadId AS tid, Thread AS thread_name,
       sum(Value) AS ns, sum(if(State IN ('running', 'runnable', 'gvl'), Value, 0)) AS busy_ns
FROM extprof_samples WHERE Type = 'wall'
GROUP BY day, service, host, pid, tid, thread_name
HAVING busy_ns * 20 < ns
ORDER BY ns DESC;
