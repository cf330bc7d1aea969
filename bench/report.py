"""Results as a page of Markdown."""
import datetime as dt
import importlib.metadata
import os
import platform
import re
import subprocess

from measure import median

PEERS = ("hudi", "duckdb", "pyarrow", "numpy")

INTRODUCTION = """# How fast it is

Written by `make bench` on {date}; do not edit. hudifs beside what one would use instead, measured in turns (A B C, A B C, …) on one machine, {rounds} rounds.

{versions}; {machine}; load average {load:.1f} when it began (what else runs on the machine slows all sides, not always by the same).

How to read it: *reached* is the least of the rounds of hudifs divided by the least of the peer, *median* the same of the medians; less is better. The measure is CPU seconds,
user and system, of every process and thread that works for it, unless the line names another: a number of threads shortens the wall time and changes no CPU second. *At most* is what
we ask of ourselves, in brackets what we would like. hudifs is mounted anew for every round, with an empty cache unless the line says otherwise, and the start of its
daemon counts; the start of Python and the import of a peer do not. *Warm*: the table's files are in the page cache. *Cold*: they are not. Seconds are the least of the rounds.
"""


def page(results, binary, rounds, load):
    yield INTRODUCTION.format(date=dt.date.today(), rounds=rounds, versions=versions(binary), machine=machine(), load=load)
    yield "| work | against | at most | reached | median | | hudifs CPU s | wall s | peer CPU s | wall s |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for r in results:
        yield line(r)


def line(result):
    c = result.comparison
    bound = "" if c.at_most is None else f"{c.at_most:g}" + ("" if c.wanted is None else f" [{c.wanted:g}]")
    reached = result.ratio(min)
    seconds = [min(getattr(s, m) for s in side) for side in (result.ours, result.peer) for m in ("cpu", "wall")]
    return f"| {c.work} | {c.peer} | {bound} | {reached:.2f} | {result.ratio(median):.2f} | {verdict(c, reached)} | " + " | ".join(f"{s:.2f}" for s in seconds) + " |"


def verdict(comparison, reached):
    if comparison.at_most is None:
        return ""
    if reached > comparison.at_most:
        return "missed"
    return "as wanted" if comparison.wanted is not None and reached <= comparison.wanted else "held"


def versions(binary):
    ours = subprocess.check_output([binary, "version"], text=True).split()
    return ", ".join([" ".join(ours[:2])] + [f"{p} {importlib.metadata.version(p)}" for p in PEERS])


def machine():
    with open("/proc/cpuinfo") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores of {model.group(1) if model else platform.machine()}, {memory:.0f} GiB, Linux {platform.release()}"
