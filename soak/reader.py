#!/usr/bin/env python3
"""Reads views through the mount in a loop, and compares every answer with the writers' record.

usage: reader.py HOME SEED

Says on stdout, a line of JSON each, when a query begins ({"begin": ...}) and what became of it ({"verdict": ...}): the supervisor counts, and ends a
reader that hangs. A verdict is one of

    right     the answer is that of the one instant it must be
    mixed     latest, read by path: each partition is right at an instant of the query's time, but not all at the same one
    cleaned   ESTALE for files that the cleaner could have removed
    undone    an error while a commit was taken back: the answer could still change, or its files are gone
    absent    an error while the daemon was dead
    wrong     rows that no allowed instant has
    failed    an error that nothing excuses
"""
import errno
import fcntl
import json
import os
import random
import sys
import time

import model
import questions

RETAINED = 6        # as in writer.py
PENDING = 100       # answers that may wait for the record


class Windows:
    """When the daemon was dead: from a kill until its successor's mount could be used."""

    def __init__(self, path):
        self.journal, self.spans = model.Journal(path), []

    def follow(self, now):
        for line in self.journal.lines(now):
            if "down" in line:
                self.spans.append([line["down"], float("inf")])
            elif "up" in line:
                self.spans[-1][1] = line["up"]

    def overlap(self, since, until):
        return any(down <= until and up >= since for down, up in self.spans)


class Query:
    """A question, where it is asked, and what came back."""

    def __init__(self, table, view, where, way, engine, question):
        self.table, self.view, self.where, self.way, self.engine, self.question = table, view, where, way, engine, question
        self.since = self.until = 0.0
        self.answer = self.error = self.errno = None

    def __str__(self):
        return f"{self.engine} {type(self.question).__name__.lower()} {self.table}/{self.where} ({self.way})"


class Reader:
    def __init__(self, home, seed):
        with open(os.path.join(home, "soak.json")) as f:
            self.config = json.load(f)
        self.mount = self.config["mount"]
        self.stale = self.config["stale"]
        self.rng = random.Random(seed)
        self.models = {t: model.Model(model.journal_of(os.path.join(home, "journal"), t), int(t[1])) for t in self.config["tables"]}
        self.windows = Windows(os.path.join(home, "journal", "daemon"))
        self.gate = open(os.path.join(home, "gate"))
        self.home = home
        self.duckdb = questions.session()
        self.pending = []

    def run(self):
        while not os.path.exists(os.path.join(self.home, "stop-reading")):
            self.follow()
            query = self.choose()
            if query:
                self.ask(query)
                self.pending.append(query)
            self.judge_all()
            while len(self.pending) >= PENDING:
                time.sleep(0.2)
                self.judge_all()
        deadline = time.time() + 120
        while self.pending and time.time() < deadline:
            time.sleep(0.2)
            self.judge_all()
        say(unjudged=len(self.pending))

    def follow(self):
        now = time.time()
        self.windows.follow(now)
        for m in self.models.values():
            m.follow(now)
        return now

    # ---- asking

    def choose(self):
        table = self.rng.choice(sorted(self.models))
        m = self.models[table]
        standing = m.standing()
        if not standing:
            return None
        engine = self.rng.choice(("duckdb", "pyarrow"))
        question = questions.choose(self.rng, max(int(v or 0) for rows in m.changes.values() for v in rows.values()))
        way = self.rng.choice(("path", "files", "held"))
        view = self.rng.choices(("latest", "asof", "incremental"), weights=(2, 1, 1))[0]
        if view == "latest":
            where = "latest"
        else:
            # Younger ones may not have been seen by the daemon.
            times = sorted(i.requested if view == "asof" else m.time(i) for i in standing if i.visible < time.time() - self.stale)
            near = times[-RETAINED:] if self.rng.random() < 0.8 else times
            if not near:
                return None
            where = f"asof/{self.rng.choice(near)}"
            if view == "incremental":
                begin, end = sorted(self.rng.sample(["000", *near], 2))
                where = f"incremental/{begin}..{end}"
        return Query(table, view, where, way, engine, question)

    def ask(self, q):
        fcntl.flock(self.gate, fcntl.LOCK_SH)
        say(begin=str(q), at=time.time())
        q.since = time.time()
        folder = os.path.join(self.mount, q.table, q.where)
        try:
            q.answer = self.read(q, folder)
        except Exception as e:
            q.error = f"{type(e).__name__}: {e}"[:500]
            q.errno = cause(folder)
        q.until = time.time()
        say(end=True)
        fcntl.flock(self.gate, fcntl.LOCK_UN)

    def read(self, q, path):
        if q.way != "held":
            return self.read_folder(q, path)
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)      # what is open stays the view that it was
        try:
            return self.read_folder(q, f"/proc/self/fd/{held}")
        finally:
            os.close(held)

    def read_folder(self, q, path):
        folder = questions.Folder(path, files_in(path) if q.way != "path" else None)
        if q.engine == "duckdb":
            return q.question.duckdb(self.duckdb, folder)
        return q.question.pyarrow(folder)

    # ---- judging

    def judge_all(self):
        self.follow()
        now = self.windows.journal.read_at
        waiting = []
        for q in self.pending:
            if self.models[q.table].known <= q.until or now <= q.until:
                waiting.append(q)
                continue
            verdict, detail, lag = self.judge(q)
            say(verdict=verdict, view=q.view, way=q.way, engine=q.engine, table=q.table, query=str(q), took=round(q.until - q.since, 3), lag=round(lag, 3), at=q.since, detail=detail)
        self.pending = waiting

    def judge(self, q):
        m = self.models[q.table]
        dead = self.windows.overlap(q.since, q.until)
        if q.error:
            if dead:
                return "absent", q.error, 0
            if q.errno == errno.ESTALE and self.may_be_cleaned(m, q):
                return "cleaned", q.error, 0
            if q.errno in (errno.ESTALE, errno.EOPNOTSUPP, errno.ENOENT) and m.undoing(q.since - self.stale, q.until):
                return "undone", q.error, 0
            return "failed", f"{q.error} [errno {q.errno}]", 0
        allowed = self.allowed(m, q)
        flat = "-flat" in q.table
        wants = [(questions.expected(q.question, state, flat), lag) for state, lag in allowed]
        for want, lag in reversed(wants):
            if want == q.answer:
                return "right", "", lag
        if dead and q.way == "path" and q.engine == "duckdb":
            return "absent", "a glob overlooks folders that can't be listed", 0
        if q.view == "latest" and q.way != "held" and not flat and all(any(q.answer.get(r) == w.get(r) for w, _ in wants) for r in {*model.REGIONS, *q.answer}):
            return "mixed", "", 0
        return "wrong", f"{len(wants)} states allowed; against the last: " + questions.difference(wants[-1][0], q.answer)[:1500], 0

    def allowed(self, m, q):
        """The states that may be the answer, newest last, each with how far behind it would be."""
        # A state may be shown until the daemon has looked anew.
        if q.view == "latest":
            return [(e.state, max(0.0, q.since - over)) for e, over in m.latest(q.since - self.stale, q.until)]
        where = q.where.split("/", 1)[1]
        if q.view == "asof":
            return [(s, 0) for s in m.as_of(where, q.since - self.stale)]
        begin, end = where.split("..")
        return [(s, 0) for s in m.between(begin, end, q.since - self.stale)]

    def may_be_cleaned(self, m, q):
        """Whether the cleaner may have removed files that the view needs. latest never misses any."""
        if q.view == "latest":
            return False
        oldest = q.where.split("/", 1)[1].split("..")[0]
        time_of = (lambda i: i.requested) if q.view == "asof" else m.time
        newer = sum(1 for i in m.instants if i.born <= q.until and time_of(i) > oldest)       # one that was taken back later has counted
        return newer >= RETAINED


def files_in(path):
    def fail(e):
        raise e
    found = sorted(os.path.join(at, f) for at, _, files in os.walk(path, onerror=fail) for f in files)
    if not found:
        raise FileNotFoundError(f"{path} holds no file")
    return found


def cause(folder):
    """The error number that plain system calls meet in a folder, None where all can be read."""
    try:
        for path in files_in(folder):
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
