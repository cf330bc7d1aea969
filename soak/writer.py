#!/usr/bin/env python3
"""Writes tables with Spark and Hudi without end, and keeps a record of what each instant holds (see model.py).

usage: writer.py RELEASE HOME SEED TABLE...

RELEASE is 0.15.0 or 1.1.1; a TABLE is v6 or v9 (the table version of that release), then -mor or -cow, with -flat behind it for a table without
partitions and -metadata for one with a metadata table. It lies in HOME/tables/TABLE, the record in HOME/journal/TABLE.journal. Ends after the round in which the file
HOME/stop is there; takes up what an earlier writer left.
"""
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import model

FIRST = ("insert", "upsert")        # the first steps of each table; after them it is as it happens
WRITES = ("commit", "deltacommit", "replacecommit")
JAVA = "-Duser.timezone=UTC -XX:+UseSerialGC -XX:TieredStopAtLevel=1"       # what takes little of a small machine
LIVE = 900          # rows that a table tends to

SCHEMA = pa.schema([
    ("id", pa.string()), ("region", pa.string()), ("seq", pa.int64()), ("quantity", pa.int32()), ("price", pa.decimal128(10, 2)),
    ("note", pa.string()), ("changed", pa.timestamp("us", "UTC")), ("tags", pa.list_(pa.string())),
])
OPTIONS = {
    "hoodie.upsert.shuffle.parallelism": 1, "hoodie.insert.shuffle.parallelism": 1, "hoodie.delete.shuffle.parallelism": 1,
    "hoodie.bulkinsert.shuffle.parallelism": 1, "hoodie.simple.index.parallelism": 1, "hoodie.index.type": "SIMPLE",
    "hoodie.embed.timeline.server": "false", "hoodie.write.markers.type": "DIRECT",
    "hoodie.clean.automatic": "true", "hoodie.cleaner.commits.retained": model.RETAINED,
    "hoodie.archive.automatic": "true", "hoodie.keep.min.commits": model.RETAINED + 2, "hoodie.keep.max.commits": model.RETAINED + 5,
    "hoodie.compact.inline": "false", "hoodie.clustering.inline": "false",
    # Writes do not wait for a clustering that a killed writer has left.
    "hoodie.clustering.updates.strategy": "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy",
    "hoodie.clustering.rollback.pending.replacecommit.on.conflict": "true",
    "hoodie.datasource.write.recordkey.field": "id", "hoodie.datasource.write.precombine.field": "seq",
}
COMPACT_NOW = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": 1}
CLUSTER_NOW = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": 1, "hoodie.clustering.plan.strategy.small.file.limit": 10_000_000}
# What runs beside writes leaves that to them, and makes no metadata table beside a writer that has none.
ALONE = "hoodie.clean.automatic=false,hoodie.archive.automatic=false,hoodie.metadata.enable=false"
FAIL = {
    "hoodie.precommit.validators": "org.apache.hudi.client.validator.SqlQuerySingleResultPreCommitValidator",
    "hoodie.precommit.validators.single.value.sql.queries": "select count(*) from <TABLE_NAME>#-1",
}


def start(release, home, master="local[1]", **more):
    builder = (
        SparkSession.builder.master(master).appName("hudifs soak")
        .config("spark.jars.packages", f"org.apache.hudi:hudi-spark3.5-bundle_2.12:{release}")
        .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .config("spark.kryo.registrator", "org.apache.spark.HoodieSparkKryoRegistrar")
        .config("spark.sql.extensions", "org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.hudi.catalog.HoodieCatalog")
        .config("spark.sql.session.timeZone", "UTC").config("spark.driver.extraJavaOptions", JAVA)
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        .config("spark.sql.shuffle.partitions", 1).config("spark.default.parallelism", 1)
        .config("spark.sql.warehouse.dir", os.path.join(home, f"warehouse-{release}"))
        .config("spark.driver.memory", "1g").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    )
    for name, value in more.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


class Table:
    """A table while it is written."""

    def __init__(self, spark, name, home, rng):
        self.spark, self.name, self.rng = spark, name, rng
        version, self.kind, *traits = name.split("-")
        self.version = int(version[1:])
        self.path = os.path.join(home, "tables", self.name)
        self.input = os.path.join(home, self.name + ".parquet")
        self.options = {
            **OPTIONS,
            "hoodie.table.name": self.sql_name(),
            "hoodie.datasource.write.table.type": {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[self.kind],
            "hoodie.datasource.write.partitionpath.field": "" if "flat" in traits else "region",
            "hoodie.metadata.enable": "metadata" in traits,
        }
        if "flat" in traits:
            self.options["hoodie.datasource.write.keygenerator.class"] = "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
        if self.version == 6:
            # Clustering with rows writes decimals as INT64, which Hudi 0.15 itself multiplies by their scale when it next rewrites the file.
            self.options["hoodie.datasource.write.row.writer.enable"] = "false"
        self.take_up(model.journal_of(os.path.join(home, "journal"), self.name))

    def take_up(self, path):
        """Goes on where the record ends, and ends the step in which an earlier writer was killed."""
        past = model.Model(path, self.version)
        past.follow(time.time())
        self.record = model.Recorder(path)
        self.seen = {i.requested for i in past.instants}
        self.before, self.state = [], {}
        if past.open:
            self.opened, self.steps = past.open, past.open["n"]
            self.end()
            past.follow(time.time())
        self.steps = past.steps
        self.state = past.state_at(None)        # as in the model: row number -> (version, requested time)
        self.before = []                        # the states before the newest writes, with the instants that ended them
        self.next_row = max((n for rows in past.changes.values() for n in rows), default=-1) + 1

    def sql_name(self):
        return self.name.replace("-", "_")

    # ---- the timeline

    def timeline(self, *below):
        """The folder of the table's timeline, or of that of a table below."""
        return os.path.join(self.path, *below, ".hoodie", *(["timeline"] if self.version >= 8 else []))

    def completed(self):
        """The completed instants of the active timeline, oldest first: (requested, completed, action, path)."""
        folder = self.timeline()
        found = []
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            m = re.fullmatch(r"(\d{17})(?:_(\d{17}))?\.([a-z]+)", name)
            if m and m[3] not in ("inflight", "requested") and (self.version < 8 or m[2]):
                found.append((m[1], m[2], m[3], os.path.join(folder, name)))
        return sorted(found)

    def pending(self):
        """The names of files of instants that have not completed."""
        done = {i[0] for i in self.completed()}
        names = os.listdir(self.timeline()) if os.path.isdir(self.timeline()) else ()
        return [name for name in names if re.match(r"\d{17}\.", name) and name[:17] not in done]

    def compacting(self):
        """Whether a compaction is planned or runs."""
        return any(".compaction." in name for name in self.pending())

    def pending_after(self, instant):
        """Whether an instant after this one has not completed."""
        return any(name[:17] > instant for name in self.pending())

    def compacted_after(self, instant):
        """Whether the metadata table has been compacted since."""
        folder = self.timeline(".hoodie", "metadata")
        names = os.listdir(folder) if os.path.isdir(folder) else ()
        return any(name.endswith(".commit") and name[:17] >= instant for name in names)

    # ---- steps

    def step(self):
        """One random change of the table or of its files."""
        self.steps += 1
        if self.steps <= len(FIRST):
            return getattr(self, FIRST[self.steps - 1])()
        services = ("compact", "compact_beside", "cluster", "fail", "undo", "overwrite")
        size = len(self.state)
        what = self.rng.choices(
            ("insert", "upsert", "delete", *services),
            weights=(3 if size < LIVE else 1, 5, 2 if size < LIVE else 4, *((2, 2) if self.kind == "mor" else (0, 0)), 1, 1, 1, 1),
        )[0]
        getattr(self, what)()

    def some(self, most):
        """Some of the rows that are there."""
        return self.rng.sample(sorted(self.state), min(len(self.state), self.rng.randint(1, most)))

    def fresh(self, count):
        self.next_row += count
        return range(self.next_row - count, self.next_row)

    def newer(self, numbers):
        return {n: self.steps for n in numbers}

    def insert(self, **options):
        self.write("insert", self.newer(self.fresh(self.rng.randint(50, 300))), **options)

    def upsert(self, **options):
        changes = self.newer(self.some(120)) | self.newer(self.fresh(self.rng.randint(0, 40)))
        gone = [n for n in self.rng.sample(range(self.next_row), min(self.next_row, 20)) if n not in self.state]
        if self.compacting():       # Hudi would look for them in the old base file, and in the new one later, and write them twice
            gone = []
        self.write("upsert", changes | self.newer(gone), **options)

    def delete(self, **options):
        self.write("delete", dict.fromkeys(self.some(80)), **options)

    def compact(self):
        self.rng.choice((self.upsert, self.delete))(**COMPACT_NOW)

    def compact_beside(self):
        """A compaction that is planned, and runs while writes go on."""
        if self.options["hoodie.metadata.enable"]:      # the metadata table would need a lock
            return self.upsert(**COMPACT_NOW)
        self.compaction("schedule")
        with concurrent.futures.ThreadPoolExecutor(1) as beside:
            run = beside.submit(self.compaction, "run")
            self.upsert()
            self.steps += 1
            self.delete()
            run.result()

    def compaction(self, operation):
        self.register()
        self.spark.sql(f"call run_compaction(op => '{operation}', table => '{self.sql_name()}', options => '{ALONE}')").collect()

    def cluster(self):
        self.rng.choice((self.upsert, self.insert))(**CLUSTER_NOW)

    def overwrite(self):
        """One partition, or the table, replaced."""
        numbers = self.fresh(self.rng.randint(50, 200))
        if self.options["hoodie.datasource.write.partitionpath.field"]:
            region = self.rng.choice(model.REGIONS)
            numbers = [n for n in numbers if model.region(n) == region]
            gone = [n for n in self.state if model.region(n) == region]
        else:
            gone = list(self.state)
        self.write("insert_overwrite", dict.fromkeys(gone) | self.newer(numbers))

    def fail(self):
        """A write whose files are all there when it dies before its commit. The next write rolls it back."""
        self.begin("failing upsert")
        try:
            self.send("upsert", self.newer(self.some(120)), **FAIL)
        except Exception:       # the validator's own, or the one it meets where there are log files only
            self.end()
        else:
            raise RuntimeError(f"{self.name}: a write went well that had to fail")

    def undo(self):
        """The newest write taken back, as a person does who regrets it."""
        writes = [i for i in self.completed() if i[2] in WRITES]
        if not self.before or not writes or writes[-1][0] != self.before[-1][0] or self.pending_after(writes[-1][0]) or self.compacted_after(writes[-1][0]):
            return self.upsert()        # a service or a failed write came after it, and Hudi undoes nothing before that
        requested, _ = self.before[-1]
        self.begin("rollback", undo=requested)
        self.register()
        self.spark.sql(f"call rollback_to_instant(table => '{self.sql_name()}', instant_time => '{requested}')").collect()
        if not self.end():
            raise RuntimeError(f"{self.name}: Hudi did not roll {requested} back")

    def register(self):
        self.spark.sql(f"create table if not exists {self.sql_name()} using hudi location '{self.path}'")

    # ---- writing

    def write(self, operation, changes, **options):
        self.begin(f"{operation} of {len(changes)}" + "".join(f", {o.split('.')[1]}" for o, v in options.items() if v == "true"), changes)
        self.send(operation, changes, **options)
        if not self.end():
            raise RuntimeError(f"{self.name}: the write left no instant")

    def send(self, operation, changes, **options):
        if operation == "delete":
            rows = [model.row(n, self.state[n][0])._replace(seq=self.steps) for n in changes]
        else:
            rows = [model.row(n, v) for n, v in changes.items() if v is not None]
        pq.write_table(pa.Table.from_pylist([r._asdict() for r in rows], SCHEMA), self.input)      # cheaper than to hand rows to the JVM one by one
        frame = self.spark.read.parquet(self.input)
        mode = "append" if self.completed() else "overwrite"
        every = {**self.options, "hoodie.datasource.write.operation": operation, **options}
        frame.write.format("hudi").options(**every).mode(mode).save(self.path)

    def begin(self, what, changes=None, undo=None):
        self.opened = {"begin": time.time(), "n": self.steps, "what": what, "rows": changes or {}, "undo": undo}
        self.record.put(**self.opened)

    def end(self):
        """Records what became of a step, and tells whether it did what it was to do."""
        completed = self.completed()
        new = [i for i in completed if i[0] not in self.seen and i[2] in WRITES]
        self.seen.update(i[0] for i in new)
        changes = {int(n): v for n, v in self.opened["rows"].items()}
        # Services that the step runs come after its write, others were requested before the step.
        begun = time.strftime("%Y%m%d%H%M%S", time.gmtime(self.opened["begin"])) + f"{int(self.opened['begin'] * 1000) % 1000:03d}"
        written = next((i[0] for i in new if i[0] >= begun), None) if changes else None
        undone = self.opened["undo"] is not None and self.opened["undo"] not in [i[0] for i in completed]
        instants = [
            {"requested": requested, "completed": done, "action": action, "born": born(path), "visible": os.stat(path).st_mtime, "rows": requested == written}
            for requested, done, action, path in new
        ]
        self.record.put(end=time.time(), n=self.steps, instants=instants, undone=undone)
        if written:
            self.before = [*self.before[-2:], (written, dict(self.state))]
            model.apply(self.state, changes, written)
        if undone and self.before:
            _, self.state = self.before.pop()
        return bool(written or undone)


def born(path):
    """When a file was made; its content comes a moment later."""
    found = float(subprocess.run(["stat", "-c", "%.6W", path], capture_output=True, check=True).stdout)
    return found or os.stat(path).st_mtime - 1     # a file system that does not keep it


def main():
    release, home, seed, *names = sys.argv[1:]
    rng = random.Random(f"{seed} {release}")
    spark = start(release, home)
    tables = [Table(spark, name, home, rng) for name in names]
    while True:
        for t in tables:
            t.step()
        if os.path.exists(os.path.join(home, "stop")):
            break
    spark.stop()


if __name__ == "__main__":
    main()
