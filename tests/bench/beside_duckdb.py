#!/usr/bin/env python3
"""`dwindle traces` beside DuckDB on the same OTLP/JSON lines, alternating in one run.

    python3 -m venv venv && venv/bin/pip install duckdb
    tests/bench/make_ndjson.py 300 > spans.ndjson
    venv/bin/python tests/bench/beside_duckdb.py target/release/dwindle spans.ndjson [--rounds 5]

DuckDB counts spans and traces and takes quantiles of the duration by service and span name; Dwindle
does its whole analysis and lists every request. Of each: wall time, CPU time (all threads, user
and system) and the peak of resident memory, medians over the rounds, and Dwindle's share of
DuckDB's. What DuckDB does, `--query` runs alone.
"""

import argparse
import os
import statistics
import sys
import time

COLUMNS = """{resourceSpans: 'STRUCT(
    resource STRUCT(attributes STRUCT("key" VARCHAR, "value" STRUCT(stringValue VARCHAR))[]),
    scopeSpans STRUCT(spans STRUCT(traceId VARCHAR, spanId VARCHAR, name VARCHAR,
        startTimeUnixNano UBIGINT, endTimeUnixNano UBIGINT)[])[])[]'}"""

SPANS = """
    CREATE TEMP TABLE spans AS
    WITH entries AS (
        SELECT unnest(resourceSpans) AS entry
        FROM read_json(?, format = 'newline_delimited', columns = %s)),
    scopes AS (
        SELECT list_filter(entry.resource.attributes, lambda a: a."key" = 'service.name')[1]."value".stringValue
                   AS service,
               unnest(entry.scopeSpans) AS scope
        FROM entries),
    flat AS (SELECT service, unnest(scope.spans) AS span FROM scopes)
    SELECT service, span.name AS name, span.traceId AS trace,
           span.endTimeUnixNano::BIGINT - span.startTimeUnixNano::BIGINT AS duration
    FROM flat""" % COLUMNS


def query(path):
    import duckdb
    db = duckdb.connect()
    db.execute(SPANS, [path])
    print(db.execute("SELECT count(*), count(DISTINCT trace) FROM spans").fetchall())
    print(db.execute("""
        SELECT service, name, count(*), quantile_cont(duration, [0.5, 0.95, 0.99])
        FROM spans GROUP BY ALL ORDER BY ALL""").fetchall())


def run(command):
    """Wall seconds, CPU seconds and MB at the peak of one run; its output goes nowhere."""
    began = time.monotonic()
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - began
    if status:
        sys.exit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dwindle")
    parser.add_argument("file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--query", action="store_true", help="DuckDB alone, with its answer")
    args = parser.parse_args()
    if args.query:
        return query(args.file)
    commands = {
        "duckdb": [sys.executable, __file__, args.dwindle, args.file, "--query"],
        "dwindle": [args.dwindle, "traces", args.file],
    }
    runs = {name: [] for name in commands}
    for _ in range(args.rounds):
        for name, command in commands.items():
            runs[name].append(run(command))
    medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in runs.items()}
    print(f"{os.path.getsize(args.file) / 1e6:.0f} MB, median of {args.rounds}, {os.cpu_count()} cores")
    for name, (wall, cpu, peak) in medians.items():
        print(f"{name:8} {wall:6.2f} s wall {cpu:6.2f} CPU s {peak:7.0f} MB")
    ratios = [ours / theirs for ours, theirs in zip(medians["dwindle"], medians["duckdb"])]
    print(f"{'ratio':8} {ratios[0]:6.2f}        {ratios[1]:6.2f}       {ratios[2]:7.2f}")


if __name__ == "__main__":
    main()
