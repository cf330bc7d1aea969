"""The queries of `make demo`, on a mount of the table of testdata/demo.

usage: demo.py MOUNTPOINT
"""
import os
import sys

import duckdb

mnt = sys.argv[1]


def say(text):
    print("\n" + os.environ.get("BOLD", "") + text + os.environ.get("PLAIN", ""))


def run(sql):
    print("\nD " + sql)
    print(str(duckdb.sql(sql)).rstrip())
    sys.stdout.flush()


instants = sorted(os.listdir(f"{mnt}/asof"))
ranges = sorted(os.listdir(f"{mnt}/incremental"))
if len(instants) < 4 or not ranges:
    sys.exit(f"demo: unexpected mount: asof has {instants}, incremental has {ranges}")

say("latest/ is the table as it is now, updates and deletes applied. Any Parquet reader will do; here it is DuckDB:")
run(f"""SELECT city, count(*) AS rides, count(fare) AS finished, sum(fare) AS income
  FROM '{mnt}/latest/**/*.parquet' GROUP BY city ORDER BY city""")

say("asof/<instant>/ is the table as it was: here before three rides were deleted, and before the fares were corrected.")
run(f"""SELECT count(*) AS rides, sum(fare) AS income
  FROM '{mnt}/asof/{instants[2]}/**/*.parquet'""")
run(f"""SELECT ride_id, city, driver, status, day FROM '{mnt}/asof/{instants[2]}/**/*.parquet'
  WHERE ride_id NOT IN (SELECT ride_id FROM '{mnt}/latest/**/*.parquet') ORDER BY ride_id""")

say("incremental/<begin>..<end>/ holds the rows written in between: here by the last commit, four corrections and two new rides.")
run(f"""SELECT ride_id, city, status, fare
  FROM '{mnt}/incremental/{ranges[-1]}/**/*.parquet' ORDER BY ride_id""")

say("read_optimized/ leaves the change logs out: quicker to get, and a little old. The corrections are not in it yet.")
run(f"""SELECT ride_id, old.fare AS read_optimized, new.fare AS latest
  FROM '{mnt}/read_optimized/**/*.parquet' old JOIN '{mnt}/latest/**/*.parquet' new USING (ride_id)
  WHERE old.fare <> new.fare ORDER BY ride_id""")
