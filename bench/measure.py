"""CPU and wall time of what is compared, taken in turns: A B C, A B C, ..."""
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Callable

JOBS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jobs.py")


@dataclass(frozen=True)
class Sample:
    """One execution: CPU seconds (user and system, all threads, of every process that worked for it) and wall seconds. Where they were looked at,
    the most memory that the daemon held until then, in MiB, and the allocations for one record."""

    cpu: float
    wall: float
    peak: float = 0
    allocs: float = 0

    def __add__(self, other):
        return Sample(self.cpu + other.cpu, self.wall + other.wall, max(self.peak, other.peak), self.allocs + other.allocs)


@dataclass(frozen=True)
class Comparison:
    """One line of the table: a side of an experiment beside another. at_most and wanted bound side / peer; None where nothing is asked."""

    work: str
    side: str
    peer: str
    at_most: float | None = None
    wanted: float | None = None
    metric: str = "cpu"             # or wall


@dataclass(frozen=True)
class Absolute:
    """One line of the table: a metric of one side (peak or allocs) beside a bound."""

    work: str
    side: str
    metric: str
    at_most: float


@dataclass
class Experiment:
    """Sides that are measured in turns. A side is a function that does the work once, or several works after one another, whose samples it gives
    by name; prepare runs before each side, unmeasured. Where often is set there are so many rounds for one of others: of work that is soon done."""

    sides: dict[str, Callable[[], Sample | dict[str, Sample]]]
    lines: list[Comparison | Absolute]
    prepare: Callable[[], None] = lambda: None
    often: int = 1


@dataclass(frozen=True)
class Result:
    """A line of the table, and the samples of all sides of its experiment."""

    line: Comparison | Absolute
    samples: dict[str, list[Sample]] = field(repr=False)

    def of(self, side, metric, choose):
        """min or median of a metric over the rounds."""
        return choose(getattr(s, metric) for s in self.samples[side])

    def ratio(self, choose):
        c = self.line
        return self.of(c.side, c.metric, choose) / self.of(c.peer, c.metric, choose)


def run(name, experiment, rounds):
    """All lines of an experiment, measured."""
    samples = {}
    rounds *= experiment.often
    for n in range(rounds):
        for side, work in experiment.sides.items():
            experiment.prepare()
            found = work()
            for side, sample in (found if isinstance(found, dict) else {side: found}).items():
                samples.setdefault(side, []).append(sample)
                print(f"{name} {n + 1}/{rounds} {side}: {sample.cpu:.3f} CPU s, {sample.wall:.3f} s", file=sys.stderr)
    return [Result(line, samples) for line in experiment.lines]


def job(name, *args, python=sys.executable, program=JOBS, log=None):
    """Runs a function of jobs.py in a process of its own, which measures itself once everything it needs is loaded."""
    p = subprocess.run([python, program, name, *map(str, args)], stdout=subprocess.PIPE, stderr=log, text=True, check=True)
    return Sample(**json.loads(p.stdout.splitlines()[-1]))     # Spark says more before


def command(*argv):
    """Runs a program from its start to its end; what it prints goes nowhere."""
    began = time.perf_counter()
    p = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        raise subprocess.CalledProcessError(p.returncode, argv)
    return Sample(usage.ru_utime + usage.ru_stime, time.perf_counter() - began)


def process_cpu(pid):
    """CPU seconds of a process so far, all its threads, the ended ones too."""
    return time.clock_gettime((~pid << 3) | 2)      # clock_getcpuclockid(3), which Python lacks


def process_peak(pid):
    """The most memory that a process has held, in MiB."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) / 1024 for line in f if line.startswith("VmHWM:"))


def median(values):
    return statistics.median(values)
