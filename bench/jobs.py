"""The work of one process that is measured: jobs.py NAME ARGUMENT... does it once, and prints its CPU and wall seconds as JSON.

What a job needs is imported before its clocks start, so that the start of Python and of the libraries counts for nobody.
"""
import glob
import json
import os
import sys
import time


def parquet_files(folder):
    return sorted(glob.glob(os.path.join(folder, "**", "*.parquet"), recursive=True))


def read_all(folder):
    """Reads every Parquet file from beginning to end, as cp would."""
    block = bytearray(1 << 20)

    def work():
        for path in parquet_files(folder):
            with open(path, "rb", buffering=0) as f:
                while f.readinto(block):
                    pass
    return work


def duckdb_copy(source, target):
    """DuckDB reads the Parquet files below source and writes them as one, snappy, with one thread."""
    import duckdb
    db = duckdb.connect(config={"threads": 1})
    files = [p for p in parquet_files(source)]
    return lambda: db.execute("COPY (SELECT * FROM read_parquet($files)) TO '%s' (FORMAT parquet, COMPRESSION snappy)" % target, {"files": files})


def hudi_rs_read(table, *columns):
    """hudi-rs reads a snapshot into Arrow: all columns, or those named."""
    import hudi
    import pyarrow  # noqa: F401, hudi loads it when it gives its first batch

    options = hudi.HudiReadOptions(projection=list(columns)) if columns else hudi.HudiReadOptions()
    return lambda: hudi.HudiTableBuilder.from_base_uri(table).build().read(options)


JOBS = {f.__name__: f for f in (read_all, duckdb_copy, hudi_rs_read)}


def main():
    work = JOBS[sys.argv[1]](*sys.argv[2:])
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    print(json.dumps({"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}))


if __name__ == "__main__":
    main()
