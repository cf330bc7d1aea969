"""The work of one process that is measured: jobs.py NAME ARGUMENT... does it once, and prints its CPU and wall seconds as JSON.

A job is a function that loads and prepares what it needs, and returns the work: the start of Python and of the libraries counts for nobody.
"""
import glob
import json
import mmap
import os
import random
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


def finish_all(folder):
    """Reads the end of every Parquet file: of a file that is rendered when it is opened, that is to wait until it is finished."""
    def work():
        for path in parquet_files(folder):
            with open(path, "rb", buffering=0) as f:
                f.seek(-8, os.SEEK_END)
                if f.read(8)[4:] != b"PAR1":
                    raise ValueError(f"{path}: no Parquet file")
    return work


def open_often(path, times):
    """Opens and closes a file, many times."""
    def work():
        for _ in range(int(times)):
            os.close(os.open(path, os.O_RDONLY))
    return work


def read_sequential(path, times):
    """Reads a file in blocks of 1 MiB, several times."""
    block = bytearray(1 << 20)

    def work():
        with open(path, "rb", buffering=0) as f:
            for _ in range(int(times)):
                f.seek(0)
                while f.readinto(block):
                    pass
    return work


def read_random(path, count):
    """Reads as many pages of 4 KiB, anywhere in a file."""
    block = [bytearray(4096)]
    pages = os.path.getsize(path) // 4096
    choose = random.Random(1)
    offsets = [choose.randrange(pages) * 4096 for _ in range(int(count))]

    def work():
        fd = os.open(path, os.O_RDONLY)
        for offset in offsets:
            os.preadv(fd, block, offset)
        os.close(fd)
    return work


def read_mapped(path, times):
    """Maps a file and looks at a byte of each of its pages, several times, with a new mapping each time."""
    import numpy

    def work():
        with open(path, "rb") as f:
            for _ in range(int(times)):
                with mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
                    numpy.frombuffer(m, numpy.uint8)[::4096].sum()
    return work


def duckdb_copy(source, target):
    """DuckDB reads the Parquet files below source and writes them as one, snappy, with one thread."""
    import duckdb

    db = duckdb.connect(config={"threads": 1})
    files = parquet_files(source)
    return lambda: db.execute(f"COPY (SELECT * FROM read_parquet($files)) TO '{target}' (FORMAT parquet, COMPRESSION snappy)", {"files": files})


def duckdb_query(folder, expressions):
    """DuckDB selects from the Parquet files below a folder into Arrow; listing them is part of it."""
    import duckdb
    import pyarrow  # noqa: F401, DuckDB loads it with the first answer

    db = duckdb.connect()
    return lambda: db.sql(f"SELECT {expressions} FROM '{folder}/**/*.parquet'").to_arrow_table()


def hudi_rs_read(table, *columns):
    """hudi-rs reads a snapshot into Arrow: all columns, or those named."""
    import hudi

    return hudi_rs(table, hudi.HudiReadOptions(projection=list(columns) or None))


def hudi_rs_incremental(table, begin, end):
    """hudi-rs reads what changed after begin, up to end."""
    import hudi

    return hudi_rs(table, hudi.HudiReadOptions().with_query_type(hudi.HudiQueryType.Incremental).with_start_timestamp(begin).with_end_timestamp(end))


def hudi_rs(table, options):
    import hudi
    import pyarrow  # noqa: F401, hudi loads it with the first answer

    return lambda: hudi.HudiTableBuilder.from_base_uri(table).build().read(options)


def main():
    work = globals()[sys.argv[1]](*sys.argv[2:])
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    print(json.dumps({"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}))


if __name__ == "__main__":
    main()
