#!/bin/sh
# Runs the fuzz targets, which read what comes from outside, with libFuzzer (`make fuzz`: a minute each; for a day:
# `make fuzz FUZZ="--seconds 86400"`):
#
#     scripts/fuzz.sh [--seconds S] [--jobs J] [--out DIR] [TARGET...]
#
#     --seconds S  of each target (60)
#     --jobs J     so many targets side by side (1)
#     --out DIR    the tree, and what was found (build/fuzz)
#     TARGET       as the folders of tests/corpus are named; all of them
#
# A target starts with its files in tests/corpus and with what earlier runs have kept in DIR/corpus/TARGET: inputs that
# reach new code. An input on which a target fails is kept in DIR/found: mend the reader, and put the file, as small as
# `DIR/fuzz_TARGET -minimize_crash=1 -runs=100000 FILE` makes it, into tests/corpus/TARGET, where every test run plays
# it. Exit status: 0 when nothing was found, 1 when something was, 2 for bad input.
set -eu

seconds=60 jobs=1 out=build/fuzz targets=''
usage() { sed -n '2,15s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h) usage; exit 0 ;;
    --seconds | --jobs | --out)
        [ $# -ge 2 ] || { echo "fuzz: $1 wants a value" >&2; exit 2; }
        case $1$2 in --out* | *[0-9]) ;; *) echo "fuzz: $1 wants a number, not '$2'" >&2; exit 2 ;; esac
        case $1 in --seconds) seconds=$2 ;; --jobs) jobs=$2 ;; --out) out=$2 ;; esac
        shift 2 ;;
    -*) echo "fuzz: unknown argument '$1' (--help)" >&2; exit 2 ;;
    *) targets="$targets $1"; shift ;;
    esac
done
[ -d tests/corpus ] || { echo "fuzz: run it in the root of the repository" >&2; exit 2; }
[ "$targets" ] || targets=$(find tests/corpus -mindepth 1 -maxdepth 1 -type d -exec basename {} \; | sort | tr '\n' ' ')
for target in $targets; do
    [ -d "tests/corpus/$target" ] || { echo "fuzz: there is no target '$target'" >&2; exit 2; }
done

[ -f "$out/build.ninja" ] || cmake --preset fuzz -B "$out" >/dev/null
# shellcheck disable=SC2046,SC2086
ninja --quiet -C "$out" $(printf 'fuzz_%s ' $targets)
mkdir -p "$out/found"

# One target; its last lines, and the inputs that it failed on.
play() { # target
    mkdir -p "$out/corpus/$1"
    status=0
    "$out/fuzz_$1" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="$out/found/$1-" "$out/corpus/$1" "tests/corpus/$1" >"$out/$1.log" 2>&1 || status=$?
    printf '%-16s %12s inputs, %6s kept%s\n' "$1" \
        "$(awk '/number_of_executed_units/ { print $2 }' "$out/$1.log")" "$(find "$out/corpus/$1" -type f | wc -l)" \
        "$([ $status -eq 0 ] || echo ", FAILED: $out/$1.log")"
    [ $status -eq 0 ]
}

failures=$out/found/.failures
: >"$failures"
for target in $targets; do
    { play "$target" || echo "$target" >>"$failures"; } &
    [ "$(jobs -p | wc -l)" -lt "$jobs" ] || wait
done
wait
[ ! -s "$failures" ]
