"""What a table must hold at each instant, by its writer's own record.

A row is a pure function of its number and its version, so the record only says which version each row has:

    {"begin": 1764480123.4, "n": 7, "what": "upsert of 31", "rows": {"12": 3, "40": null}, "undo": null}
    {"end": 1764480126.1, "n": 7, "instants": [...], "undone": false}

one pair of lines for each step. "rows" are the new versions (null: deleted) of the instant that the step writes, if it gets to it: the one of "instants" that has
"rows": true. "undo" is an instant that the step takes back, if it gets to it. An instant is {"requested", "completed", "action", "born", "visible", "rows"}: its
file on the timeline was made when it was born, and all there when it was visible. A writer that was killed has its last step ended by its successor.
"""
import bisect
import collections
import datetime as dt
import decimal
import functools
import json
import os

RETAINED = 6        # commits of which the cleaner keeps the files
REGIONS = ("north", "south", "west")
COLUMNS = ("id", "region", "seq", "quantity", "price", "note", "changed", "tags")
START = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)

Row = collections.namedtuple("Row", COLUMNS)


def region(n):
    return REGIONS[n % len(REGIONS)]


@functools.lru_cache(maxsize=1 << 16)
def row(n, version):
    mix = n * 7919 + version * 104729
    return Row(
        id=f"k{n:06d}", region=region(n), seq=version, quantity=mix % 1000 - 200, price=decimal.Decimal(mix * 31 % 9_999_999).scaleb(-2),
        note=None if mix % 7 == 0 else f"note {mix % 53} of {n}" + " and so on" * (mix % 5), changed=START + dt.timedelta(seconds=mix % 10**8, microseconds=mix % 10**6),
        tags=None if mix % 11 == 0 else tuple(f"tag{i}" for i in range(mix % 4)),
    )


class Instant:
    """A completed instant of the timeline."""

    def __init__(self, requested, completed, action, born, visible, rows):
        self.requested, self.completed, self.action, self.born, self.visible, self.rows = requested, completed, action, born, visible, rows
        self.undone = None      # (earliest, latest) moment of its disappearance

    def stood(self, since):
        """Whether it was there at some time after since."""
        return self.undone is None or self.undone[1] >= since


class Epoch:
    """A time in which latest was one state: it began between lo and hi. The state maps row numbers to (version, requested time of the writing instant)."""

    def __init__(self, state, lo, hi):
        self.state, self.lo, self.hi = state, lo, hi


class Journal:
    """The lines of a journal that another process writes, read as they come."""

    def __init__(self, path):
        self.path, self.offset, self.read_at = path, 0, 0.0

    def lines(self, now):
        """The lines that are new. All lines written before now are among those returned so far."""
        try:
            with open(self.path, "rb") as f:
                f.seek(self.offset)
                data = f.read()
        except FileNotFoundError:
            return []
        whole = data[:data.rfind(b"\n") + 1]
        self.offset += len(whole)
        self.read_at = now
        return [json.loads(line) for line in whole.splitlines()]


class Model:
    """The record of one table, followed while it is written."""

    def __init__(self, path, version):
        self.journal, self.version = Journal(path), version
        self.instants = []              # by requested time; those that were taken back too
        self.changes = {}               # requested time of an instant -> its rows
        self.epochs = [Epoch({}, 0.0, 0.0)]
        self.known = 0.0                # nothing that happened before is missing here
        self.open = None                # the first line of the step that now runs
        self.steps = 0

    def follow(self, now):
        for line in self.journal.lines(now):
            if "begin" in line:
                self.open = line
            else:
                self.take(self.open, line)
                self.open = None
        self.known = self.open["begin"] if self.open else self.journal.read_at

    def take(self, begin, end):
        self.steps = end["n"]
        if end["undone"]:
            for i in self.instants:
                if i.requested == begin["undo"]:
                    i.undone = (begin["begin"], end["end"])
            self.epochs.append(Epoch(self.state_at(None), begin["begin"], end["end"]))
        for fields in end["instants"]:
            i = Instant(**fields)
            bisect.insort(self.instants, i, key=lambda x: x.requested)
            if i.rows:
                self.changes[i.requested] = {int(n): v for n, v in begin["rows"].items()}
                self.epochs.append(Epoch(self.state_at(None), i.born, i.visible))

    def state_at(self, requested, seen_since=float("inf")):
        """The state after all instants up to a requested time (None: after all); instants that were taken back after seen_since count."""
        state = {}
        for i in self.instants:
            if requested is not None and i.requested > requested:
                break
            if i.rows and i.stood(seen_since):
                apply(state, self.changes[i.requested], i.requested)
        return state

    def as_of(self, requested, since):
        """The states that asof/requested may show to one who has seen what happened before since."""
        return [self.state_at(requested, since), self.state_at(requested)]

    def latest(self, since, until):
        """The epochs that latest may show to a query that ran from since until."""
        out = []
        for at, e in enumerate(self.epochs):
            over = self.epochs[at + 1].hi if at + 1 < len(self.epochs) else float("inf")
            if e.lo <= until and over >= since:
                out.append((e, over))
        return out

    def undoing(self, since, until):
        """Whether an instant was being taken back between since and until."""
        return any(i.undone and i.undone[0] <= until and i.undone[1] >= since for i in self.instants)

    def time(self, i):
        """The time in which ranges are measured."""
        return i.completed if self.version >= 8 else i.requested

    def between(self, begin, end, since):
        """The states that incremental/begin..end may show likewise: what was written after begin and up to end, as it was left at end."""
        return [self.written(begin, end, since), self.written(begin, end, float("inf"))]

    def written(self, begin, end, seen_since):
        state = {}
        for i in sorted(self.instants, key=self.time):
            if i.rows and i.stood(seen_since) and begin < self.time(i) <= end:
                apply(state, self.changes[i.requested], i.requested)
        return state

    def standing(self):
        return [i for i in self.instants if not i.undone]


def apply(state, changes, requested):
    for n, version in changes.items():
        if version is None:
            state.pop(n, None)
        else:
            state[n] = (version, requested)


class Recorder:
    """Writes a journal."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")

    def put(self, **line):
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()


def journal_of(home, table):
    return os.path.join(home, table + ".journal")
