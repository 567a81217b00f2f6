-- SPDX-License-Identifier: BSD-2-Clause
-- Tables for `extprof push --as clickhouse`.  Run it once on each server, in the database that the profiles are for:
--     clickhouse-client --multiquery < schema.sql
-- Each server has the macros {shard} and {replica}, and a cluster `extprof` in its remote_servers, with
-- internal_replication: docs/fleet.md.  A second database on the same servers needs other paths than '/clickhouse/tables/...':
--     sed 's|/clickhouse/tables/|/clickhouse/tables/other/|' schema.sql | clickhouse-client -d other --multiquery
-- It was run on ClickHouse 18.16.

-- A stack is known by a hash of its names and lines, which all machines compute alike.  Of each month its newest row is kept, so
-- that a month of samples can go with its stacks.
CREATE TABLE extprof_stacks_local
(
    ServiceName String,
    Hash UInt64,
    LastSeenNs UInt64,
    LastSeen DateTime,              -- the same in s
    Host String,                    -- a machine that had it; it chooses the shard
    Stack Array(String),            -- "name path:line", innermost first
    Methods Array(String),          -- of its code each method once, innermost first ...
    Paths Array(String),            -- ... and its file; '': it has none
    RubyPath String,                -- the innermost Ruby code, for whose line the stack counts
    RubyLine UInt32,                -- 0: there is none
    Collector UInt8                 -- 1: Methods[1] is a phase of the collector
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/extprof_stacks', '{replica}', LastSeenNs)
PARTITION BY toYYYYMM(LastSeen)
ORDER BY (ServiceName, Hash);

-- What was sampled of one stack of one thread in one span of time.  Value: ns, or bytes of mode alloc; Count: as in the
-- table `samples` of `extprof sql`.
CREATE TABLE extprof_samples_local
(
    ServiceName String,
    Type String,                    -- the mode: cpu, wall, gvl, gc, alloc
    StartNs UInt64,                 -- ns since 1970
    EndNs UInt64,
    Start DateTime,                 -- the same as StartNs in s
    Host String,
    Pid UInt32,
    Command String,
    ThreadId UInt32,
    Thread String,
    State String,
    LabelNames Array(String),
    LabelValues Array(String),
    StackHash UInt64,
    Value UInt64,
    Count UInt64
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/extprof_samples', '{replica}')
PARTITION BY toDate(Start)
ORDER BY (ServiceName, Type, Start, Host, StackHash)
-- A piece that comes again is known as long as it is one of so many last blocks of its shard, and no older than a week.  ZooKeeper
-- has a node for each.
SETTINGS replicated_deduplication_window = 100000;

-- All shards.  A piece is of one machine, so that it goes to one shard as one block.
CREATE TABLE extprof_stacks AS extprof_stacks_local
ENGINE = Distributed(extprof, currentDatabase(), extprof_stacks_local, cityHash64(Host));

CREATE TABLE extprof_samples AS extprof_samples_local
ENGINE = Distributed(extprof, currentDatabase(), extprof_samples_local, cityHash64(Host));
