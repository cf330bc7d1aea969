"""A copy-on-write table of very many small files, made without Spark from the first commit of a table in testdata/: each of its commits has
written a thousand files in a folder of its own.

The files of a folder are hard links to one, so that a disk can hold them: there are as many names, sizes and footers to read as in a table
that Hudi wrote, but fewer inodes and blocks. The rows do not belong to their partitions.
"""
import datetime as dt
import json
import os
import uuid
import zipfile

SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "testdata", "t6_cow_partitioned", "table.zip")
A_COMMIT = 1000


def write(target, files):
    with zipfile.ZipFile(SOURCE) as z:
        name = min(n for n in z.namelist() if n.endswith(".commit"))
        commit, properties = json.loads(z.read(name)), z.read(".hoodie/hoodie.properties")
        stat = next(iter(commit["partitionToWriteStats"].values()))[0]
        base, marker = z.read(stat["path"]), z.read(f"{stat['partitionPath']}/.hoodie_partition_metadata")

    timeline = os.path.join(target, ".hoodie")
    os.makedirs(timeline)
    put(os.path.join(timeline, "hoodie.properties"), properties)
    for day, begin in enumerate(range(0, files, A_COMMIT)):
        date = dt.date(2026, 1, 1) + dt.timedelta(days=day)
        instant = f"{date:%Y%m%d}000000000"
        folder = os.path.join(target, str(date))
        os.makedirs(folder)
        put(os.path.join(folder, ".hoodie_partition_metadata"), marker)
        first, stats = None, []
        for n in range(begin, min(begin + A_COMMIT, files)):
            group = f"{uuid.UUID(int=n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)}-0"
            name = f"{group}_{n}-0-0_{instant}.parquet"
            if first is None:
                first = os.path.join(folder, name)
                put(first, base)
            else:
                os.link(first, os.path.join(folder, name))
            stats.append({**stat, "fileId": group, "path": f"{date}/{name}", "partitionPath": str(date)})
        commit["partitionToWriteStats"] = {str(date): stats}
        for suffix, content in ((".commit.requested", b""), (".inflight", b""), (".commit", json.dumps(commit, indent=2).encode())):
            put(os.path.join(timeline, instant + suffix), content)


def put(path, content):
    with open(path, "wb") as f:
        f.write(content)
