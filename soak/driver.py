#!/usr/bin/env python3
"""The driver of cluster.py: writes a table with the cluster, lists views of it through its own mount, and lets the workers read them through theirs.

usage: driver.py MASTER HOME
"""
import os
import random
import sys
import time
import zlib

from pyspark.sql import functions as F

import model
import writer

RELEASE = "1.1.1"
TABLES = ("v9-mor", "v9-cow")


class Driver:
    def __init__(self, master, home):
        self.mount = os.path.join(home, "mount")
        self.spark = writer.start(RELEASE, home, master, **{
            "spark.driver.host": "127.0.0.1", "spark.executor.memory": "768m", "spark.executor.extraJavaOptions": writer.JAVA, "spark.executor.cores": 1, "spark.cores.max": 2,
            "spark.sql.files.openCostInBytes": 1 << 30,     # no task gets two files
        })
        self.await_workers()
        self.tables = [writer.Table(self.spark, name, home, random.Random(name)) for name in TABLES]
        self.where = F.udf(lambda _: os.readlink("/proc/self/ns/mnt")).asNondeterministic()
        self.said = 0

    def await_workers(self):
        """Waits until both can be given tasks."""
        limit = time.time() + 300
        while self.spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:        # the driver is one
            if time.time() > limit:
                raise SystemExit("the workers are not there after 300 s")
            time.sleep(0.2)

    def listed(self, table, view="latest"):
        """A frame whose files have been listed, here and now."""
        # Without the option Spark looks into no folder that is not named column=value.
        return self.spark.read.option("recursiveFileLookup", "true").parquet(os.path.join(self.mount, table.name, view))

    def check(self, what, frame, state):
        """Reads a listed frame on the workers, which must find the rows of a state."""
        self.spark.conf.set("spark.sql.files.maxPartitionBytes", 128 << 20)
        rows = frame.select(*model.COLUMNS, self.where("id").alias("host")).collect()
        hosts = {r.host for r in rows}
        if len(hosts) != 2 or os.readlink("/proc/self/ns/mnt") in hosts:
            raise SystemExit(f"{what}: read on {hosts}, not on the two workers")
        got = sorted(plain(r) for r in rows)
        want = sorted(plain(model.row(n, v)) for n, (v, _) in state.items())
        if got != want:
            lost, gained = [r for r in want if r not in got], [r for r in got if r not in want]
            raise SystemExit(f"{what}: {len(want)} rows expected, {len(got)} found; {len(lost)} missing, first {lost[:1]}; {len(gained)} wrong, first {gained[:1]}")
        self.check_totals(what, frame, state)
        self.said += 1
        print(f"cluster: {what}: {len(got)} rows in {len(frame.inputFiles())} files, right, read on {len(hosts)} workers", flush=True)

    def check_totals(self, what, frame, state):
        """The same through aggregates that the workers compute, from parts of files."""
        self.spark.conf.set("spark.sql.files.maxPartitionBytes", 4 << 10)
        got = frame.agg(F.count("*"), F.sum("quantity"), F.sum("price"), F.sum(F.crc32("id"))).collect()[0]
        rows = [model.row(n, v) for n, (v, _) in state.items()]
        want = (len(rows), sum(r.quantity for r in rows), sum(r.price for r in rows), sum(crc32(r.id) for r in rows))
        if tuple(got) != want:
            raise SystemExit(f"{what}: totals are {tuple(got)}, expected {want}")

    def await_commit(self, table):
        """Waits until this host's mount shows the newest instant."""
        newest = table.before[-1][0]
        limit = time.time() + 60
        while newest not in os.listdir(os.path.join(self.mount, table.name, "asof")):
            if time.time() > limit:
                raise SystemExit(f"{table.name}: the driver's mount does not show {newest} after 60 s")
            time.sleep(0.05)

    def run(self):
        for t in self.tables:
            for change in (t.upsert, t.delete):
                t.steps += 1
                change()
        for t in self.tables:
            self.check_table(t)
        print(f"cluster: {self.said} views right")

    def check_table(self, t):
        self.await_commit(t)
        self.check(f"{t.name}/latest", self.listed(t), t.state)
        before, state, instant = self.listed(t), dict(t.state), t.before[-1][0]
        t.steps += 1
        t.upsert(**(writer.COMPACT_NOW if t.kind == "mor" else {}))
        self.check(f"{t.name}/latest, listed before a commit", before, state)
        self.await_commit(t)
        self.check(f"{t.name}/latest, after the commit", self.listed(t), t.state)
        self.check(f"{t.name}/asof/{instant}", self.listed(t, f"asof/{instant}"), state)


def plain(r):
    """A row as Spark gives it or the model has it, in a form that compares."""
    values = [list(v) if isinstance(v, tuple) else v for v in (getattr(r, c) for c in model.COLUMNS)]
    return repr([v.replace(tzinfo=None) if hasattr(v, "tzinfo") else v for v in values])


def crc32(text):
    return zlib.crc32(text.encode())


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    time.tzset()
    Driver(*sys.argv[1:]).run()
