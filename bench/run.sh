#!/usr/bin/env bash
# Makes the environment of the benchmark in .cache/bench-venv, unless it is there, and runs bench.py in it.
#
# usage: run.sh [ARGUMENT OF bench.py]...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=.cache/bench-venv
want=$({ "${PYTHON:-python3}" --version; cat bench/requirements.txt; } | sha256sum | cut -d' ' -f1)
if [ "$(cat $venv/made-from 2>/dev/null)" != "$want" ]; then
    echo "bench: making $venv with the peers of bench/requirements.txt" >&2
    rm -rf $venv
    mkdir -p .cache
    "${PYTHON:-python3}" -m venv $venv
    $venv/bin/python -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
    echo "$want" >$venv/made-from
fi
exec $venv/bin/python bench/bench.py "$@"
