"""Compares what readers got with the writers' record."""
import errno

import model
import questions

# What becomes of a query, and what it means.
VERDICTS = {
    "right": "that of the one instant it must be",
    "mixed": "`latest` by path, walked while a commit came: each partition is right at an instant of the query's time, but not all at the same one",
    "cleaned": "ESTALE, as the cleaner may have removed the files",
    "undone": "an error while a commit was being rolled back: its answer could still change, or its files are gone",
    "absent": "an error while the daemon was dead",
    "wrong": "rows that no allowed instant has",
    "failed": "an error that nothing excuses",
}


class Windows:
    """When the daemon was dead: from a kill until its successor's mount could be used."""

    def __init__(self, path):
        self.journal, self.spans = model.Journal(path), []

    def follow(self, now):
        for line in self.journal.lines(now):
            if "down" in line:
                self.spans.append([line["down"], float("inf")])
            else:
                self.spans[-1][1] = line["up"]

    def overlap(self, spans):
        return any(down <= until and up >= since for since, until in spans for down, up in self.spans)


class Judge:
    def __init__(self, models, windows, stale, retained):
        self.models, self.windows, self.stale, self.retained = models, windows, stale, retained

    def follow(self, now):
        self.windows.follow(now)
        for m in self.models.values():
            m.follow(now)

    def ready(self, q):
        """Whether the record covers the time of a query."""
        return self.models[q.table].known > q.until and self.windows.journal.read_at > q.until

    def judge(self, q):
        """A verdict, what there is to say of it, and how many seconds the answer was behind."""
        m = self.models[q.table]
        dead = self.windows.overlap(q.spans)
        if q.error:
            return self.excuse(m, q, dead), f"{q.error} [errno {q.errno}]", 0
        flat = "-flat" in q.table
        wants = [(questions.expected(q.question, state, flat), lag) for state, lag in self.allowed(m, q)]
        for want, lag in reversed(wants):
            if want == q.answer:
                return "right", "", lag
        if dead and q.way == "path" and q.engine == "duckdb":
            return "absent", "a glob overlooks folders that can't be listed", 0
        if q.view == "latest" and q.way != "held" and not flat and all(any(q.answer.get(r) == w.get(r) for w, _ in wants) for r in {*model.REGIONS, *q.answer}):
            return "mixed", "", 0
        return "wrong", f"{len(wants)} states allowed; against the last: " + questions.difference(wants[-1][0], q.answer)[:1500], 0

    def excuse(self, m, q, dead):
        if dead:
            return "absent"
        if q.errno == errno.ESTALE and self.may_be_cleaned(m, q):
            return "cleaned"
        if q.errno in (errno.ESTALE, errno.EOPNOTSUPP, errno.ENOENT) and m.undoing(q.since - self.stale, q.until):
            return "undone"
        return "failed"

    def allowed(self, m, q):
        """The states that may be the answer, newest last, each with how far behind it would be."""
        # A state may be shown until the daemon has looked anew.
        since = q.since - self.stale
        if q.view == "latest":
            return [(e.state, max(0.0, q.since - over)) for e, over in m.latest(since, q.listed)]
        if q.view == "asof":
            states = m.as_of(q.times[0], since)
        elif q.view == "diff":
            states = zip(m.as_of(q.times[0], since), m.as_of(q.times[1], since))
        else:
            states = m.between(*q.times, since)
        return [(s, 0) for s in states]

    def may_be_cleaned(self, m, q):
        """Whether the cleaner may have removed files that the view needs: so many commits came after it, or, for latest, after it was listed."""
        if q.view == "latest":
            newer = [i for i in m.instants if i.visible > q.since - self.stale]
        else:
            time_of = m.time if q.view == "incremental" else lambda i: i.requested
            newer = [i for i in m.instants if time_of(i) > min(q.times)]
        return sum(1 for i in newer if i.born <= q.until) >= self.retained      # one that was taken back later has counted
