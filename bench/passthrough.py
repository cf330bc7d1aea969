"""A copy-on-write file through the mount, beside the same file."""
import glob
import os
from functools import partial

from measure import Comparison, Experiment, job
from place import STATES

READS = {       # a job, how often, and the least throughput that we ask for, of that of the file itself
    "open and close": ("open_often", 200, None),
    "sequential": ("read_sequential", 10, 0.95),
    "random": ("read_random", 300_000, 0.9),
    "mmap": ("read_mapped", 100, 0.9),
}


def reads(place, kind, state="warm"):
    table = place.tables.path("cow")
    (file,) = glob.glob(os.path.join(table, "*", "*.parquet"))
    name, amount, throughput = READS[kind]
    if state == "cold":
        amount = 1

    def mounted():
        with place.mount(table, place.fresh("cache")) as daemon:
            (same,) = glob.glob(place.path("mnt/latest/*/*.parquet"))
            STATES[state](table)
            return daemon.during(partial(job, name, same, amount))

    work = f"copy-on-write through the mount, {kind}, {state}"
    lines = [Comparison(f"{work}: CPU", "mount", "the file itself", throughput and 1.1)]
    if throughput:
        lines.append(Comparison(f"{work}: wall time, the inverse of throughput", "mount", "the file itself", 1 / throughput, metric="wall"))
    return Experiment({"mount": mounted, "the file itself": partial(job, name, file, amount)}, lines, partial(STATES[state], table),
                      often=4 if state == "cold" else 1)


EXPERIMENTS = {
    "cow-sequential": partial(reads, kind="sequential"),
    "cow-sequential-cold": partial(reads, kind="sequential", state="cold"),
    "cow-random": partial(reads, kind="random"),
    "cow-open": partial(reads, kind="open and close"),
    "cow-mmap": partial(reads, kind="mmap"),
}
