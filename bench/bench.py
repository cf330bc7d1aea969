#!/usr/bin/env python3
"""Measures hudifs beside what one would use instead, and prints a page of Markdown. run.sh runs it in an environment with the peers."""
import argparse
import fnmatch
import os
import sys

import avro
import incremental
import listing
import measure
import passthrough
import queries
import rendering
import report
from place import Place
from tables import READY_ROWS, ROOT, Tables

CACHE = os.path.join(ROOT, ".cache", "bench")
EXPERIMENTS = rendering.EXPERIMENTS | queries.EXPERIMENTS | passthrough.EXPERIMENTS | listing.EXPERIMENTS | incremental.EXPERIMENTS | avro.EXPERIMENTS


def main():
    p = argparse.ArgumentParser(description=__doc__, epilog=f"experiments: {' '.join(EXPERIMENTS)}")
    p.add_argument("binary", help="the hudifs to measure")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--only", default="*", help="names of experiments, with wildcards and separated by spaces")
    p.add_argument("--output", help="also write the page to this file")
    p.add_argument("--spark", action="store_true", help="measure Spark too")
    p.add_argument("--rows", type=int, default=READY_ROWS, help="rows of a table; those that are slow to write have half as many, or a fifth")
    p.add_argument("--commits", type=int, default=100, help="commits of the table with many")
    p.add_argument("--files", type=int, default=100_000, help="files of the table with many")
    args = p.parse_args()
    chosen = [name for name in EXPERIMENTS if any(fnmatch.fnmatch(name, pattern) for pattern in args.only.split())]
    if not chosen:
        p.error(f"no experiment is called {args.only}; there are {' '.join(EXPERIMENTS)}")

    load = os.getloadavg()[0]
    tables = Tables(os.path.join(CACHE, "tables"), args.rows, args.commits, args.files)
    place = Place(os.path.abspath(args.binary), tables, os.path.join(CACHE, "scratch"), args.spark)
    results = []
    try:
        for name in chosen:
            results += measure.run(name, EXPERIMENTS[name](place), args.rounds)
    finally:
        place.clear()
    text = "\n".join(report.page(results, EXPERIMENTS, place, args.rounds, load))
    print(text)
    if args.output:
        with open(args.output, "w") as f:
            f.write(text + "\n")


main()
