#!/usr/bin/env python3
"""Writes docs/compatibility.md: what hudifs makes of a collection of real tables, beside what hudi-rs makes of them.

usage: compatibility.py BINARY CASES > docs/compatibility.md

CASES is a folder of cases as testdata/README.md describes them. Each table is mounted, each view read with pyarrow and compared with
Hudi's own answer; what hudi-rs answered is recorded in the cases.
"""
import collections
import datetime as dt
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import compare  # noqa: E402

VERSIONS = (6, 8, 9)


def folder(view):
    """Where the mount shows a view, None for kinds that it does not have."""
    kind = view["kind"]
    if kind == "snapshot":
        return "latest"
    if kind == "read_optimized":
        return "read_optimized"
    if kind == "asof":
        return f"asof/{view['instant']}"
    begin = view.get("begin") or "000"
    if view.get("begin_inclusive") and len(begin) == 17:
        at = dt.datetime.strptime(begin + "000", "%Y%m%d%H%M%S%f") - dt.timedelta(milliseconds=1)
        begin = at.strftime("%Y%m%d%H%M%S%f")[:17]
    return f"{kind}/{begin}..{view.get('end') or 'latest'}"


def judge(mount, case, view):
    """equal, refused, differs or unjudged."""
    if view.get("doubt"):
        return "unjudged", ""
    question = {
        "do": "golden", "engine": "pyarrow", "dir": os.path.join(mount, folder(view)), "golden": os.path.join(case, view.get("golden") or "none"),
        "ignore": view.get("ignore_columns", []), "text": view.get("text_columns", []),
    }
    if view.get("error"):
        question = {"do": "count", "engine": "pyarrow", "dir": question["dir"]}
    try:
        answer = compare.answer(question, None)
    except Exception as e:  # whatever a reader throws
        answer = {"failed": str(e)}
    if "failed" in answer:
        return ("refused" if view.get("error") or view.get("refusal_ok") else "differs"), answer["failed"]
    if view.get("error"):
        return ("equal" if view.get("error_ok_rows") else "differs"), "Hudi refuses"
    return ("differs" if answer.get("problems") else "equal"), "; ".join(answer.get("problems", []))


def run(binary, path):
    meta = json.load(open(os.path.join(path, "case.json")))
    out = []
    with tempfile.TemporaryDirectory(prefix="compatibility-") as scratch:
        table, mount = os.path.join(scratch, "table"), os.path.join(scratch, "mnt")
        os.makedirs(table), os.makedirs(mount)
        zipfile.ZipFile(os.path.join(path, "table.zip")).extractall(table)
        for name, target in meta.get("symlinks", []):
            os.symlink(target, os.path.join(table, name))
        args = ["--cache-dir", os.path.join(scratch, "cache")]
        if os.path.exists(os.path.join(path, "bootstrap_source.zip")):
            zipfile.ZipFile(os.path.join(path, "bootstrap_source.zip")).extractall(os.path.join(scratch, "source"))
            args += ["--bootstrap-base", os.path.join(scratch, "source")]
        os.makedirs(os.path.join(scratch, "cache"))
        p = subprocess.run([binary, "mount", *args, table, mount], capture_output=True, text=True)
        if p.returncode:
            for v in meta["views"]:
                ok = v.get("error") or v.get("refusal_ok") or v.get("doubt")
                out.append((v, "refused" if ok else "differs", p.stderr.strip().replace(scratch, "")))
            return meta, out
        try:
            for v in meta["views"]:
                result, why = judge(mount, path, v)
                out.append((v, result, why.replace(mount + "/", "")))
        finally:
            subprocess.run([binary, "umount", mount], check=True)
    return meta, out


def peer(meta, view):
    """Whether hudi-rs gave Hudi's answer; None where it was not asked."""
    said = view.get("peer_hudi_rs")
    if said is None:
        key = view["kind"]
        if key == "asof":
            key += " " + view["instant"]
        if key == "incremental":
            key += f" {view.get('begin')}..{view.get('end')}"
        said = next(iter((meta.get("peer") or {}).values()), {}).get(key)
    if not isinstance(said, str):
        return None
    return said.startswith("ok") or said.startswith("both error")


def feature(name):
    return re.sub(r"^[vxp]\d_", "", name)


def main():
    binary, cases = os.path.abspath(sys.argv[1]), sys.argv[2]
    rows = collections.defaultdict(dict)
    about, refused, wrong = {}, [], []
    total, theirs = collections.Counter(), collections.Counter()
    found = sorted(glob.glob(os.path.join(cases, "**", "case.json"), recursive=True))
    if not found:
        sys.exit(f"no case below {cases}")
    for path in found:
        path = os.path.dirname(path)
        meta, results = run(binary, path)
        name = os.path.basename(path)
        version = int(name[1])
        about.setdefault(feature(name), (meta.get("description") or "").replace("|", "/"))
        count = collections.Counter(r for _, r, _ in results)
        known = [p for p in (peer(meta, v) for v, _, _ in results) if p is not None]
        rows[feature(name)][version] = (count, sum(known), len(known))
        total.update(count)
        theirs.update(known)
        for v, r, why in results:
            if r == "refused":
                refused.append((name, folder(v), why))
            if r == "differs":
                wrong.append((name, folder(v), why))
        print(name, dict(count), file=sys.stderr)
    write(rows, about, refused, wrong, total, theirs, subprocess.check_output([binary, "version"], text=True).split()[0:2])


def cell(entry):
    if entry is None:
        return ""
    count, good, known = entry
    judged = count["equal"] + count["refused"] + count["differs"]
    text = f"{count['equal']} of {judged}"
    if count["refused"]:
        text += f", {count['refused']} refused"
    if known:
        text += f" ({good} of {known})"
    return text


def write(rows, about, refused, wrong, total, theirs, version):
    print(f"""# What hudifs reads, and how right it is

Written by `make compatibility` on {dt.date.today()}; do not edit. Every line is a feature of Hudi, tried on real tables that Hudi wrote. A cell
says in how many views (snapshots, as-of, read-optimized, incremental and change data) the rows, columns and types were those that Hudi's own
Spark reader of the writing release gives, and in how many hudifs refuses because Hudi does, or because Hudi's answer is silently incomplete. In brackets: in how
many of the views that it was asked hudi-rs 0.5 gave Hudi's answer.

In all: {total['equal']} views equal, {total['refused']} refused, {total['differs']} different. hudi-rs: {theirs[True]} of {theirs[True] + theirs[False]} equal.

| feature | version 6 | version 8 | version 9 | |
|---|---|---|---|---|""")
    for name in sorted(rows):
        print(f"| {name} | " + " | ".join(cell(rows[name].get(v)) for v in VERSIONS) + f" | {about[name]} |")
    print("\n## Where it differs\n")
    print("\n".join(f"- {n}, `{d}`: {w[:300]}" for n, d, w in wrong) or "Nowhere.")
    print("\n## What is refused\n")
    print("| what a reader is told | kind of view | views | tables |\n|---|---|---|---|")
    kinds = collections.defaultdict(list)
    for n, d, w in refused:
        kinds[(errno(w), d.split("/")[0])].append(feature(n))
    for (why, kind), names in sorted(kinds.items()):
        print(f"| {why} | {kind} | {len(names)} | {', '.join(sorted(set(names)))} |")


def errno(why):
    """What the mount answered, in a few words."""
    m = re.search(r"\[[Ee]rrno \d+\] ([A-Z][a-z/ ]*[a-z])(?! stat)", re.sub(r"Failed [^']*'[^']*'", "", why))
    return m.group(1) if m else "not mounted: " + re.sub(r"\S*/\S*", "…", why.removeprefix("hudifs: "))[:120]


main()
