"""Queries of merged files by DuckDB: the first, which renders, and later ones."""
from functools import partial

from measure import Comparison, Experiment, job
from place import STATES, warm
from rendering import first_query

THREE = ("ts", "d1", "s_low")


def three(place, state):
    table = place.tables.path("random")
    sides = {
        "hudifs": partial(first_query, place, table, ", ".join(THREE)),
        "hudi-rs": partial(job, "hudi_rs_read", table, *THREE),
        "DuckDB on the base files": partial(job, "duckdb_query", table, ", ".join(THREE)),
    }
    lines = [
        Comparison(f"first query of 3 columns of 22 on a merged slice, nothing cached, {state}", "hudifs", "hudi-rs", 0.3, 0.15),
        Comparison(f"the same, the peer without the logs, {state}", "hudifs", "DuckDB on the base files"),
    ]
    if place.spark and state == "warm":
        sides["Spark"] = partial(place.spark_job, "read", table, *THREE)
        lines.append(Comparison(f"the same, {state}", "hudifs", "Spark"))
    return Experiment(sides, lines, partial(STATES[state], table))


def count(place):
    table = place.tables.path("random")
    sides = {
        "hudifs": partial(first_query, place, table, "count(*)"),
        "hudi-rs": partial(job, "hudi_rs_read", table, "_hoodie_record_key"),
    }
    lines = [Comparison("first `count(*)` on a merged slice, nothing cached; by the peer of one column that it reads", "hudifs", "hudi-rs")]
    if place.spark:
        sides["Spark"] = partial(place.spark_job, "count", table)
        lines.append(Comparison("the same", "hudifs", "Spark"))
    return Experiment(sides, lines, partial(STATES["warm"], table))


def again(place, expressions, what):
    """A query of files that were rendered before, through the mount and of copies of them on the disk."""
    table, copy, cache = place.tables.path("random"), place.path("copy"), place.path("kept")
    place.copy(table, "latest", copy)

    def ours():
        with place.mount(table, cache) as daemon:
            warm(place.path("mnt/latest"))
            return daemon.during(partial(job, "duckdb_query", place.path("mnt/latest"), expressions))

    return Experiment(
        {"mount": ours, "the same Parquet natively": partial(job, "duckdb_query", copy, expressions)},
        [Comparison(f"second query on a merged slice, {what}", "mount", "the same Parquet natively", 1.1)],
        partial(STATES["warm"], copy),
        often=4,
    )


EXPERIMENTS = {
    "three-warm": partial(three, state="warm"),
    "three-cold": partial(three, state="cold"),
    "count": count,
    "second-three": partial(again, expressions=", ".join(THREE), what="3 columns of 22"),
    "second-all": partial(again, expressions="*", what="all columns"),
}
