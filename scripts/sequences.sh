#!/bin/sh
# Plays cases of call sequences and compares the order of their calls with the golden result that
# stands beside each of them, CASE.MODEL.calls (what is in it: src/bench/run/run_calls.h).
#
#     scripts/sequences.sh DRYDOCK CASE...             compare; exit status 1 on a difference
#     scripts/sequences.sh DRYDOCK --update CASE...    write what the runs did
#
# A case that names its model is played in that one, any other one in both. The adapter's start is
# part of the result of S-01 and S-02 only, taking everything down that of S-15 only.
set -u

drydock=$1
shift
update=no
[ "${1-}" = --update ] && update=yes && shift
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failures=0

for case in "$@"; do
    name=$(basename "$case" .case)
    parts=play
    case $name in
    S-01-* | S-02-*) parts=start ;;
    S-15-*) parts=end ;;
    esac
    models=$(sed -n 's/^option  *model  *\([a-z]*\).*/\1/p' "$case")
    for model in ${models:-physical gpummu}; do
        golden=${case%.case}.$model.calls
        if ! "$drydock" run "$case" --model "$model" --no-out --reference never \
            --calls "$work/all" >"$work/out" 2>&1; then
            cat "$work/out"
            echo "$case, $model: the run is not clean"
            failures=$((failures + 1))
            continue
        fi
        # Clocks are calibrated by the machine's time, whatever the case does.
        awk -v parts="$parts" '
            /^CalibrateGpuClock/ { next }
            /^# start$/ { part = "start" }
            /^# play$/  { part = "play" }
            /^# end$/   { part = "end" }
            part == parts || (parts == "end" && part == "play")' "$work/all" >"$work/calls"
        if [ "$update" = yes ]; then
            cmp -s "$work/calls" "$golden" || { cp "$work/calls" "$golden" && echo "$golden"; }
        elif ! diff -u "$golden" "$work/calls"; then
            echo "$case, $model: not the golden order of calls; if it is meant:"
            echo "    scripts/sequences.sh DRYDOCK --update $case"
            failures=$((failures + 1))
        fi
    done
done
exit "$((failures != 0))"
