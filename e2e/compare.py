#!/usr/bin/env python3
"""Answers questions about folders of Parquet files, one JSON object a line on stdin, one a line on stdout.

A question names a folder and an engine: pyarrow, duckdb or polars, or one with "-default" behind it (pandas too), which reads the
folder as a person would who gives no option. With a golden file the rows, columns and, with pyarrow, the types are compared; with
"other" the rows of two sources are. Where "other" names no engine, its "dir" is a file of JSON lines. What an engine may answer from
"footers" alone is compared with the rows, of the first so many files.

    {"do": "golden", "engine": "duckdb", "dir": "MNT/latest", "golden": "00.parquet", "ignore": [], "text": []}
    {"do": "same", "engine": "pyarrow", "dir": "MNT/latest", "other": {"engine": "duckdb-default", "dir": "MNT/latest"}, "types": true}
    {"do": "count", "engine": "duckdb", "dir": "MNT/latest"}
    {"do": "footers", "engine": "datafusion", "dir": "MNT/latest", "files": 2}
    {"do": "query", "sql": "SELECT one row"}

An answer is {"rows": 5, "problems": [...]}, {"values": ["1", "2"]} or {"failed": "why it could not be read"}. Rows are a multiset, columns go
by name, and a number equals a number of the same value whatever the engine made of its type.
"""
import base64
import collections
import datetime as dt
import decimal
import json
import math
import os
import sys
import traceback

import pyarrow as pa
import pyarrow.parquet as pq

ENGINES = {}
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def engine(f):
    ENGINES[f.__name__.replace("_", "-")] = f
    return f


def parquet_files(folder):
    def fail(e):
        raise e
    return sorted(os.path.join(at, f) for at, _, files in os.walk(folder, onerror=fail) for f in files if f.endswith(".parquet"))


# ---- what reads: each returns an Arrow table

class Uneven(Exception):
    """The files of one folder do not have one schema."""


@engine
def pyarrow(folder, duckdb):
    tables = [pq.ParquetFile(f).read() for f in parquet_files(folder)]
    if not tables:
        raise FileNotFoundError(f"no Parquet file in {folder}")
    first = outline(tables[0].schema)
    for f, t in zip(parquet_files(folder), tables):
        if outline(t.schema) != first:
            raise Uneven(f"{f}: its schema differs from the first file's: {outline(t.schema)} and {first}")
    return pa.concat_tables(tables, promote_options="permissive")


@engine
def pyarrow_default(folder, duckdb):
    return pq.read_table(folder)


@engine
def pandas_default(folder, duckdb):
    import pandas
    # The values come through pandas; asking for Arrow's types keeps it from turning nulls and integers into floats.
    return pa.Table.from_pandas(pandas.read_parquet(folder, dtype_backend="pyarrow"), preserve_index=False)


def from_duckdb(relation):
    t = relation.arrow()
    return t.read_all() if hasattr(t, "read_all") else t


@engine
def duckdb(folder, duckdb):
    files = ", ".join("'" + f.replace("'", "''") + "'" for f in parquet_files(folder))
    return from_duckdb(duckdb.sql(f"select * from read_parquet([{files}], hive_partitioning = false)"))


@engine
def duckdb_default(folder, duckdb):
    return from_duckdb(duckdb.sql(f"select * from '{folder}/**/*.parquet'"))


@engine
def polars(folder, duckdb):
    import polars
    return polars.scan_parquet(parquet_files(folder), hive_partitioning=False).collect().to_arrow()


# ---- what compares

def kind(t):
    """A type without what an engine may choose: widths of strings and lists, names of list items, nullability."""
    if pa.types.is_dictionary(t):
        return kind(t.value_type)
    if pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t):
        return "string"
    if pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_binary_view(t):
        return "binary"
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return ("list", kind(t.value_type))
    if pa.types.is_map(t):
        return ("map", kind(t.key_type), kind(t.item_type))
    if pa.types.is_struct(t):
        return ("struct", *((f.name, kind(f.type)) for f in t))
    if pa.types.is_timestamp(t):
        # A golden file in INT96 reads as nanoseconds without a zone, and can't tell what the column was.
        return None if t.unit == "ns" else ("timestamp", t.unit, "UTC" if t.tz else "local")
    return str(t)


def outline(schema):
    return [(f.name, kind(f.type)) for f in schema]


def agree(a, b):
    if a is None or b is None:
        return True
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(agree, a, b))
    return a == b


def plain(v):
    """A value in a hashable form that is the same for equal values of different engines."""
    if v is None or isinstance(v, (str, bytes)):
        return v
    if isinstance(v, bool):
        return ("bool", v)
    if isinstance(v, int):
        return v
    if isinstance(v, float):
        return "NaN" if math.isnan(v) else v
    if isinstance(v, decimal.Decimal):
        return v if v else decimal.Decimal(0)
    if isinstance(v, dt.datetime):
        v = v if v.tzinfo else v.replace(tzinfo=dt.timezone.utc)
        return ("at", (v - EPOCH) // dt.timedelta(microseconds=1))
    if isinstance(v, dt.date):
        return ("day", v.toordinal())
    if isinstance(v, dt.time):
        return ("time", v.isoformat())
    if isinstance(v, dict):
        if v.keys() == {"key", "value"}:        # an entry of a map, as engines without a map type show it
            return ("entry", plain(v["key"]), plain(v["value"]))
        return ("struct", *sorted((k, plain(x)) for k, x in v.items()))
    if isinstance(v, tuple):
        return ("entry", *map(plain, v))
    if isinstance(v, list):
        items = [plain(x) for x in v]
        if any(isinstance(x, tuple) and x[0] == "entry" for x in items):      # a map: its order says nothing
            items.sort(key=repr)
        return ("list", *items)
    raise TypeError(f"value of type {type(v)}")


def tally(table, columns, text):
    """How often each row occurs."""
    parts = []
    for c in columns:
        values = table.column(c).to_pylist()
        parts.append([None if v is None else str(v) for v in values] if c in text else list(map(plain, values)))
    return collections.Counter(zip(*parts)) if parts else collections.Counter({(): table.num_rows})


def compare(want, got, ignore=(), text=(), types=False, names=("Hudi", "here")):
    problems = []
    missing = [c for c in want.column_names if c not in got.column_names]
    extra = [c for c in got.column_names if c not in want.column_names]
    if missing and (want.num_rows or got.num_rows):
        problems.append(f"missing columns {missing}")
    if extra and (want.num_rows or got.num_rows):
        problems.append(f"columns too many {extra}")
    columns = [c for c in want.column_names if c in got.column_names and c not in ignore]
    for c in columns if types else ():
        a, b = want.schema.field(c).type, got.schema.field(c).type
        if c not in text and not agree(kind(a), kind(b)):
            problems.append(f"type of {c}: {names[0]} {a}, {names[1]} {b}")
    a, b = tally(want, columns, text), tally(got, columns, text)
    if a != b:
        lost, gained = list((a - b).elements()), list((b - a).elements())
        problems.append(f"rows: {names[0]} {want.num_rows}, {names[1]} {got.num_rows}; {len(lost)} missing, {len(gained)} wrong or too many")
        problems.append(first_difference(columns, lost, gained))
    return problems


def first_difference(columns, lost, gained):
    if lost and gained:
        key = columns.index("_hoodie_record_key") if "_hoodie_record_key" in columns else 0
        x = lost[0]
        y = next((g for g in gained if g[key] == x[key]), gained[0])
        differ = [f"{c}: {p!r} is {q!r}" for c, p, q in zip(columns, x, y) if p != q]
        return f"first difference, at {x[key]!r}: " + "; ".join(differ)[:400]
    return ("first missing: " if lost else "first too many: ") + repr(dict(zip(columns, (lost or gained)[0])))[:400]


# ---- lines of JSON, as `hudifs cat` writes them

def from_json(v, t):
    """A JSON value as the value of an Arrow type that it stands for."""
    if v is None:
        return None
    if pa.types.is_decimal(t):
        return decimal.Decimal(str(v))
    if pa.types.is_float32(t):
        return pa.scalar(float(v), pa.float32()).as_py()
    if pa.types.is_floating(t):
        return float(v)
    if pa.types.is_timestamp(t):
        at = dt.datetime.fromisoformat(v)
        return at if at.tzinfo else at.replace(tzinfo=dt.timezone.utc)
    if pa.types.is_date(t):
        return dt.date.fromisoformat(v)
    if pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t):
        return base64.b64decode(v, validate=True)
    if pa.types.is_map(t):
        entries = v.items() if isinstance(v, dict) else [(e["key"], e["value"]) for e in v]
        return [(from_json(k, t.key_type), from_json(x, t.item_type)) for k, x in entries]
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return [from_json(x, t.value_type) for x in v]
    if pa.types.is_struct(t):
        return {f.name: from_json(v.get(f.name), f.type) for f in t}
    if pa.types.is_integer(t):
        return int(v)
    return v


def lines_as_table(path, schema):
    with open(path, encoding="utf-8") as f:
        rows = [json.loads(line, parse_float=decimal.Decimal) for line in f]
    for r in rows:
        if set(r) - set(schema.names):
            raise ValueError(f"columns too many in a line: {set(r) - set(schema.names)}")
    columns = [pa.array([from_json(r.get(f.name), f.type) for r in rows], f.type) for f in schema]
    return pa.Table.from_arrays(columns, schema=schema)


# ---- what engines answer from footers

def datafusion_sql(path):
    import datafusion
    session = datafusion.SessionContext()
    session.register_parquet("t", path)
    return lambda query: session.sql(query).to_arrow_table().column(0)[0].as_py()


def duckdb_sql(path):
    import duckdb
    session = duckdb.connect()
    session.read_parquet(path).create_view("t")
    return lambda query: session.sql(query).fetchall()[0][0]


SQL = {"datafusion": datafusion_sql, "duckdb": duckdb_sql}


def footers(q, session):
    """Each question alone: an engine that reads the rows for one of them reads them for all."""
    problems, rows = [], 0
    for path in parquet_files(q["dir"])[:q["files"]]:
        table = pq.ParquetFile(path).read()
        rows += table.num_rows
        ask = SQL[q["engine"]](path)
        session.register("t", table)
        for field in table.schema:
            if pa.types.is_nested(field.type):
                continue
            column = '"' + field.name.replace('"', '""') + '"'
            queries = [f"select count({column}) from t", f"select count(*) from t where {column} is null", f"select count(*) from t where {column} is not null"]
            if not pa.types.is_boolean(field.type) and not pa.types.is_binary(field.type):
                queries += [f"select min({column}) from t", f"select max({column}) from t"]
            for query in queries:
                want, got = session.sql(query).fetchall()[0][0], ask(query)
                if plain(want) != plain(got):
                    problems.append(f"{path}: {query}: {got!r}, its rows say {want!r}")
    return {"rows": rows, "problems": problems}


# ---- the questions

def read(name, folder, session):
    return ENGINES[name](folder, session)


def answer(q, session):
    do = q["do"]
    if do == "query":
        return {"values": [str(v) for v in session.sql(q["sql"]).fetchall()[0]]}
    if do == "footers":
        return footers(q, session)
    try:
        got = read(q["engine"], q["dir"], session)
    except Uneven as e:
        return {"problems": [str(e)]}
    except Exception as e:
        return {"failed": f"{type(e).__name__}: {e}"[:400]}
    if do == "count":
        return {"rows": got.num_rows}
    if do == "golden":
        want = pq.ParquetFile(q["golden"]).read()
        return {"rows": got.num_rows, "problems": compare(want, got, q.get("ignore") or (), q.get("text") or (), types=q["engine"].startswith("pyarrow"))}
    if do == "same":
        other = q["other"]
        names = (q["engine"] + " " + q["dir"], other.get("engine", "lines of") + " " + other["dir"])
        if "engine" in other:
            with_ = read(other["engine"], other["dir"], session)
        else:
            with_ = lines_as_table(other["dir"], got.schema)
        return {"rows": got.num_rows, "problems": compare(got, with_, types=q.get("types", False), names=names)}
    raise ValueError(f"unknown question {do!r}")


def main():
    import duckdb
    session = duckdb.connect()
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line), session)
        except Exception:
            reply = {"broken": traceback.format_exc(limit=4)}
        print(json.dumps(reply, default=str), flush=True)


if __name__ == "__main__":
    main()
