"""Whole merged files, beside what else makes or reads them."""
from functools import partial

from measure import Comparison, Experiment, job
from place import STATES


def experiments(place):
    table = place.tables.path("random")
    for state, prepare in STATES.items():
        yield Experiment(
            f"render-{state}",
            {
                "hudifs": partial(ours, place, table),
                "DuckDB COPY": partial(job, "duckdb_copy", table, place.path("copy.parquet")),
                "hudi-rs": partial(job, "hudi_rs_read", table),
            },
            [
                Comparison(f"render a MOR slice, 15 % of the keys touched at random, {state}", "hudifs", "DuckDB COPY", 0.6, 0.4),
                Comparison(f"the same, {state}", "hudifs", "hudi-rs", 0.7, 0.45),
            ],
            partial(prepare, table),
        )


def ours(place, table):
    """The mount is made, and all of latest/ read, so that it lies finished in the cache."""
    with place.mount(table, place.fresh("cache")) as daemon:
        return job("read_all", place.path("mnt/latest")) + daemon.used()
