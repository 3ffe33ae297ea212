#!/bin/bash
# What record.ddr costs: processor time of a run with it against one with --no-record, in turn, the
# reference run and events.txt left out. A line a workload: the ratio of the least times, and of
# the medians with their quartiles; and the size of the record, with what a limit cut of it.
#
#     scripts/record-cost.sh build/release/drydock [ROUNDS [CASE MODEL [OPTION ...]]]
#
# Without a case: main.case in both models, a case of random operations, and a transformer of the
# size of BERT-large at 40 GiB. Times depend on what else the machine does, and so does their ratio
# where they are short: more rounds help.
set -eu

if [ $# -lt 1 ] || [ $# -eq 3 ]; then
    echo "usage: $0 DRYDOCK [ROUNDS [CASE MODEL [OPTION ...]]]" >&2
    exit 2
fi
drydock=$1
rounds=${2:-9}
cases=$(dirname "$0")/../cases
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
TIMEFORMAT='%U %S'

# Processor time of a run, in seconds. A run with findings (1) is one; anything else ends this.
seconds() {
    { time { "$drydock" run --reference never "$@" >"$folder/out" 2>&1 || [ $? -eq 1 ]; }; } \
        2>"$folder/time" || { cat "$folder/out" >&2; exit 1; }
    awk '{ print $1 + $2 }' "$folder/time"
}

measure() {
    name=$1
    shift
    : >"$folder/times"
    for _ in $(seq "$rounds"); do
        without=$(seconds "$@" --no-record -o "$folder/without")
        with=$(seconds "$@" --events none -o "$folder/with")
        echo "$without $with" >>"$folder/times"
    done
    bytes=$(wc -c <"$folder/with/record.ddr")
    cut=$("$drydock" report "$folder/with" 2>&1 | grep -c 'had no room for' || true)
    awk -v name="$name" -v bytes="$bytes" -v cut="$cut" '
        function at(list, count, share) { return list[1 + int((count - 1) * share + 0.5)] }
        function sort_list(list, count,   i, j, value) {
            for (i = 2; i <= count; i++) {
                value = list[i]
                for (j = i - 1; j >= 1 && list[j] > value; j--) list[j + 1] = list[j]
                list[j + 1] = value
            }
        }
        { without[NR] = $1; with[NR] = $2; ratio[NR] = $2 / $1 }
        END {
            sort_list(without, NR); sort_list(with, NR); sort_list(ratio, NR)
            printf "%-28s least %.2f   pairs %.2f (%.2f to %.2f)   record %.1f MB, %s\n", name,
                with[1] / without[1], at(ratio, NR, 0.5), at(ratio, NR, 0.25), at(ratio, NR, 0.75),
                bytes / 1e6, cut ? "CUT" : "whole"
        }' "$folder/times"
}

if [ $# -ge 4 ]; then
    case=$3 model=$4
    shift 4
    measure "$(basename "$case" .case) $model" "$case" -m "$model" "$@"
    exit
fi
"$drydock" gen random seed=7 ops=20000 maps=yes ptes=yes memory=yes -o "$folder/random.case" >/dev/null
"$drydock" gen transformer layers=24 hidden=1024 heads=16 seq=512 batch=64 vocab=30522 \
    local-memory=40G -o "$folder/bert.case" >/dev/null
measure "main gpummu" "$cases/main.case" -m gpummu
measure "main physical" "$cases/main.case" -m physical
measure "random gpummu" "$folder/random.case" -m gpummu
rounds=$((rounds / 4 + 1)) # these runs are long
measure "bert-large 40 GiB gpummu" "$folder/bert.case" -m gpummu
