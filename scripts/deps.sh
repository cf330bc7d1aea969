#!/usr/bin/env bash
# Brings what the tests and the demo need beyond Go and Python: fusermount3, a C compiler (for the race detector) and the
# engines from e2e/requirements.txt in .venv. Does nothing where all is there.
#
# usage: deps.sh [demo|test]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
what=${1:-test}

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

command -v go >/dev/null || die "Go is missing: install Go $(awk '$1 == "go" { print $2 }' go.mod) or later"
python=${PYTHON:-python3}
command -v "$python" >/dev/null || die "Python is missing: install Python 3.11 or later"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "$("$python" --version) is too old: 3.11 or later is needed"

packages=()
command -v fusermount3 >/dev/null || packages+=(fuse3)
if [ "$what" = test ]; then
    command -v "${CC:-cc}" >/dev/null || command -v gcc >/dev/null || packages+=(gcc libc6-dev)
fi
if [ ! -x .venv/bin/python ] && ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    packages+=(python3-venv)
fi
if [ ${#packages[@]} -gt 0 ]; then
    command -v apt-get >/dev/null || die "missing, and there is no apt-get to install them with: ${packages[*]}"
    [ "$(id -u)" = 0 ] || die "missing: ${packages[*]}; only root can install them, so run: sudo apt-get install ${packages[*]}"
    say "installing ${packages[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi
[ -e /dev/fuse ] || die "/dev/fuse is missing: the kernel, or the container, does not offer FUSE"

# Whoever is not root mounts through fusermount3, which opens the device as that user: its mode is 0666 where udev runs.
if [ "$what" = test ] && [ "$(id -u)" = 0 ] && [ "$(stat -L -c %a /dev/fuse)" = 600 ]; then
    say "letting every user open /dev/fuse, as the udev rule of fuse3 does"
    chmod 0666 /dev/fuse
fi

# The environment is made anew when the list or the Python version changes.
stamp=.venv/made-from
want=$({ "$python" --version; cat e2e/requirements.txt; } | sha256sum | cut -d' ' -f1)
if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
    say "making .venv with the engines of e2e/requirements.txt"
    rm -rf .venv
    "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r e2e/requirements.txt
    echo "$want" >"$stamp"
fi
