"""Results as a page of Markdown."""
import datetime as dt
import importlib.metadata
import os
import platform
import re
import subprocess

from measure import Absolute, median
from tables import HUDI, ROOT

PEERS = {"hudi": "hudi-rs", "duckdb": "DuckDB", "pyarrow": "pyarrow"}

INTRODUCTION = """# How fast it is

Written by `make bench` on {date}; do not edit. hudifs beside what one would use instead, measured in turns (A B C, A B C, …) on one machine, {rounds} rounds,
and more of what is soon done.

{versions}.
{machine}; a load of {load:.1f} when it began: what else runs slows all sides, not always by the same.

How to read it:

- *reached* is the least of the rounds of hudifs divided by the least of the peer, *median* the same of the medians; less is better. For memory and allocations, *reached* is
  the most of the rounds.
- The measure is CPU seconds, user and system, of every process and thread that works for it, unless the line names another: more threads
  shorten the wall time and save no CPU second.
- *at most* is what we ask of ourselves, in brackets what we want.
- hudifs is mounted anew for every round, with an empty cache unless the line says otherwise, and the start of its daemon counts; the start of Python and the import of a peer do not,
  nor the first time that Spark runs a query, when Java compiles it.
- To render is to finish the files of the slice in the cache, as the peer finishes its own; to read them too is a line of its own.
- *warm*: the table's files are in the page cache. *cold*: they are not.
- Seconds are the least of the rounds.

| work | against | at most | reached | median | | hudifs CPU s | wall s | peer CPU s | wall s |
|---|---|---|---|---|---|---|---|---|---|"""

TABLES = """
Hudi {hudi} wrote the tables, each of one file group unless it says otherwise:

- {rows:,} rows of 22 columns, zstd; three log files with 5 % of the keys each, at random, and one that deletes 1 % (two file groups where the ready table was taken);
- the same with two log files, each with 5 % of the keys, neighbours;
- {wide:,} rows of 100 columns, one log file with 15 % of the keys, at random;
- copy-on-write, {rows:,} rows of 22 columns, not compressed;
- {commits_rows:,} rows of 22 columns and {commits} commits, each but the first with 1 % of the keys;
- {files:,} small files, a thousand for each commit and folder, made without Spark: the files of a folder are hard links to one.

`make bench ONLY='render-* wide'` measures some of these, and only prints them: {names}."""


def page(results, names, place, rounds, load):
    yield INTRODUCTION.format(date=dt.date.today(), rounds=rounds, versions=versions(place), machine=machine(), load=load)
    for r in results:
        yield absolute(r) if isinstance(r.line, Absolute) else comparison(r)
    sizes = place.tables.sizes
    yield TABLES.format(hudi=HUDI, rows=sizes["random"][0], wide=sizes["wide"][0], commits_rows=sizes["commits"][0], commits=sizes["commits"][1], files=sizes["files"][0],
                        names=", ".join(names))


def comparison(result):
    c = result.line
    bound = "" if c.at_most is None else f"{c.at_most:.3g}" + ("" if c.wanted is None else f" [{c.wanted:g}]")
    seconds = [f"{result.of(side, metric, min):.3g}" for side in (c.side, c.peer) for metric in ("cpu", "wall")]
    reached = result.ratio(min)
    return row(c.work, c.peer, bound, f"{reached:.3g}", f"{result.ratio(median):.3g}", verdict(reached, c.at_most, c.wanted), *seconds)


def absolute(result):
    a = result.line
    reached = result.of(a.side, a.metric, max)
    return row(a.work, "", f"{a.at_most:.3g}", f"{reached:.3g}", "", verdict(reached, a.at_most, None), *[""] * 4)


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def verdict(reached, at_most, wanted):
    if at_most is None:
        return ""
    if reached > at_most:
        return "missed"
    return "as wanted" if wanted is not None and reached <= wanted else "held"


def versions(place):
    ours = subprocess.check_output([place.binary, "version"], text=True).split()
    found = [" ".join(ours[:2])] + [f"{name} {importlib.metadata.version(package)}" for package, name in PEERS.items()]
    with open(os.path.join(ROOT, "go.mod")) as f:
        found.append("goavro " + re.search(r"goavro/v2 v(\S+)", f.read()).group(1))
    if place.spark:
        pyspark = subprocess.check_output([os.path.join(ROOT, "scripts", "spark.sh"), "-c", "import pyspark; print(pyspark.__version__)"], text=True)
        found.append(f"Spark {pyspark.strip()} with Hudi {HUDI}")
    return ", ".join(found)


def machine():
    with open("/proc/cpuinfo") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    who = "as root" if os.geteuid() == 0 else "not as root, so without FUSE passthrough"
    return f"{os.cpu_count()} cores of {model.group(1) if model else platform.machine()}, {memory:.0f} GiB, Linux {platform.release()}, {who}"
