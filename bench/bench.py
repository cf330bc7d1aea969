#!/usr/bin/env python3
"""Measures hudifs beside what one would use instead, and prints a page of Markdown. run.sh runs it in an environment with the peers."""
import argparse
import fnmatch
import os
import sys

import measure
import place
import rendering
import report
import tables

CACHE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ".cache", "bench")
EXPERIMENTS = (rendering.experiments,)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("binary", help="the hudifs to measure")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--only", default="*", help="names of experiments, with wildcards and separated by spaces")
    p.add_argument("--output", help="also write the page to this file")
    args = p.parse_args()

    load = os.getloadavg()[0]
    binary = os.path.abspath(args.binary)
    there = place.Place(binary, tables.Tables(os.path.join(CACHE, "tables")), os.path.join(CACHE, "scratch"))
    results = []
    try:
        for experiments in EXPERIMENTS:
            for e in experiments(there):
                if any(fnmatch.fnmatch(e.name, pattern) for pattern in args.only.split()):
                    results += measure.run(e, args.rounds)
    finally:
        there.clear()
    if not results:
        sys.exit(f"no experiment is called {args.only}")
    text = "\n".join(report.page(results, binary, args.rounds, load))
    print(text)
    if args.output:
        with open(args.output, "w") as f:
            f.write(text + "\n")


main()
