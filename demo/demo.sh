#!/usr/bin/env bash
# The demo behind `make demo`: mounts the table of testdata/demo in a temporary folder and queries it. Leaves nothing behind,
# however it ends.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d "${TMPDIR:-/tmp}/hudifs-demo-XXXXXX")
table=$work/rides mnt=$work/mnt
clean_up() {
    if mountpoint -q "$mnt"; then
        ./hudifs umount "$mnt" || fusermount3 -u -z "$mnt"
    fi
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

bold='' plain=''
if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
show() { printf '\n$ %s\n' "$*" | sed "s|$work/||g"; "$@" | sed "s|$work/||g"; }

mkdir "$mnt"
.venv/bin/python -m zipfile -e testdata/demo/table.zip "$table"

say "A Hudi table as its writer left it: taxi rides of three cities. Which of these files hold today's rows only Hudi knows:"
show ls -A "$table/osaka"
show ./hudifs timeline "$table"

say "Mounted, it is folders of plain Parquet files:"
printf '\n$ hudifs mount rides mnt\n'
./hudifs mount --cache-dir "$work/cache" "$table" "$mnt"
show ls -A "$mnt"
show ls "$mnt/asof"
show ls "$mnt/incremental"
show ls -lR "$mnt/latest"

BOLD=$bold PLAIN=$plain .venv/bin/python demo/demo.py "$mnt" | sed "s|$work/||g"

printf '\n$ hudifs umount mnt\n'
clean_up
say "Unmounted; nothing is left behind."
