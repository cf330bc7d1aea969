#!/usr/bin/env bash
# Runs a Python program with pyspark 3.5, in an environment that is made in .cache/spark unless it is there. Spark itself fetches the
# Hudi bundle that the program asks for, and keeps it in .cache/ivy.
#
# usage: spark.sh PROGRAM [ARGUMENT]...
set -euo pipefail
root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
command -v "$java" >/dev/null || { echo "spark: Java is missing: install Java 17" >&2; exit 1; }
release=$("$java" -version 2>&1 | sed -nE 's/.* version "([0-9]+).*/\1/p')
[ "$release" = 17 ] || { echo "spark: Java 17 is needed, $java is Java $release; set JAVA_HOME" >&2; exit 1; }
venv=$root/.cache/spark
if [ ! -x "$venv/bin/python" ]; then
    mkdir -p "$root/.cache"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check 'pyspark==3.5.9' 'pyarrow==26.0.1'
fi
export PYSPARK_SUBMIT_ARGS="--conf 'spark.jars.ivy=$root/.cache/ivy' pyspark-shell"
exec "$venv/bin/python" "$@"
