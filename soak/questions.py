"""What readers ask, the two engines that answer, and what the answer must be.

An answer is {region: sorted list of tuples}.
"""
import collections
import datetime as dt

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import model

META = ("_hoodie_commit_time", "_hoodie_record_key", "_hoodie_partition_path")


class Folder:
    """A folder of a view: read as a person would, by its name alone, or by a list of its files."""

    def __init__(self, path, files=None):
        self.path, self.files = path, files

    def for_duckdb(self):
        return repr(self.files or f"{self.path}/**/*.parquet")

    def arrow(self, columns, where=None):
        return ds.dataset(self.files or self.path, format="parquet").to_table(columns=list(columns), filter=where)


class OpenFiles:
    """Files that are open."""

    def __init__(self, files):
        self.files = files

    def arrow(self, columns, where=None):
        table = pa.concat_tables([pq.ParquetFile(f).read(columns=list(columns)) for f in self.files])
        return table if where is None else table.filter(where)


class Whole:
    """Every row with every column, and the meta columns that the writer's record can tell."""
    columns = (*model.COLUMNS, *META)

    def duckdb(self, session, folder):
        return rows_of(arrow(session.sql(f"select {', '.join(self.columns)} from read_parquet({folder.for_duckdb()})")))

    def pyarrow(self, folder):
        return rows_of(folder.arrow(self.columns))

    def expect(self, state, flat):
        for n, (version, instant) in state.items():
            r = model.row(n, version)
            yield r.region, (*r, instant, r.id, "" if flat else r.region)


class Some:
    """Three columns of the rows of newer versions: a filter that engines push down to statistics."""
    columns = ("region", "id", "price", "note")

    def __init__(self, above):
        self.above = above

    def duckdb(self, session, folder):
        return rows_of(arrow(session.sql(f"select {', '.join(self.columns)} from read_parquet({folder.for_duckdb()}) where seq > {self.above}")))

    def pyarrow(self, folder):
        return rows_of(folder.arrow((*self.columns, "seq"), pc.field("seq") > self.above).select(self.columns))

    def expect(self, state, flat):
        for n, (version, _) in state.items():
            if version > self.above:
                r = model.row(n, version)
                yield r.region, (r.region, r.id, r.price, r.note)


class Difference:
    """What diff/ shows: each row that two states do not share, before and after. The state is a pair."""
    columns = ("_hudi_op", "before", "after")

    def duckdb(self, session, folder):
        return self.rows_of(arrow(session.sql(f"select {', '.join(self.columns)} from read_parquet({folder.for_duckdb()})")))

    def pyarrow(self, folder):
        return self.rows_of(folder.arrow(self.columns))

    def rows_of(self, table):
        return by_region(self.change(*(c[i].as_py() for c in table.columns)) for i in range(table.num_rows))

    def change(self, op, before, after):
        images = [b and model.Row(*(plain(b[c]) for c in model.COLUMNS)) for b in (before, after)]
        return (images[0] or images[1]).region, (op, *images)

    def expect(self, states, flat):
        a, b = states
        for n in a.keys() | b.keys():
            before, after = (n in s and model.row(n, s[n][0]) or None for s in states)
            if before != after:
                yield model.region(n), ("d" if after is None else "i" if before is None else "u", before, after)


class Totals:
    """Aggregates of each region."""
    columns = ("region", "rows", "quantity", "price", "seq")

    def duckdb(self, session, folder):
        return rows_of(arrow(session.sql(
            f"select region, count(*) as rows, sum(quantity)::bigint as quantity, sum(price) as price, max(seq) as seq from read_parquet({folder.for_duckdb()}) group by region")))

    def pyarrow(self, folder):
        t = folder.arrow(("region", "quantity", "price", "seq"))
        t = t.group_by("region").aggregate([([], "count_all"), ("quantity", "sum"), ("price", "sum"), ("seq", "max")])
        return rows_of(t.select(["region", "count_all", "quantity_sum", "price_sum", "seq_max"]))

    def expect(self, state, flat):
        by = collections.defaultdict(list)
        for n, (version, _) in state.items():
            r = model.row(n, version)
            by[r.region].append(r)
        for region, rows in by.items():
            yield region, (region, len(rows), sum(r.quantity for r in rows), sum(r.price for r in rows), max(r.seq for r in rows))


def arrow(relation):
    t = relation.arrow()
    return t.read_all() if hasattr(t, "read_all") else t


def rows_of(table):
    at = next(i for i, c in enumerate(table.column_names) if c == "region")
    columns = [[plain(v) for v in c.to_pylist()] for c in table.columns]
    return by_region((row[at], row) for row in zip(*columns))


def plain(v):
    if isinstance(v, dt.datetime):
        return v.astimezone(dt.timezone.utc) if v.tzinfo else v.replace(tzinfo=dt.timezone.utc)
    return tuple(v) if isinstance(v, list) else v


def by_region(pairs):
    out = collections.defaultdict(list)
    for region, row in pairs:
        out[region].append(row)
    for rows in out.values():
        rows.sort(key=repr)
    return dict(out)


def expected(question, state, flat):
    return by_region(question.expect(state, flat))


def difference(want, got):
    """What distinguishes two answers, in a few words."""
    said = []
    for region in sorted(want.keys() | got.keys()):
        a, b = collections.Counter(want.get(region, ())), collections.Counter(got.get(region, ()))
        lost, gained = list((a - b).elements()), list((b - a).elements())
        if lost or gained:
            said.append(f"{region}: {len(lost)} missing, first {lost[:1]}; {len(gained)} wrong or too many, first {gained[:1]}")
    return "; ".join(said)


def choose(rng, highest):
    return rng.choice((Whole(), Whole(), Totals(), Some(rng.randint(0, max(highest, 1)))))


def session():
    con = duckdb.connect()
    con.execute("set threads = 2; set memory_limit = '500MB'; set timezone = 'UTC'")
    return con


pa.set_cpu_count(2)
