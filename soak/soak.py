#!/usr/bin/env python3
"""Reads tables through a mount while Hudi writes them, the daemon is killed, its cache damaged and its disk filled; compares every answer.

usage: soak.py [--time 10m] [--seed N] [--tables v9-mor,v6-cow] [--report FILE] [HUDIFS]

It needs root (for a file system of its own as cache), FUSE, Java 17 and what scripts/deps.sh and scripts/spark.sh set up. See README.md beside it.
"""
import argparse
import collections
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import chaos
import daemon
import model
import report

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TABLES = ("v9-mor", "v9-cow-flat-metadata", "v6-mor-flat", "v6-cow")
RELEASE = {"v6": "0.15.0", "v9": "1.1.1"}
READERS = ("quick", "quick", "patient")
MEMORY = 64 << 20       # bytes that the daemon is told to keep to
SPARE = 256 << 20       # bytes that it may take beyond them
CACHE_DISK = 24 << 20   # size of the cache's disk
CACHE_SIZE = 4 << 20    # budget of the cache, small enough for evictions
POLL = 1.0              # seconds between the daemon's looks at a timeline
STALE = 2 * POLL + 3    # seconds that latest may be behind on a busy machine
DEADLINE = 60.0         # seconds after which a query is a hang
TOLD = 10               # faults that are printed
FIRST = 2               # instants of each table that are waited for
MORE = 60               # seconds that a run may last longer, until each kind of trouble was there
PATIENCE = 400          # seconds that readers and writers may take to end
STEPS = 8               # that a writer does at least before it is killed
LONG = 300              # seconds from which on writers are killed too
WARM_UP = 900.0         # seconds that the writers may take for them


class Soak:
    def __init__(self, options, home):
        self.options, self.home = options, home
        self.rng = random.Random(options.seed)
        self.faults = []
        self.verdicts = collections.Counter()       # (verdict, view, engine)
        self.lag = self.slowest = 0.0
        self.hangs = 0
        self.processes = []                         # (name, process) of those that run
        self.ended = set()                          # processes that were killed
        self.writers = {}                           # table version -> (generation, process, steps done before it)
        self.kills = 0                              # of writers
        self.said = queue.Queue()
        self.began = {}                             # reader -> (when, what) of the query that runs
        self.unjudged = 0

        self.path = lambda *parts: os.path.join(home, *parts)
        for folder in ("tables", "journal", "mount", "cache"):
            os.mkdir(self.path(folder))
        for lock in ("gate", "entrance"):
            open(self.path(lock), "w").close()
        self.tables = options.tables
        with open(self.path("soak.json"), "w") as f:
            json.dump({"mount": self.path("mount"), "tables": self.tables, "stale": STALE, "retained": model.RETAINED}, f)
        self.record = model.Recorder(self.path("journal", "daemon"))
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={CACHE_DISK}", "soak", self.path("cache")], check=True)
        self.daemon = daemon.Daemon(
            options.hudifs, self.path("tables"), self.path("mount"), self.path("cache"), self.path("hudifs.log"),
            "--memory", str(MEMORY), "--cache-size", str(CACHE_SIZE), "--cache-min-free", "1MiB", "--poll-interval", f"{POLL}s")
        self.chaos = chaos.Chaos(home, self.daemon, self.path("cache"), self.record, self.rng, self.kill_writer)

    # ---- the processes

    def spawn(self, name, command, **how):
        log = open(self.path(name + ".log"), "ab")
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, **how)
        log.close()
        self.processes.append((name, p))
        return p

    def start_writers(self):
        for version in sorted({t.split("-")[0] for t in self.tables}):
            self.start_writer(version)
        limit = time.time() + WARM_UP
        while not all(len(self.model(t).instants) >= FIRST for t in self.tables):
            self.check_processes()
            if self.faults or time.time() > limit:
                raise RuntimeError("the writers do not get to their first instants")
            time.sleep(0.5)

    def start_writer(self, version, generation=0):
        names = [t for t in self.tables if t.startswith(version)]
        program = [os.path.join(HERE, "writer.py"), RELEASE[version], self.home, f"{self.options.seed} {generation}", *names]
        # In a session of its own, so that Python and the JVM can be killed at once.
        p = self.spawn(f"writer-{version}.{generation}", ["nice", os.path.join(ROOT, "scripts", "spark.sh"), *program], stdout=subprocess.DEVNULL, cwd=self.home, start_new_session=True)
        self.writers[version] = generation, p, self.steps(version)

    def steps(self, version):
        """How many steps a writer and those before it have done."""
        return sum(self.model(t).steps for t in self.tables if t.startswith(version))

    def kill_writer(self):
        """Kills a writer in the middle of what it does; its successor, or Hudi in it, has to clear up."""
        if self.options.time < LONG:
            return      # it would take most of the run to be back
        at_work = [version for version, (_, p, steps) in self.writers.items() if p.poll() is None and self.steps(version) - steps >= STEPS]
        if not at_work:
            return
        version = self.rng.choice(sorted(at_work))
        generation, p, _ = self.writers[version]
        self.ended.add(p)
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        self.kills += 1
        self.start_writer(version, generation + 1)

    def model(self, table):
        m = model.Model(model.journal_of(self.path("journal"), table), int(table[1]))
        m.follow(time.time())
        return m

    def start_reader(self, kind, n, generation=0):
        name = f"reader-{kind}-{n}.{generation}"
        p = self.spawn(name, [os.path.join(ROOT, ".venv", "bin", "python"), os.path.join(HERE, "reader.py"), self.home, f"{self.options.seed} {name}", kind], stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.listen, args=(name, p), daemon=True).start()

    def listen(self, name, p):
        for line in p.stdout:
            self.said.put((name, json.loads(line)))

    def check_processes(self):
        for name, p in list(self.processes):
            if p.poll() is None:
                continue
            self.processes.remove((name, p))
            if p.returncode and p not in self.ended:
                with open(self.path(name + ".log"), errors="replace") as f:
                    self.fault(f"{name} ended with status {p.returncode}: {f.read()[-1500:]}")
        if self.daemon.death:
            self.fault(self.daemon.death)
            self.daemon.death = None

    # ---- the run

    def run(self):
        say(f"seed {self.options.seed}; everything lies in {self.home}")
        say("waiting for the first instants of " + ", ".join(self.tables))
        self.start_writers()
        self.daemon.start()
        for n, kind in enumerate(READERS):
            self.start_reader(kind, n)
        say(f"soaking for {self.options.time:.0f} s")
        end = time.time() + self.options.time
        trouble = threading.Thread(target=self.make_trouble, args=(end,))
        trouble.start()
        told = time.time()
        while time.time() < end or trouble.is_alive():
            self.look()
            if time.time() - told > 15:
                told = time.time()
                say(self.progress())
        self.finish()
        return self.summary()

    def make_trouble(self, end):
        try:
            while time.time() < end or not all(self.chaos.counts.values()) and time.time() < end + MORE:
                time.sleep(self.rng.uniform(1, 5))
                self.chaos.next()
        except Exception as e:
            self.fault(f"trouble: {type(e).__name__}: {e}")

    def look(self, wait=0.2):
        """Takes in what the readers say, and looks after those who say nothing."""
        try:
            while True:
                self.hear(*self.said.get(timeout=wait))
        except queue.Empty:
            pass
        self.check_processes()
        for name, (when, what) in list(self.began.items()):
            if time.time() - when > DEADLINE:
                self.hangs += 1
                p = next(p for n, p in self.processes if n == name)
                self.fault(f"{name} hangs in {what}: {stack(p.pid)}")
                self.ended.add(p)
                del self.began[name]
                p.kill()
                _, kind, n = name.split("-")
                n, generation = n.split(".")
                self.start_reader(kind, n, int(generation) + 1)

    def hear(self, name, line):
        if "begin" in line:
            self.began[name] = (line["at"], line["begin"])
        elif "end" in line:
            self.began.pop(name, None)
        elif "unjudged" in line:
            self.unjudged += line["unjudged"]
        else:
            self.verdicts[line["verdict"], line["view"], line["engine"]] += 1
            self.slowest = max(self.slowest, line["took"])
            if line["lag"] > self.lag:
                self.lag = line["lag"]
                say(f"{line['query']} was {self.lag:.1f} s behind")
            if line["verdict"] in ("wrong", "failed"):
                self.fault(f"{line['verdict']} at {line['at']:.3f}: {line['query']}: {line['detail']}")

    def finish(self):
        open(self.path("stop-reading"), "w").close()
        say("ending: answers are judged when the writers have recorded what they were doing")
        self.await_end("reader")
        open(self.path("stop"), "w").close()
        self.await_end("writer")
        say("a last look at every instant")
        self.start_reader("thorough", 0)
        self.await_end("reader")
        try:
            self.daemon.end()
        except RuntimeError as e:
            self.fault(str(e))
        if os.path.ismount(self.path("mount")):
            self.fault("the mount is still there after the daemon's end")
        for table in self.tables:
            if len(self.model(table).instants) < 2:
                self.fault(f"{table} was hardly written")
        for what, n in self.chaos.counts.items():
            if not n:
                self.fault(f"{what}: none")
        if self.unjudged:
            self.fault(f"{self.unjudged} answers could not be judged")
        if self.daemon.peak > MEMORY + SPARE:
            self.fault(f"the daemon took {self.daemon.peak >> 20} MiB, {(MEMORY + SPARE) >> 20} are allowed")

    def await_end(self, kind):
        limit = time.time() + PATIENCE
        while any(name.startswith(kind) for name, _ in self.processes):
            self.look()
            if time.time() > limit:
                self.fault(f"a {kind} does not end")
                break
        self.look()

    def fault(self, text):
        self.faults.append(text)
        with open(self.path("faults"), "a", encoding="utf-8") as f:
            print(text, file=f)
        if len(self.faults) <= TOLD:
            say("FAULT " + text)

    def progress(self):
        by = collections.Counter()
        for (verdict, _, _), n in self.verdicts.items():
            by[verdict] += n
        counts = ", ".join(f"{n} {verdict}" for verdict, n in sorted(by.items()))
        return f"answers: {counts}; " + ", ".join(f"{n} {what}" for what, n in self.chaos.counts.items()) + f"; {self.daemon.peak >> 20} MiB at most"

    def summary(self):
        done = collections.Counter()
        for table in self.tables:
            m = self.model(table)
            done.update(i.action for i in m.instants)
            done["rollback"] += sum(1 for i in m.instants if i.undone)
        return {
            "seconds": self.options.time, "seed": self.options.seed, "tables": self.tables, "instants": dict(done), "chaos": self.chaos.counts, "writers": self.kills,
            "recovery": sorted(self.chaos.recoveries), "answers": [[*k, n] for k, n in sorted(self.verdicts.items())], "hangs": self.hangs, "lag": self.lag, "status": dict(self.daemon.done),
            "slowest": self.slowest, "peak": self.daemon.peak, "memory": MEMORY, "allowed": MEMORY + SPARE, "faults": self.faults,
        }

    def clean_up(self):
        for name, p in self.processes:
            if name.startswith("writer"):
                os.killpg(p.pid, signal.SIGKILL)
            p.kill()
            p.wait()
        if self.daemon.process and self.daemon.process.poll() is None:
            self.daemon.ending.set()
            self.daemon.process.kill()
            self.daemon.process.wait()
        for folder in ("mount", "cache"):
            subprocess.run(["umount", "-l", self.path(folder)], stderr=subprocess.DEVNULL, check=False)


def stack(pid):
    """Where a process waits."""
    try:
        with open(f"/proc/{pid}/wchan") as f:
            return f"waits in {f.read() or 'nothing'}"
    except OSError as e:
        return str(e)


def say(text):
    print(time.strftime("%H:%M:%S ") + text, flush=True)


def seconds(text):
    found = re.fullmatch(r"(\d+)(s|m|h)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 60s or 10m")
    return int(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("hudifs", nargs="?", default=os.path.join(ROOT, "hudifs"))
    p.add_argument("--time", type=seconds, default="10m")
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    p.add_argument("--tables", type=lambda t: t.split(","), default=TABLES, help="some of v6 or v9 with -mor or -cow, then -flat or -metadata (default: %(default)s)")
    p.add_argument("--report", help="file to write the figures to")
    options = p.parse_args()
    if os.geteuid() != 0:
        sys.exit("soak: only root can mount a disk of its own for the cache")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    home = tempfile.mkdtemp(prefix="hudifs-soak-")
    soak = Soak(options, home)
    try:
        summary = soak.run()
    finally:
        soak.clean_up()
    print(report.text(summary))
    if options.report:
        report.write(options.report, summary)
    if summary["faults"]:
        say(f"{len(summary['faults'])} faults; what is left of the run lies in {home}")
        sys.exit(1)
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
