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
    """One execution: CPU seconds (user and system, all threads, of every process that worked for it), wall seconds, and the most memory
    that one of the processes held, in bytes, where it was looked at."""

    cpu: float
    wall: float
    peak: int = 0

    def __add__(self, other):
        return Sample(self.cpu + other.cpu, self.wall + other.wall, max(self.peak, other.peak))


@dataclass(frozen=True)
class Comparison:
    """One line of the table: a side of an experiment beside another, or beside a bound."""

    work: str
    side: str
    peer: str
    at_most: float | None = None    # of side / peer; None where nothing is asked
    wanted: float | None = None
    metric: str = "cpu"             # or wall, or peak


@dataclass
class Experiment:
    """Sides that are measured in turns. A side is a function that does the work once; prepare runs before each of them, unmeasured."""

    name: str
    sides: dict[str, Callable[[], Sample]]
    comparisons: list[Comparison]
    prepare: Callable[[], None] = lambda: None


@dataclass
class Result:
    comparison: Comparison
    ours: list[Sample] = field(default_factory=list)
    peer: list[Sample] = field(default_factory=list)

    def ratio(self, of):
        """of (min or median) over the rounds, side by peer."""
        return of(self.values(self.ours)) / of(self.values(self.peer))

    def values(self, samples):
        return [getattr(s, self.comparison.metric) for s in samples]


def run(experiment, rounds):
    """All comparisons of an experiment, measured."""
    samples = {side: [] for side in experiment.sides}
    for n in range(rounds):
        for side, work in experiment.sides.items():
            experiment.prepare()
            sample = work()
            samples[side].append(sample)
            print(f"{experiment.name} {n + 1}/{rounds} {side}: {sample.cpu:.3f} CPU s, {sample.wall:.3f} s", file=sys.stderr)
    return [Result(c, samples[c.side], samples[c.peer]) for c in experiment.comparisons]


def job(name, *args):
    """Runs a function of jobs.py in a process of its own, which measures itself once everything it needs is loaded."""
    p = subprocess.run([sys.executable, JOBS, name, *map(str, args)], stdout=subprocess.PIPE, text=True, check=True)
    return Sample(**json.loads(p.stdout))


def process_cpu(pid):
    """CPU seconds of a process so far, all its threads, the ended ones too."""
    return time.clock_gettime((~pid << 3) | 2)      # clock_getcpuclockid(3), which Python lacks


def process_peak(pid):
    """The most memory that a process has held, in bytes."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM:"))


def median(values):
    return statistics.median(values)
