#!/bin/sh
# The bench builds for Windows (scripts/windows-libraries.sh, preset mingw-bench) and plays cases under Wine with the
# digests of the program beside, in all models. What it cannot do it refuses with a word: driver images, verbs that
# need processes, runs that show scattered pages in one piece.
#
# Usage: windows_bench_test.sh CMAKE SOURCE PATH-OF-DRYDOCK
#
# What it needs, once: apt-get install wine64 gcc-mingw-w64-x86-64 libz-mingw-w64-dev; what windows-libraries.sh says
set -eu
cmake=$1
source=$2
native=$3
for tool in x86_64-w64-mingw32-gcc ninja; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 0; }
done
wine=$(PATH=$PATH:/usr/lib/wine command -v wine64) || { echo "skipped: no wine64"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}
libraries=${DRYDOCK_WINDOWS_LIBRARIES:-$source/build/windows-libraries}
[ -e "$libraries/lib/libjansson.a" ] || "$source/scripts/windows-libraries.sh" "$work/libraries" >"$work/log" 2>&1 ||
    { echo "skipped: no libraries for Windows: $(tail -n 1 "$work/log")"; exit 0; }
[ -e "$libraries/lib/libjansson.a" ] || libraries=$work/libraries

"$cmake" -S "$source" --preset mingw-bench -B "$work/build" -DDRYDOCK_WINDOWS_LIBRARIES="$libraries" >"$work/log" 2>&1 &&
    "$cmake" --build "$work/build" -j 2 --target drydock >>"$work/log" 2>&1 ||
    { tail -n 40 "$work/log"; fail "it does not build"; }

export WINEPREFIX="$work/wine" WINEDEBUG=-all
on_windows() {
    "$wine" "$work/build/drydock.exe" "$@"
}
"$wine" wineboot.exe -i >"$work/log" 2>&1 || { echo "skipped: Wine does not start: $(tail -n 1 "$work/log")"; exit 0; }

digests() { # PROGRAM... : of a case in a model
    "$@" run "$source/cases/$name.case" --model $model --no-out --json | tr -d '\r' | grep '"digest"'
}
for name in main evict-and-restore; do
    for model in physical gpummu iommu; do
        here=$(digests "$native")
        there=$(digests on_windows)
        [ -n "$here" ] && [ "$here" = "$there" ] || fail "$name, $model: $here here, $there on Windows"
    done
done
refuses() { # WORD ARGUMENT...
    word=$1
    shift
    status=0
    on_windows "$@" >"$work/log" 2>&1 || status=$?
    [ $status -eq 2 ] && grep -q "$word" "$work/log" || { cat "$work/log"; fail "drydock $* ends with $status"; }
}
refuses 'images run under Linux alone' run "$source/cases/main.case" --driver "$work/any.sys" --no-out
refuses 'works under Linux alone' exec any
refuses 'scattered pages' run "$source/cases/drawn-by-address.case" --model gpummu --no-out

# A campaign, whose runs are those of Linux where they are not refused.
on_windows check --seeds 24 --no-shrink -o "$work/there" >"$work/log" 2>&1 || true
"$native" check --seeds 24 --no-shrink -o "$work/here" >>"$work/log" 2>&1 || true
known() { # FOLDER OUTCOME
    sed -n "s/.*\"digest\":\"\([0-9a-f]*\)\".*\"outcome\":\"$2\".*\"seed\":\([0-9]*\),.*/\2 \1/p" "$1/results.jsonl" | sort
}
known "$work/there" clean >"$work/clean"
known "$work/here" clean >"$work/all"
[ "$(wc -l <"$work/all")" -eq 24 ] && [ "$(wc -l <"$work/clean")" -ge 12 ] || { cat "$work/log"; fail "the campaign"; }
[ -z "$(comm -23 "$work/clean" "$work/all")" ] || fail "seeds: $(comm -3 "$work/clean" "$work/all")"
echo "on Windows as here: main.case in three models, $(wc -l <"$work/clean") of 24 seeds"
