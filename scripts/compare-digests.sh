#!/bin/sh
# Plays the same seeds with two builds of drydock and compares the digest of every run:
#
#     scripts/compare-digests.sh build/debug/drydock build/release/drydock [SEEDS]
#
# Exit status 0: all agree, and nothing was found. What `drydock merge` says is shown either way.
set -eu

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    echo "usage: $0 DRYDOCK DRYDOCK [SEEDS]" >&2
    exit 2
fi
seeds=${3:-1000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM

# Findings do not end it: they have to be the same, too.
"$1" check --seeds "$seeds" --repeat 0 --out "$folder/first" >/dev/null || [ $? -eq 1 ]
"$2" check --seeds "$seeds" --repeat 0 --out "$folder/second" >/dev/null || [ $? -eq 1 ]
"$1" merge "$folder/first" "$folder/second"
