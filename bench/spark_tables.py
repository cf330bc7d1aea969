#!/usr/bin/env python3
"""Writes one of the benchmark's tables with Spark and Hudi.

usage: spark_tables.py NAME TARGET ROWS [COMMITS]        NAME is a function below; scripts/spark.sh runs this

All have one file group. The rows of an id and a version are always the same.
"""
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tables import HUDI

# Of a row's number and version, with h(salt) for a random number that belongs to both. With the meta fields, key, version and partition these
# are 22 columns. Those that the benchmark names, ts, d1 and s_low, are also in the ready table.
COLUMNS = {
    "n_small": "int(h(1) % 1000)",
    "n_big": "h(2) % 1000000000000",
    "d1": "h(3) % 1000000 / 1000D",
    "y": "h(4) / 9.3e18D",
    "ratio": "float(h(5) % 97)",
    "flag": "h(6) % 2 = 0",
    "day": "date_add(date'2024-01-01', int(pmod(h(7), 1000)))",
    "at": "timestamp_micros(1700000000000000 + pmod(h(8), 10000000000000))",
    "price": "cast(h(9) % 10000000 / 100 as decimal(12, 2))",
    "s_low": "if(h(10) % 10 = 0, null, concat('city ', pmod(h(11), 200)))",
    "status": "element_at(array('new', 'paid', 'sent', 'returned'), int(pmod(h(12), 4)) + 1)",
    "token": "hex(h(13))",
    "note": "concat('a note of some words, number ', pmod(h(14), 5000), ', and a tail ', substring(hex(h(15)), 1, 6))",
    "visits": "h(16) % 20",
}


def start():
    session = (
        SparkSession.builder.master("local[2]").appName("hudifs bench")
        .config("spark.jars.packages", f"org.apache.hudi:hudi-spark3.5-bundle_2.12:{HUDI}")
        .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .config("spark.kryo.registrator", "org.apache.spark.HoodieSparkKryoRegistrar")
        .config("spark.sql.extensions", "org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.hudi.catalog.HoodieCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.driver.memory", "6g")
        .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


class Table:
    """One table while it is written."""

    def __init__(self, target, rows, kind, columns=COLUMNS, **options):
        self.target, self.rows, self.columns, self.version = target, rows, columns, 0
        self.spark = start()
        self.options = {
            "hoodie.table.name": "bench",
            "hoodie.datasource.write.table.type": kind,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.partitionpath.field": "part",
            "hoodie.metadata.enable": "false",
            "hoodie.clean.automatic": "false",
            "hoodie.archive.automatic": "false",
            "hoodie.compact.inline": "false",
            "hoodie.embed.timeline.server": "false",
            "hoodie.write.markers.type": "DIRECT",
            "hoodie.parquet.compression.codec": "zstd",
            "hoodie.parquet.max.file.size": 4 << 30,
            "hoodie.bulkinsert.shuffle.parallelism": 1,
            "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT",
            "hoodie.upsert.shuffle.parallelism": 1,
            "hoodie.delete.shuffle.parallelism": 1,
            **options,
        }

    def write(self, operation, which="true"):
        """Writes the rows that fit a condition on their number n, in a version of their own."""
        self.version += 1
        rows = self.spark.range(self.rows).withColumnRenamed("id", "n").where(which)
        columns = [F.expr(text.replace("h(", f"xxhash64(n, {self.version}, ")).alias(name) for name, text in self.columns.items()]
        rows = rows.select(F.expr("concat('id-', lpad(string(n), 10, '0'))").alias("id"), F.lit(self.version).cast("long").alias("ts"), *columns,
                           F.lit("all").alias("part"))
        mode = "overwrite" if self.version == 1 else "append"
        rows.write.format("hudi").options(**self.options).option("hoodie.datasource.write.operation", operation).mode(mode).save(self.target)

    def update(self, percent):
        """Updates rows here and there."""
        self.write("upsert", f"pmod(xxhash64(n, {self.version}, 'update'), 1000) < {percent * 10}")


def random(target, rows):
    """15 % of the keys updated here and there, in three log files, and 1 % deleted."""
    t = Table(target, rows, "MERGE_ON_READ")
    t.write("bulk_insert")
    for _ in range(3):
        t.update(5)
    t.write("delete", "pmod(xxhash64(n, 'delete'), 100) = 0")


def clustered(target, rows):
    """10 % of the keys updated, side by side, in two log files."""
    t = Table(target, rows, "MERGE_ON_READ")
    t.write("bulk_insert")
    for begin in (0.3, 0.7):
        t.write("upsert", f"n >= {int(begin * rows)} and n < {int((begin + 0.05) * rows)}")


def wide(target, rows):
    """100 columns with the meta fields, 15 % of the keys updated here and there."""
    kinds = ("n_big", "d1", "s_low", "y", "n_small", "token")
    columns = {f"c{i:02d}": COLUMNS[kinds[i % len(kinds)]].replace("h(", f"h({i}, ") for i in range(92)}
    t = Table(target, rows, "MERGE_ON_READ", columns)
    t.write("bulk_insert")
    t.update(15)


def cow(target, rows):
    """One file, not compressed so that it is large."""
    t = Table(target, rows, "COPY_ON_WRITE", **{"hoodie.parquet.compression.codec": "uncompressed"})
    t.write("bulk_insert")


def commits(target, rows, count):
    """As many commits, each but the first with 1 % of the keys."""
    t = Table(target, rows, "MERGE_ON_READ")
    t.write("bulk_insert")
    for _ in range(count - 1):
        t.update(1)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))
