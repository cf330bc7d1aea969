"""Whole merged files, beside what else makes or reads them."""
import os
from functools import partial

from measure import Absolute, Comparison, Experiment, job
from place import STATES


def random(place, state):
    table = place.tables.path("random")
    sides = {
        "hudifs": partial(render, place, table),
        "hudifs, read": partial(render, place, table, work="read_all"),
        "hudifs, lazy": partial(render, place, table, work="read_all", lazy="auto"),
        "DuckDB COPY": partial(job, "duckdb_copy", table, place.path("copy.parquet")),
        "hudi-rs": partial(job, "hudi_rs_read", table),
        "DuckDB on the base files": partial(job, "duckdb_query", table, "*"),
    }
    lines = [
        Comparison(f"render a MOR slice to Parquet, 15 % of the keys touched at random, {state}", "hudifs", "DuckDB COPY", 0.6, 0.4),
        Comparison(f"the same, and all of it read through the mount, {state}", "hudifs, read", "DuckDB COPY"),
        Comparison(f"the same with `--lazy=auto`, {state}", "hudifs, lazy", "DuckDB COPY"),
        Comparison(f"the same at once, to Arrow by the peer, {state}", "hudifs", "hudi-rs", 0.7, 0.45),
        Comparison(f"the same, to Arrow by the peer, without the logs, {state}", "hudifs", "DuckDB on the base files"),
    ]
    if place.spark and state == "warm":
        sides["Spark"] = partial(place.spark_job, "read", table)
        lines.append(Comparison(f"the same, read by the peer, {state}", "hudifs", "Spark", 0.17, 0.1))
    if state == "warm":
        lines.append(Absolute("peak memory of the daemon in MiB, 22 columns", "hudifs", "peak", bound(22)))
    return Experiment(sides, lines, partial(STATES[state], table))


def clustered(place, state):
    table = place.tables.path("clustered")
    return Experiment(
        {
            "hudifs": partial(render, place, table),
            "DuckDB COPY": partial(job, "duckdb_copy", table, place.path("copy.parquet")),
        },
        [Comparison(f"render a MOR slice to Parquet, 10 % of the keys touched, clustered, {state}", "hudifs", "DuckDB COPY", 0.35, 0.25)],
        partial(STATES[state], table),
    )


def wide(place):
    table = place.tables.path("wide")
    return Experiment(
        {
            "one column": partial(first_query, place, table, "sum(c01)"),
            "rendering and reading all": partial(render, place, table, work="read_all"),
        },
        [
            Comparison("first query of 1 column of 100 on a merged slice, nothing cached", "one column", "rendering and reading all", 0.05),
            Absolute("peak memory of the daemon in MiB, 100 columns", "rendering and reading all", "peak", bound(100)),
        ],
        partial(STATES["warm"], table),
    )


def render(place, table, work="finish_all", lazy="never"):
    """The table is mounted, and all of latest/ finished in the cache, or read as well."""
    with place.mount(table, place.fresh("cache"), "--lazy", lazy) as daemon:
        return job(work, place.path("mnt/latest")) + daemon.used()


def first_query(place, table, expressions):
    """The table is mounted and queried, with nothing in the cache."""
    with place.mount(table, place.fresh("cache")) as daemon:
        return job("duckdb_query", place.path("mnt/latest"), expressions) + daemon.used()


def bound(columns):
    """What one rendering may hold, in MiB: 100, and for each worker a page of 1 MiB of each column."""
    return 100 + os.cpu_count() * columns


EXPERIMENTS = {
    "render-warm": partial(random, state="warm"),
    "render-cold": partial(random, state="cold"),
    "clustered-warm": partial(clustered, state="warm"),
    "clustered-cold": partial(clustered, state="cold"),
    "wide": wide,
}
