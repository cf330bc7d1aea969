"""A copy-on-write table of very many small files, made without Spark: the first commit of a table in testdata/, as if it had written them all.

The files of a partition are hard links to one, so that a disk can hold them: its readers see as many names and sizes, and as many footers to
read, but fewer inodes and fewer blocks than a table that Hudi wrote. The rows do not belong to their partitions.
"""
import json
import os
import uuid
import zipfile

SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "testdata", "t6_cow_partitioned", "table.zip")
A_FOLDER = 1000


def write(target, files):
    with zipfile.ZipFile(SOURCE) as z:
        instant = min(n for n in z.namelist() if n.endswith(".commit")).removeprefix(".hoodie/").removesuffix(".commit")
        commit = json.loads(z.read(f".hoodie/{instant}.commit"))
        properties = z.read(".hoodie/hoodie.properties")
        stat = next(iter(commit["partitionToWriteStats"].values()))[0]
        base, marker = z.read(stat["path"]), z.read(f"{stat['partitionPath']}/.hoodie_partition_metadata")

    stats = commit["partitionToWriteStats"] = {}
    for begin in range(0, files, A_FOLDER):
        partition = f"part-{begin // A_FOLDER:04d}"
        folder = os.path.join(target, partition)
        os.makedirs(folder)
        put(os.path.join(folder, ".hoodie_partition_metadata"), marker)
        stats[partition] = []
        first = None
        for n in range(begin, min(begin + A_FOLDER, files)):
            group = f"{uuid.UUID(int=n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)}-0"
            name = f"{group}_{n}-0-0_{instant}.parquet"
            if first is None:
                first = os.path.join(folder, name)
                put(first, base)
            else:
                os.link(first, os.path.join(folder, name))
            stats[partition].append({**stat, "fileId": group, "path": f"{partition}/{name}", "partitionPath": partition})

    timeline = os.path.join(target, ".hoodie")
    os.makedirs(timeline)
    put(os.path.join(timeline, "hoodie.properties"), properties)
    for suffix, content in ((".commit.requested", b""), (".inflight", b""), (".commit", json.dumps(commit, indent=2).encode())):
        put(os.path.join(timeline, instant + suffix), content)


def put(path, content):
    with open(path, "wb") as f:
        f.write(content)
