#!/usr/bin/env bash
# Runs a Python program with pyspark 3.5, in an environment that is made in .cache/spark unless it is there. Spark itself fetches the
# Hudi bundle that the program asks for.
#
# usage: spark.sh PROGRAM [ARGUMENT]...
set -euo pipefail
root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
command -v java >/dev/null || { echo "spark: Java 17 is missing" >&2; exit 1; }
venv=$root/.cache/spark
if [ ! -x "$venv/bin/python" ]; then
    mkdir -p "$root/.cache"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check 'pyspark==3.5.9' 'pyarrow==26.0.1'
fi
exec "$venv/bin/python" "$@"
