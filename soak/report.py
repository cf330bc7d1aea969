"""The figures of a soak as text, and as docs/reliability.md."""
import collections
import os
import platform
import statistics
import time

import judge

TITLE = """# Reliability

Figures of the last `make soak`: [soak/](../soak/README.md) writes tables with Spark and Hudi while readers compare every answer that they get through
the mount with the writers' own record, the daemon is killed with `kill -9`, its cache damaged and its disk filled.
"""


def lines(s):
    """(what, figure) pairs, in the order in which they are told."""
    by = collections.Counter()
    for verdict, _, _, n in s["answers"]:
        by[verdict] += n
    total = sum(by.values())
    yield "length", f"{s['seconds']:.0f} s, seed {s['seed']}"
    yield "tables", ", ".join(s["tables"])
    yield "instants written", f"{sum(n for a, n in s['instants'].items() if a != 'rollback')}: " + ", ".join(f"{n} {a}" for a, n in sorted(s["instants"].items()))
    yield "queries", f"{total}: " + ", ".join(f"{by[v]} {v}" for v in judge.VERDICTS if by[v])
    yield "wrong rows", f"{by['wrong']} answers"
    yield "hangs", str(s["hangs"])
    yield "`kill -9` of the daemon", str(s["chaos"]["kills"])
    if s["recovery"]:
        yield "from `kill -9` to usable again", f"{statistics.median(s['recovery']):.2f} s in the median, {s['recovery'][-1]:.2f} s at worst"
    yield "restarts of the daemon (SIGTERM)", str(s["chaos"]["restarts"])
    yield "`kill -9` of a writer", str(s["writers"])
    yield "cached files damaged", f"{s['chaos']['flipped']} with a flipped bit, {s['chaos']['truncated']} cut short"
    yield "cache folders removed", str(s["chaos"]["caches removed"])
    yield "times the cache's disk was full", str(s["chaos"]["full disks"])
    yield "renderings", f"{s['status']['renders']}, {s['status']['hits']} answers from the cache, {s['status']['fallbacks']} renderings into memory as the disk failed, {s['status']['damaged']} damaged files noticed"
    yield "`latest` behind the newest commit", f"{s['lag']:.1f} s at most"
    yield "slowest query", f"{s['slowest']:.1f} s"
    yield "resident memory", f"{s['peak'] >> 20} MiB at most, with `--memory` {s['memory'] >> 20} MiB ({s['allowed'] >> 20} MiB are allowed)"


def text(s):
    return "\n".join(f"{what.replace('`', '')}: {figure.replace('`', '')}" for what, figure in lines(s))


def write(path, s):
    views = sorted({(view, engine) for _, view, engine, _ in s["answers"]})
    verdicts = [v for v in judge.VERDICTS if any(v == a[0] for a in s["answers"])]
    count = {(v, view, engine): n for v, view, engine, n in s["answers"]}
    with open(path, "w", encoding="utf-8") as f:
        print(TITLE, file=f)
        print(f"Run on {time.strftime('%Y-%m-%d')}: {os.cpu_count()} shared cores, {memory()} GiB of memory, Linux {'.'.join(platform.release().split('.')[:2])}.\n", file=f)
        print("| | |\n|---|---|", file=f)
        for what, figure in lines(s):
            print(f"| {what} | {figure} |", file=f)
        print("\n## Queries\n\n| view | engine | " + " | ".join(verdicts) + " |\n|---|---|" + "---|" * len(verdicts), file=f)
        for view, engine in views:
            print(f"| {view} | {engine} | " + " | ".join(str(count.get((v, view, engine), 0)) for v in verdicts) + " |", file=f)
        print("\n" + "\n".join(f"- {v}: {judge.VERDICTS[v]}" for v in verdicts), file=f)
        if s["faults"]:
            print("\n## Faults\n\n" + "\n".join(f"- {t.splitlines()[0][:500]}" for t in s["faults"]), file=f)


def memory():
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30))
