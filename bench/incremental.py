"""One commit out of many, beside hudi-rs and beside the table as a whole."""
import os
from functools import partial

from measure import Comparison, Experiment, job
from place import warm
from rendering import render


def one_of_many(place):
    table = place.tables.path("commits")
    with place.mount(table, place.fresh("cache")):
        steps = sorted(os.listdir(place.path("mnt/incremental")))
    step = steps[len(steps) // 2]

    def ours():
        with place.mount(table, place.fresh("cache")) as daemon:
            return job("duckdb_query", place.path(f"mnt/incremental/{step}"), "*") + daemon.used()

    return Experiment(
        {
            "hudifs": ours,
            "hudi-rs": partial(job, "hudi_rs_incremental", table, *step.split("..")),
            "all of latest/": partial(render, place, table),
        },
        [
            Comparison(f"incremental of one commit out of {len(steps)}, to Arrow", "hudifs", "hudi-rs"),
            Comparison("the same", "hudifs", "all of latest/"),
        ],
        partial(warm, table),
    )


EXPERIMENTS = {"incremental": one_of_many}
