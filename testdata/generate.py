#!/usr/bin/env python3
"""Writes the tables of this folder with Hudi itself, and asks the same Hudi release for every answer we test against.

usage: generate.py RELEASE [NAME...]        RELEASE is 0.15.0, 1.0.2 or 1.1.1; NAMEs choose among that release's tables

It needs pyspark 3.5 and Java 17; Spark fetches the Hudi bundle. generate.sh sets all of that up and runs every release.
A table becomes a folder beside this file: table.zip, case.json and one Parquet file a view below golden/ (see README.md).
"""
import datetime as dt
import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
from decimal import Decimal

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE_VERSION = {"0.15.0": 6, "1.0.2": 8, "1.1.1": 9}
WRITES = ("commit", "deltacommit", "replacecommit")

# Small tables on purpose: little room for Bloom filters, no services of their own accord, no cleaning.
COMMON = {
    "hoodie.upsert.shuffle.parallelism": 1,
    "hoodie.insert.shuffle.parallelism": 1,
    "hoodie.delete.shuffle.parallelism": 1,
    "hoodie.bulkinsert.shuffle.parallelism": 1,
    "hoodie.simple.index.parallelism": 1,
    "hoodie.bloom.index.parallelism": 1,
    "hoodie.index.type": "SIMPLE",
    "hoodie.index.bloom.num_entries": 64,
    "hoodie.bloom.index.filter.type": "SIMPLE",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
    "hoodie.parquet.small.file.limit": 0,       # inserts make file groups of their own
}
COMPACT_NOW = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": 1}
CLUSTER_NOW = {
    "hoodie.clustering.inline": "true",
    "hoodie.clustering.inline.max.commits": 1,
    "hoodie.clustering.plan.strategy.small.file.limit": 10_000_000,
    "hoodie.clustering.plan.strategy.sort.columns": "id",
}
LOG_CHANGES = {"hoodie.table.cdc.enabled": "true"}
BY_EVENT_TIME = {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload"}
HIVE_STYLE = {"hoodie.datasource.write.hive_style_partitioning": "true"}


def start(release):
    session = (
        SparkSession.builder.master("local[2]").appName("hudifs testdata")
        .config("spark.jars.packages", f"org.apache.hudi:hudi-spark3.5-bundle_2.12:{release}")
        .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .config("spark.kryo.registrator", "org.apache.spark.HoodieSparkKryoRegistrar")
        .config("spark.sql.extensions", "org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.hudi.catalog.HoodieCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC")
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        .config("spark.sql.shuffle.partitions", 1)
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


class Table:
    """One table while it is written and asked."""

    def __init__(self, name, description, kind, schema, key="id", ordering="seq", partition="region", **options):
        self.name, self.description, self.kind, self.schema = name, description, kind, schema
        self.home = os.path.join(HERE, name)
        shutil.rmtree(self.home, ignore_errors=True)
        os.makedirs(os.path.join(self.home, "golden"))
        self.path = os.path.join(scratch, name)
        self.options = {
            **COMMON,
            "hoodie.table.name": name,
            "hoodie.datasource.write.table.type": {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[kind],
            "hoodie.datasource.write.recordkey.field": key,
            "hoodie.datasource.write.precombine.field": ordering,
            "hoodie.datasource.write.partitionpath.field": partition,
            **options,
        }
        self.steps, self.views = [], []

    # ---- writing

    def write(self, operation, rows, **options):
        frame = spark.createDataFrame(rows, self.schema).coalesce(1)
        mode = "append" if self.steps else "overwrite"
        every = {**self.options, "hoodie.datasource.write.operation": operation, **options}
        frame.write.format("hudi").options(**every).mode(mode).save(self.path)
        self.steps.append(f"{operation} of {len(rows)}" + ("".join(f", {k}={v}" for k, v in options.items() if "inline" in k and "max" not in k)))

    def insert(self, rows, **options):
        self.write("insert", rows, **options)

    def upsert(self, rows, **options):
        self.write("upsert", rows, **options)

    def delete(self, rows, **options):
        self.write("delete", rows, **options)

    def lose_newest_commit(self):
        """What a writer leaves that dies just before it commits: data files and an inflight instant."""
        newest = [i for i in self.timeline() if i["action"] in WRITES][-1]
        os.remove(os.path.join(self.timeline_folder(), newest["file"]))
        self.steps.append("the writer dies before it commits")

    def roll_back_newest(self):
        newest = [i for i in self.timeline() if i["action"] in WRITES][-1]
        spark.sql(f"call rollback_to_instant(table => '{self.register()}', instant_time => '{newest['requested']}')").collect()
        self.steps.append("rollback of the newest instant")

    def take_over(self, other):
        """Begins with what an earlier release has written: another table of this folder."""
        with zipfile.ZipFile(os.path.join(HERE, other, "table.zip")) as z:
            z.extractall(self.path)
        for name in os.listdir(self.timeline_folder()):     # an upgrade takes completion times from there
            if re.match(r"\d{17}", name):
                at = dt.datetime.strptime(name[:17] + "000", "%Y%m%d%H%M%S%f").replace(tzinfo=dt.timezone.utc).timestamp() + 1
                os.utime(os.path.join(self.timeline_folder(), name), (at, at))
        with open(os.path.join(HERE, other, "case.json")) as f:
            self.steps += json.load(f)["steps"]

    def upgrade(self, to):
        spark.sql(f"call upgrade_table(table => '{self.register()}', to_version => '{to}')").collect()
        self.steps.append(f"upgrade to version {to.lower()}")

    def register(self):
        spark.sql(f"create table if not exists {self.name} using hudi location '{self.path}'")
        return self.name

    # ---- the timeline, from its file names

    def timeline_folder(self):
        folder = os.path.join(self.path, ".hoodie", "timeline")
        return folder if os.path.isdir(folder) else os.path.join(self.path, ".hoodie")

    def timeline(self):
        """The completed instants, oldest first."""
        found = []
        for name in sorted(os.listdir(self.timeline_folder())):
            m = re.fullmatch(r"(\d{17})(?:_(\d{17}))?\.([a-z]+)", name)
            if m and m[3] not in ("inflight", "requested") and (version < 8 or m[2]):
                found.append({"action": m[3], "requested": m[1], "completed": m[2], "file": name})
        return found

    def pending(self):
        """The requested times of the writes that have not completed, oldest first."""
        names = os.listdir(self.timeline_folder())
        begun = {m[1] for m in (re.fullmatch(r"(\d{17})\.(?:[a-z]+\.)?inflight", n) for n in names) if m}
        return sorted(begun - {i["requested"] for i in self.timeline()})

    # ---- asking

    def ask(self, view, **options):
        number = f"golden/{len(self.views):02d}.parquet"
        answer = os.path.join(scratch, "answer")
        shutil.rmtree(answer, ignore_errors=True)
        reader = spark.read.format("hudi").options(**{"hoodie.metadata.enable": self.options["hoodie.metadata.enable"], **options})
        try:
            reader.load(self.path).coalesce(1).write.parquet(answer)
        except Exception as e:      # Hudi's refusal is an answer too
            self.views.append({**view, "error": reason(e), "rows": None})
            return
        part = next(f for f in os.listdir(answer) if f.startswith("part-") and f.endswith(".parquet"))
        target = os.path.join(self.home, number)
        shutil.move(os.path.join(answer, part), target)
        self.views.append({**view, "golden": number, "rows": pq.read_metadata(target).num_rows})

    def snapshot(self):
        self.ask({"kind": "snapshot"})

    def read_optimized(self):
        self.ask({"kind": "read_optimized"}, **{"hoodie.datasource.query.type": "read_optimized"})

    def as_of(self, instant):
        self.ask({"kind": "asof", "instant": instant}, **{"as.of.instant": instant})

    def incremental(self, begin, end=None):
        view = {
            "kind": "incremental", "begin": begin, "end": end,
            "range_by": "completion_time" if version >= 8 else "instant_time",
            "begin_inclusive": version == 8,        # only Hudi 1.0 counts the begin of a range to it
        }
        options = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.read.begin.instanttime": begin}
        if end:
            options["hoodie.datasource.read.end.instanttime"] = end
        self.ask(view, **options)

    def changes(self, begin, end=None):
        view = {"kind": "cdc", "begin": begin, "end": end, "range_by": "instant_time", "begin_inclusive": False}
        options = {
            "hoodie.datasource.query.type": "incremental", "hoodie.datasource.query.incremental.format": "cdc",
            "hoodie.datasource.read.begin.instanttime": begin,
        }
        if end:
            options["hoodie.datasource.read.end.instanttime"] = end
        self.ask(view, **options)

    def ask_changes(self):
        times = [i["requested"] for i in self.timeline() if i["action"] in WRITES]
        for begin, end in [("000", None), *zip(["000", *times], times), (times[0], times[-1])]:
            self.changes(begin, end)

    def ask_all(self):
        writes = [i for i in self.timeline() if i["action"] in WRITES]
        self.snapshot()
        if self.kind == "mor":
            self.read_optimized()
        for i in writes:
            self.as_of(i["requested"])
        for instant in self.pending():
            self.as_of(instant)
        times = sorted(i["completed"] or i["requested"] for i in writes)
        self.incremental("000")
        ranges = [(times[0], None), (times[0], times[-1]), *zip(times, times[1:]), (times[0], times[-2])]
        for begin, end in dict.fromkeys(ranges):
            self.incremental(begin, end)
        if LOG_CHANGES.items() <= self.options.items():
            self.ask_changes()

    # ---- keeping

    def keep(self, **more):
        self.ask_all()
        archive = os.path.join(self.home, "table.zip")
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
            for folder, inner, files in os.walk(self.path):
                inner.sort()
                for f in sorted(files):
                    full = os.path.join(folder, f)
                    if not f.endswith(".crc"):
                        z.write(full, os.path.relpath(full, self.path))
                if not inner and not files and folder != self.path:
                    z.write(folder, os.path.relpath(folder, self.path) + "/")
        case = {
            "name": self.name, "description": self.description, "writer": f"hudi {release} / spark 3.5",
            "table_version": version, "table_type": self.kind.upper(), "steps": self.steps,
            "timeline": [{k: i[k] for k in ("action", "requested", "completed")} for i in self.timeline()], "pending": self.pending(),
            **more, "views": self.views,
        }
        with open(os.path.join(self.home, "case.json"), "w") as f:
            json.dump(case, f, indent=1)
            f.write("\n")
        size = os.path.getsize(archive)
        assert size < 150_000, f"{self.name}: {size} bytes zipped"
        answers = " ".join(f"{v['kind']}={v['rows'] if 'golden' in v else 'refused'}" for v in self.views)
        print(f"{self.name}: {size // 1024} KiB; {answers}", flush=True)
        for v in self.views:
            if "error" in v:
                print(f"    {v['kind']} {v.get('instant') or v.get('begin')}: {v['error']}", flush=True)


def reason(e):
    """The innermost cause, in one line."""
    cause = getattr(e, "java_exception", None)
    if cause is None:
        return str(e).strip().splitlines()[0][:300]
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.toString()).strip().splitlines()[0][:300].replace(scratch, "SCRATCH")


# ---- the tables

ORDERS = """id string, region string, seq int, item string, quantity int, price decimal(10,2), ordered date,
            changed timestamp, express boolean, weight double"""
REGIONS = ("north", "south", "west")


def order(n, seq, region=None, late=False):
    """Order n in its seq-th state. A late one carries an ordering value below all others."""
    mix = n * 37 + seq * 11
    return (
        f"o{n:03d}", region or REGIONS[n % 3], 0 if late else seq, None if mix % 13 == 0 else f"item {mix % 17} of {n}",
        None if mix % 7 == 0 else mix % 50, Decimal(mix * 101 % 99999) / 100, dt.date(2024, 1, 1) + dt.timedelta(days=mix % 700),
        dt.datetime(2024, 1, 1) + dt.timedelta(minutes=mix * 7, microseconds=mix * 991 % 1_000_000), mix % 2 == 0,
        None if mix % 11 == 0 else mix / 8,
    )


def orders(numbers, seq, **how):
    return [order(n, seq, **how) for n in numbers]


def cow_partitioned():
    style = HIVE_STYLE if version == 8 else {}
    t = Table(f"t{version}_cow_partitioned", "copy-on-write: insert, updates with new rows, deletes, updates of deleted rows, a partition emptied", "cow", ORDERS, **style)
    t.insert(orders(range(18), 1))
    t.upsert(orders([1, 2, 5, 30, 31], 2))
    t.delete(orders([4, 5, 6], 3))
    t.upsert(orders([5, 7, 40], 4))
    t.delete(orders([n for n in range(41) if n % 3 == 2], 5))
    t.keep()


def mor_logs():
    style = HIVE_STYLE if version == 6 else {}
    t = Table(f"t{version}_mor_logs", "merge-on-read, never compacted: several log files a slice; updates, deletes, inserts, late updates, a row that comes back", "mor", ORDERS, **style)
    t.insert(orders(range(12), 1))
    t.upsert(orders([0, 1, 2, 3, 20], 2))
    t.delete(orders([2, 7], 3))
    t.upsert(orders([1, 8], 4, late=True) + orders([9, 10, 21], 4))
    t.upsert(orders([2, 9], 5))
    t.delete(orders([0, 20], 6))
    t.keep()


def mor_compacted():
    t = Table(f"t{version}_mor_compacted", "merge-on-read, compacted after the third write, then updates, deletes and inserts on top", "mor", ORDERS)
    t.insert(orders(range(10), 1))
    t.upsert(orders([0, 1, 2, 15], 2))
    t.delete(orders([3, 4], 3), **COMPACT_NOW)
    t.upsert(orders([0, 3, 16], 4))
    t.delete(orders([1, 15], 5))
    t.keep()


def insert_overwrite():
    t = Table(f"t{version}_insert_overwrite", "copy-on-write: one partition overwritten, one dropped, then the whole table overwritten, then updates", "cow", ORDERS)
    t.insert(orders(range(12), 1))
    t.upsert(orders([0, 1, 2], 2))
    t.write("insert_overwrite", orders([50, 51], 3, region="south"))
    t.write("delete_partition", orders([2], 4), **{"hoodie.datasource.write.partitions.to.delete": "west"})
    t.write("insert_overwrite_table", orders([60, 61, 62, 63], 5))
    t.upsert(orders([60, 70], 6))
    t.keep()


def clustering():
    kind = "cow" if version == 6 else "mor"
    t = Table(f"t{version}_clustering", f"{kind}: three small writes, clustered with the fourth, then updates and deletes in the clustered files", kind, ORDERS)
    t.insert(orders(range(6), 1))
    t.insert(orders(range(6, 12), 2))
    t.upsert(orders([0, 7], 3))
    t.insert(orders([12, 13], 4), **CLUSTER_NOW)
    t.upsert(orders([1, 13, 14], 5))
    t.delete(orders([2, 8], 6))
    t.keep()


TYPES = """id string, region string, seq int, flag boolean, tiny tinyint, small smallint, big bigint, f float, d double, dec_small decimal(5,0),
           dec_mid decimal(18,6), dec_wide decimal(38,18), day date, at timestamp, raw binary, words array<string>,
           points array<struct<x:int,y:double>>, counts map<string,int>,
           address struct<street:string,geo:struct<lat:double,lon:double>,tags:array<string>>, lookup map<string,struct<n:int,s:string>>"""


def one_of_each(n, seq):
    if n % 5 == 4:      # all null
        return (f"r{n:03d}", REGIONS[n % 2], seq) + (None,) * 17
    k = n * 17 + seq
    return (
        f"r{n:03d}", REGIONS[n % 2], seq, k % 3 == 0, k % 256 - 128, k * 397 % 65536 - 32768, (k - 40) * 2**45 + k, k / 3, -k / 7,
        Decimal(k % 100000 - 40), Decimal(k * 1_000_003 - 7 * 10**6) / 10**6,
        Decimal(f"{'-' if k % 2 else ''}{k}{'9' * 15}.{k:018d}"), dt.date(1969, 12, 1) + dt.timedelta(days=k),
        dt.datetime(1969, 12, 31, 23) + dt.timedelta(minutes=k, microseconds=k * 7), bytes([k % 256, 0, 255]),
        [f"w{i}" for i in range(k % 4)], None if k % 4 == 1 else [(i, i / 2) for i in range(k % 3)],
        {f"k{i}": None if i == 1 else k * i for i in range(k % 4)},
        None if k % 6 == 5 else (f"{k} Läkarvägen", None if k % 4 == 2 else (k / 9, -k / 9), ["a", "ü"][: k % 3]),
        {f"x{i}": (i, None if i % 2 else "é") for i in range(k % 3)},
    )


def types():
    kind = "cow" if version == 9 else "mor"
    t = Table(f"t{version}_types", f"{kind}: every type, nested ones too, with nulls, in base files" + (" and logs" if kind == "mor" else ""), kind, TYPES)
    t.insert([one_of_each(n, 1) for n in range(12)])
    t.upsert([one_of_each(n, 2) for n in (0, 3, 4, 7, 14, 15)])
    t.delete([one_of_each(n, 3) for n in (1,)])
    t.keep()


def rollback():
    t = Table(f"t{version}_mor_rollback", "merge-on-read: a writer died before it committed, the next one rolled its files back", "mor", ORDERS)
    t.insert(orders(range(9), 1))
    t.upsert(orders([0, 1], 2))
    t.upsert(orders([0, 2, 3, 20], 3))
    t.lose_newest_commit()
    t.upsert(orders([1, 4, 21], 4))
    t.keep()


def rolled_back_by_hand():
    t = Table(f"t{version}_cow_rollback", "copy-on-write: the newest commit rolled back by a person, then another write", "cow", ORDERS)
    t.insert(orders(range(9), 1))
    t.upsert(orders([0, 1, 20], 2))
    t.upsert(orders([2, 3], 3))
    t.roll_back_newest()
    t.upsert(orders([4, 21], 4))
    t.keep()


def pending():
    t = Table(f"t{version}_mor_pending", "merge-on-read: the newest write has not committed; its files lie in the table", "mor", ORDERS)
    t.insert(orders(range(9), 1))
    t.upsert(orders([0, 1], 2))
    t.delete(orders([5], 3))
    t.upsert(orders([0, 2, 20], 4))
    t.lose_newest_commit()
    t.keep()


def upgraded():
    t = Table(f"t{version}_upgraded", "merge-on-read, as Hudi 0.15 left it (t6_mor_logs), upgraded to versions 8 and 9, then updates, an insert and deletes", "mor", ORDERS,
              **HIVE_STYLE, **{"hoodie.table.name": "t6_mor_logs"})
    t.take_over("t6_mor_logs")
    t.upgrade("EIGHT")
    shutil.copy(os.path.join(t.path, ".hoodie", "hoodie.properties"), os.path.join(t.home, "version8.properties"))
    t.upgrade("NINE")
    t.upsert(orders([1, 9, 22], 7))
    t.delete(orders([3], 8))
    t.keep()


def changes_cow():
    t = Table(f"t{version}_changes_cow", "copy-on-write with change logs of earlier images: updates, inserts beside them, deletes, rows that come back, a partition overwritten", "cow", ORDERS,
              **LOG_CHANGES, **{"hoodie.table.cdc.supplemental.logging.mode": "DATA_BEFORE"})
    t.insert(orders(range(10), 1))
    t.upsert(orders([0, 1, 2, 20], 2))
    t.delete(orders([1, 4], 3))
    t.upsert(orders([1, 2], 4) + orders([3], 4, late=True))
    if version >= 8:        # 0.15 repeats one row for all that are gone
        t.write("insert_overwrite", orders([2, 50], 5, region="west"))
    t.keep()


def changes_mor():
    t = Table(f"t{version}_changes_mor", "merge-on-read with change logging by key, every type: updates, deletes, a late update, a compaction, updates on top, a partition dropped", "mor", TYPES,
              **LOG_CHANGES, **{"hoodie.table.cdc.supplemental.logging.mode": "OP_KEY_ONLY"})
    t.insert([one_of_each(n, 2) for n in range(9)])
    t.upsert([one_of_each(n, 3) for n in (0, 1, 4, 20)] + [one_of_each(3, 1)])
    t.delete([one_of_each(n, 4) for n in (1, 2)], **COMPACT_NOW)
    t.upsert([one_of_each(n, 5) for n in (0, 1, 5)])
    t.write("delete_partition", [one_of_each(0, 6)], **{"hoodie.datasource.write.partitions.to.delete": REGIONS[1]})
    t.keep()


def dropped_columns():
    t = Table(f"t{version}_dropped_columns", "copy-on-write without the partition column in the files, but for those that inserts were merged into", "cow", ORDERS,
              **{"hoodie.datasource.write.drop.partition.columns": "true", "hoodie.parquet.small.file.limit": 100_000_000})
    t.insert(orders(range(9), 1))
    t.insert(orders([9, 10], 2))
    t.upsert(orders([0, 1, 9, 11], 3))
    t.delete(orders([3], 4))
    t.keep()


def payload():
    t = Table(f"t{version}_payload", "merge-on-read, merged by EventTimeAvroPayload: updates that are late, early or of the same time, deletes, rows that come back", "mor", ORDERS,
              **{"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.EventTimeAvroPayload"})
    def at(n, state, seq):
        row = order(n, state)
        return (*row[:2], seq, *row[3:])
    t.insert([at(n, 1, 5) for n in range(12)])
    t.upsert([at(0, 2, 4), at(1, 2, 5), at(2, 2, 6), at(3, 2, 6), at(4, 2, 6), at(5, 2, 6), at(20, 2, 5), at(21, 2, 5)])
    t.upsert([at(0, 3, 5), at(1, 3, 5), at(3, 3, 5), at(4, 3, 6), at(5, 3, 7), at(20, 3, 4), at(21, 3, 5)])
    t.delete([at(1, 4, 5), at(3, 4, 5), at(6, 4, 4), at(7, 4, 5), at(8, 4, 6), at(21, 4, 9)])
    t.upsert([at(1, 5, 5), at(6, 5, 5), at(7, 5, 4), at(8, 5, 5), at(21, 5, 6)])
    t.keep()


def many(numbers, seq, **how):
    return orders(numbers, seq, region="north", **how)


def late_updates():
    t = Table(f"t{version}_late_updates", "merge-on-read: a base file of several row groups, of which only the first was written again; late updates of rows in all of them", "mor", ORDERS,
              **BY_EVENT_TIME, **{"hoodie.parquet.block.size": 1})
    t.insert(many(range(350), 3))
    t.upsert(many(range(150), 4), **COMPACT_NOW)
    t.upsert(many([3, 120, 160, 340], 2) + many([10, 170, 300], 5))
    t.upsert(many([20, 180, 310], 2) + many([11, 171], 6))
    t.keep()


def late_pages():
    t = Table(f"t{version}_late_pages", "merge-on-read: as t6_late_updates, with one row group of many pages, which have bounds in a column index", "mor", ORDERS,
              **BY_EVENT_TIME, **{"hoodie.parquet.page.size": 100})
    t.insert(many(range(350), 3))
    t.upsert(many(range(150), 4), **COMPACT_NOW)
    t.upsert(many([3, 120, 160, 340], 2) + many([10, 170, 300], 5))
    t.upsert(many([20, 180, 310], 2) + many([11, 171], 6))
    t.keep()


def late_nested():
    t = Table(f"t{version}_late_updates_nested", "merge-on-read: as t6_late_updates, with nested types", "mor", TYPES,
              **BY_EVENT_TIME, **{"hoodie.parquet.block.size": 1})
    def some(numbers, seq):
        return [(row[0], "north", *row[2:]) for row in (one_of_each(n, seq) for n in numbers)]
    t.insert(some(range(250), 3))
    t.upsert(some(range(150), 4), **COMPACT_NOW)
    t.upsert(some([3, 120, 160, 240], 2) + some([10, 170, 200], 5))
    t.upsert(some([20, 180, 210], 2) + some([11, 171], 6))
    t.keep()


RIDES = """ride_id string, city string, driver string, status string, passengers int, distance_km double, fare decimal(8,2),
           day date, started_at timestamp, updated_at timestamp"""
CITIES = ("lisbon", "nairobi", "osaka")
DRIVERS = ("Abebe", "Beatriz", "Chika", "Duarte", "Emi", "Farida", "Goro")


def ride(n, status, minutes, fare=None):
    """Ride n as it was known so many minutes after it started."""
    started = dt.datetime(2026, 3, 1, 6) + dt.timedelta(minutes=23 * n)
    done = status in ("finished", "corrected")
    return (
        f"ride-{n:04d}", CITIES[n % 3], DRIVERS[n * 5 % 7], status, 1 + n % 4, (8 + n * 37 % 160) / 8 if done else None,
        Decimal(fare if fare is not None else 350 + n * 37 % 160 * 21) / 100 if done else None,
        started.date(), started, started + dt.timedelta(minutes=minutes),
    )


def demo():
    t = Table("demo", "the table of `make demo`: taxi rides, merge-on-read, a partition a city; inserts, updates, deletes, a compaction", "mor", RIDES,
              key="ride_id", ordering="updated_at", partition="city", **{"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "false"})
    t.insert([ride(n, "requested", 0) for n in range(60)])
    t.upsert([ride(n, "finished", 40) for n in range(40)])
    t.upsert([ride(n, "finished", 45) for n in range(40, 55)] + [ride(n, "requested", 0) for n in range(60, 72)])
    t.delete([ride(n, "requested", 50) for n in (57, 58, 59)], **COMPACT_NOW)
    t.upsert([ride(n, "corrected", 600, fare=990) for n in (3, 10, 24, 35)] + [ride(n, "requested", 0) for n in (72, 73)])
    t.keep()


TABLES = {
    6: [cow_partitioned, mor_logs, mor_compacted, insert_overwrite, clustering, types, rollback, changes_cow, dropped_columns, late_updates, late_pages, late_nested],
    8: [cow_partitioned, mor_logs, mor_compacted, clustering, types, rolled_back_by_hand, payload],
    9: [demo, cow_partitioned, mor_logs, mor_compacted, insert_overwrite, clustering, types, rollback, pending, upgraded, changes_cow, changes_mor],
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in TABLE_VERSION:
        sys.exit(__doc__)
    release = sys.argv[1]
    version = TABLE_VERSION[release]
    chosen = [make for make in TABLES[version] if len(sys.argv) == 2 or make.__name__ in sys.argv[2:]]
    scratch = tempfile.mkdtemp(prefix="hudifs-testdata-")
    os.chdir(scratch)       # Spark leaves its warehouse where it runs
    try:
        if chosen:
            spark = start(release)
            for make in chosen:
                make()
            spark.stop()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
