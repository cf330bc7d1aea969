#!/usr/bin/env python3
"""One query by Spark with Hudi, that measures itself as jobs.py does: the second time it runs in its session, when Java has compiled what it
needs. The CPU time is that of Python and the Java machine.

usage: spark_jobs.py read TABLE [COLUMN]... | count TABLE        scripts/spark.sh runs this
"""
import json
import sys
import time

from spark_tables import start


def read(session, table, *columns):
    """Reads all columns, or those named; the rows go nowhere."""
    rows = session.read.format("hudi").load(table)
    return rows.select(*columns or "*").write.format("noop").mode("overwrite").save


def count(session, table):
    return session.read.format("hudi").load(table).count


def main():
    session = start()
    java = session.sparkContext._gateway.proc.pid

    def cpu():
        return time.process_time() + time.clock_gettime((~java << 3) | 2)

    work = globals()[sys.argv[1]](session, *sys.argv[2:])
    work()
    cpu_before, before = cpu(), time.perf_counter()
    work()
    print(json.dumps({"cpu": cpu() - cpu_before, "wall": time.perf_counter() - before}))


main()
