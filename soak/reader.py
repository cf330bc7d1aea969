#!/usr/bin/env python3
"""Reads views through the mount in a loop, and has every answer judged.

usage: reader.py HOME SEED quick|patient|thorough

A quick reader asks one query after the other. A patient one lets some seconds, with their commits, pass between listing and reading. A thorough one asks, once
everything is quiet, for every instant and every step between two of them. Says on stdout, a line of JSON each, when a query begins ({"begin": ...}) and what became of it ({"verdict": ...}): the supervisor counts, and ends a reader that hangs.
"""
import fcntl
import json
import os
import random
import sys
import time

import judge
import model
import questions

PENDING = 100       # answers that may wait for the record
PATIENCE = 8.0      # seconds that a patient reader waits at most


class Query:
    """A question, where and how it is asked, and what came back."""

    def __init__(self, table, view, times, way, engine, question):
        self.table, self.view, self.times, self.way, self.engine, self.question = table, view, times, way, engine, question
        self.where = "/".join([view, "..".join(times)]) if times else view
        self.since = self.listed = self.until = 0.0
        self.spans = []         # (from, until): when it depended on the daemon's life
        self.files = None
        self.answer = self.error = self.errno = None

    def __str__(self):
        return f"{self.engine} {type(self.question).__name__.lower()} {self.table}/{self.where} ({self.way})"


class Reader:
    def __init__(self, home, seed, kind):
        with open(os.path.join(home, "soak.json")) as f:
            self.config = json.load(f)
        self.home, self.kind, self.rng = home, kind, random.Random(seed)
        self.stale, self.retained = self.config["stale"], self.config["retained"]
        self.models = {t: model.Model(model.journal_of(os.path.join(home, "journal"), t), int(t[1])) for t in self.config["tables"]}
        self.judge = judge.Judge(self.models, judge.Windows(os.path.join(home, "journal", "daemon")), self.stale, self.retained)
        self.gate, self.entrance = open(os.path.join(home, "gate")), open(os.path.join(home, "entrance"))
        self.duckdb = questions.session()
        self.pending = []

    def run(self):
        for q in self.everything() if self.kind == "thorough" else self.random():
            self.ask(q)
            self.pending.append(q)
            if q.error:
                time.sleep(0.2)     # a dead daemon fails a thousand queries a second
            self.judge_all()
            while len(self.pending) >= PENDING:
                time.sleep(0.2)
                self.judge_all()
        deadline = time.time() + 300
        while self.pending and time.time() < deadline:
            time.sleep(0.2)
            self.judge_all()
        say(unjudged=len(self.pending))

    def judge_all(self):
        self.judge.follow(time.time())
        ready = [q for q in self.pending if self.judge.ready(q)]
        self.pending = [q for q in self.pending if q not in ready]
        for q in ready:
            verdict, detail, lag = self.judge.judge(q)
            say(verdict=verdict, view=q.view, way=q.way, engine=q.engine, query=str(q), took=round(q.until - q.since, 3), lag=round(lag, 3), at=q.since, detail=detail)

    # ---- choosing

    def everything(self):
        self.judge.follow(time.time())
        for table, m in self.models.items():
            standing = m.standing()
            asked = [("latest", [])]
            asked += [("asof", [i.requested]) for i in standing]
            asked += [("diff", [a.requested, b.requested]) for a, b in zip(standing, standing[1:])]
            ends = sorted(m.time(i) for i in standing)
            asked += [("incremental", [a, b]) for a, b in zip(["000", *ends], ends)] + [("incremental", ["000", b]) for b in ends[1:]]
            for view, times in asked:
                question = questions.Difference() if view == "diff" else questions.Whole()
                for engine in ("duckdb", "pyarrow"):
                    yield Query(table, view, times, "path", engine, question)

    def random(self):
        while not os.path.exists(os.path.join(self.home, "stop-reading")):
            q = self.choose()
            if q:
                yield q
            else:
                self.judge_all()
                time.sleep(0.2)

    def choose(self):
        table = self.rng.choice(sorted(self.models))
        m = self.models[table]
        # Younger ones may not have been seen by the daemon.
        standing = [i for i in m.standing() if i.visible < time.time() - self.stale]
        engine = self.rng.choice(("duckdb", "pyarrow"))
        question = questions.choose(self.rng, m.steps)
        if self.kind == "patient":
            way = self.rng.choice(("named", "opened"))
            view = self.rng.choice(("latest", "latest", "asof"))
            engine = "pyarrow" if way == "opened" else engine      # the only one that takes open files
        else:
            way = self.rng.choice(("path", "files", "held"))
            view = self.rng.choice(("latest", "latest", "latest", "asof", "asof", "incremental", "incremental", "diff"))
        if view == "latest":
            return Query(table, view, [], way, engine, question)
        times = sorted(m.time(i) if view == "incremental" else i.requested for i in standing)
        if self.rng.random() < 0.8:
            times = times[-self.retained:]
        if view == "asof":
            return Query(table, view, [self.rng.choice(times)], way, engine, question) if times else None
        if view == "diff":
            question = questions.Difference()
            return Query(table, view, self.rng.sample(times, 2), way, engine, question) if len(times) > 1 else None
        return Query(table, view, sorted(self.rng.sample(["000", *times], 2)), way, engine, question) if times else None

    # ---- asking

    def ask(self, q):
        self.lock()
        q.since = time.time()
        say(begin=str(q), at=q.since)
        folder = os.path.join(self.config["mount"], q.table, q.where)
        try:
            q.answer = {"held": self.read_held, "named": self.read_named, "opened": self.read_opened}.get(q.way, self.read)(q, folder)
        except Exception as e:
            q.error = f"{type(e).__name__}: {e}"[:500]
            q.errno = getattr(e, "errno", None) or cause(q.files if q.way == "named" and q.files else folder)
        q.until = time.time()
        q.listed = q.listed or q.until
        q.spans.append((q.resumed if q.way == "named" and q.spans else q.since, q.until))
        say(end=True)
        self.unlock()

    def read(self, q, path):
        if q.way != "path":
            q.files = files_in(path)
        return self.answer(q, path)

    def answer(self, q, path):
        folder = questions.Folder(path, q.files)
        if q.engine == "duckdb":
            return q.question.duckdb(self.duckdb, folder)
        return q.question.pyarrow(folder)

    def read_held(self, q, path):
        """Reads a folder that stays the view that it was, as it is open."""
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return self.read(q, f"/proc/self/fd/{held}")
        finally:
            os.close(held)

    def read_named(self, q, path):
        """Reads files by names that were listed before."""
        q.files = files_in(path)
        q.listed = time.time()
        q.spans.append((q.since, q.listed))
        self.unlock()
        time.sleep(self.rng.uniform(1, PATIENCE))
        self.lock()
        q.resumed = time.time()
        return self.answer(q, path)

    def read_opened(self, q, path):
        """Reads files that have been open for a while."""
        q.files = files_in(path)
        opened = []
        try:
            for f in q.files:
                opened.append(open(f, "rb"))
            q.listed = time.time()
            time.sleep(self.rng.uniform(1, PATIENCE))
            return q.question.pyarrow(questions.OpenFiles(opened))
        finally:
            for f in opened:
                f.close()

    def lock(self):
        """Waits while the cache is being damaged; see Chaos.nobody_reading."""
        fcntl.flock(self.entrance, fcntl.LOCK_EX)
        fcntl.flock(self.gate, fcntl.LOCK_SH)
        fcntl.flock(self.entrance, fcntl.LOCK_UN)

    def unlock(self):
        fcntl.flock(self.gate, fcntl.LOCK_UN)


def files_in(path):
    def fail(e):
        raise e
    found = sorted(os.path.join(at, f) for at, _, files in os.walk(path, onerror=fail) for f in files)
    if not found:
        raise FileNotFoundError(f"{path} holds no file")
    return found


def cause(where):
    """The error number that plain system calls meet in a folder or in files, None where all can be read."""
    try:
        for path in files_in(where) if isinstance(where, str) else where:
            with open(path, "rb") as f:
                while f.read(1 << 20):
                    pass
    except OSError as e:
        return e.errno
    return None


def say(**what):
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    Reader(*sys.argv[1:]).run()
