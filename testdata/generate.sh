#!/usr/bin/env bash
# Writes the tables of this folder anew: generate.py for each Hudi release.
#
# usage: generate.sh [NAME...]        NAMEs are functions of generate.py, e.g. demo or mor_logs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p .cache
for release in 0.15.0 1.0.2 1.1.1; do
    echo "== Hudi $release"
    scripts/spark.sh testdata/generate.py "$release" "$@" 2>.cache/spark.log || { tail -20 .cache/spark.log >&2; exit 1; }
done
