#!/usr/bin/env bash
# Writes the tables of this folder anew: an environment with pyspark in .cache, then generate.py for each Hudi release.
#
# usage: generate.sh [NAME...]        NAMEs are functions of generate.py, e.g. demo or mor_logs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v java >/dev/null || { echo "generate: Java 17 is missing" >&2; exit 1; }
if [ ! -x .cache/spark/bin/python ]; then
    mkdir -p .cache
    "${PYTHON:-python3}" -m venv .cache/spark
    .cache/spark/bin/python -m pip install --quiet --disable-pip-version-check 'pyspark==3.5.9' 'pyarrow==26.0.1'
fi
for release in 0.15.0 1.0.2 1.1.1; do
    echo "== Hudi $release"
    .cache/spark/bin/python testdata/generate.py "$release" "$@" 2>.cache/spark.log || { tail -20 .cache/spark.log >&2; exit 1; }
done
