"""The decoder of Avro records beside goavro: the Go benchmarks of internal/logfile."""
import os
import re
import subprocess
from functools import partial

from measure import Absolute, Comparison, Experiment, Sample
from place import warm
from tables import ROOT

PACKAGE = os.path.join(ROOT, "internal", "logfile")
PEER = "goavro"


def decoding(place):
    table, program = place.tables.path("random"), place.path("logfile.test")
    subprocess.run(["go", "test", "-c", "-o", program, "."], cwd=PACKAGE, check=True)

    def side(benchmark):
        p = subprocess.run([program, "-test.run", "^$", "-test.bench", benchmark, "-test.benchtime", "0.5s"], cwd=PACKAGE, check=True,
                           stdout=subprocess.PIPE, text=True, env={**os.environ, "HUDIFS_BENCH_TABLE": table})
        return million_records(p.stdout)

    return Experiment(
        {
            "keys": partial(side, "^BenchmarkColumns$/^key_and_ordering$"),
            "all": partial(side, "^BenchmarkColumns$/^all$"),
            PEER: partial(side, "^BenchmarkGoavro$"),
        },
        [
            Comparison("decode a million Avro records, keys and ordering", "keys", PEER, 1 / 40),
            Comparison("the same, all fields", "all", PEER, 1 / 16),
            Absolute("allocations per record, keys and ordering", "keys", "allocs", 0.1),
            Absolute("the same, all fields", "all", "allocs", 0.1),
        ],
        partial(warm, table),
    )


def million_records(output):
    """The sample that a Go benchmark has printed per record, for a million of them."""
    def metric(unit):
        return float(re.search(rf"\s([0-9.e+-]+) {unit}\s", output).group(1))

    return Sample(metric("cpu-ns/record") / 1000, metric("ns/record") / 1000, allocs=metric("allocs/record"))


EXPERIMENTS = {"avro": decoding}
