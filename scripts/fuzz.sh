#!/usr/bin/env bash
# Runs each fuzz target of the repository for a while. The list is found, not kept.
#
# usage: fuzz.sh TIME [NAME]        e.g. fuzz.sh 30s, fuzz.sh 5m FuzzBlock
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=${1:?usage: fuzz.sh TIME [NAME]}
only=${2:-}

n=0 failed=()
while IFS=: read -r file line; do
    name=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*).*/\1/' <<<"$line")
    [ -z "$only" ] || [ "$only" = "$name" ] || continue
    dir=./$(dirname "$file")
    echo "== $name in $dir, $time"
    n=$((n + 1))
    go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$dir" || failed+=("$dir $name")
done < <(find . -name '*_test.go' -not -path './.*' -print0 | sort -z | xargs -0 grep -HE '^func Fuzz[A-Za-z0-9_]*\(' | sed 's|^\./||')
[ $n -gt 0 ] || { echo "no fuzz target found${only:+ with the name $only}" >&2; exit 1; }
echo "$((n - ${#failed[@]})) passed, ${#failed[@]} failed"
[ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}" >&2; exit 1; }
