#!/bin/sh
# Plants small mistakes in the manager, the scheduler, the checker and the GPU, and tells which of them the
# tests find (`make mutants`):
#
#     scripts/mutants.sh [--count N] [--seed S] [--jobs J] [--out DIR] [--only WORD] [--list]
#
#     --count N    so many mistakes, drawn by the seed (300); those of tests/mutants/planned.tsv come on top
#     --seed S     which ones (1)
#     --jobs J     so many trees are built and tried side by side (2)
#     --out DIR    trees and results (build/mutants); a run goes on where it was stopped
#     --only WORD  only mistakes whose file or ID contains the word
#     --quick      ends after the stage `golden`: what lives then may still die in the later stages
#     --list       shows them, and plays nothing
#
# A mistake is a line of scripts/mutants.awk: a source in which one line is different. One that does not compile, or
# that compiles to the same object, is no mistake: the next one takes its place. The others go through five stages,
# until one finds them:
#
#     unit     the tests of its module; of a mistake in the scheduler, those of the manager too
#     seeds    a campaign of 500 seeds of the reference driver finds something
#     golden   the same campaign calls or judges something else than before (scripts/golden.sh)
#     runs     the tests of the bench, which play whole runs
#     far      a campaign of 5,000 seeds
#
# A mistake that lives is told with its reason from tests/mutants/survivors.tsv. A program that does not end in its
# time has found it too. Exit status: 0 when each survivor has a reason; 1 when one has none; 2 for bad input.
set -eu

sources="vidmm vidsch check sgpu"
count=300 seed=1 jobs=2 out=build/mutants only='' list='' quick=''

usage() { sed -n '2,29s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
    case $1 in
    --list) list=1; shift; continue ;;
    --quick) quick=1; shift; continue ;;
    --help | -h) usage; exit 0 ;;
    --count | --seed | --jobs | --out | --only)
        [ $# -ge 2 ] || { echo "mutants: $1 wants a value" >&2; exit 2; } ;;
    *) echo "mutants: unknown argument '$1' (--help)" >&2; exit 2 ;;
    esac
    case $1 in
    --count | --seed | --jobs)
        case $2 in '' | *[!0-9]*) echo "mutants: $1 wants a number, not '$2'" >&2; exit 2 ;; esac ;;
    esac
    case $1 in
    --count) count=$2 ;; --seed) seed=$2 ;; --jobs) jobs=$2 ;; --out) out=$2 ;; --only) only=$2 ;;
    esac
    shift 2
done
[ -f scripts/mutants.awk ] || { echo "mutants: run it in the root of the repository" >&2; exit 2; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
root=$(pwd)
tab=$(printf '\t')

# The order of the mistakes: the planned ones, then all others as the seed shuffles them.
candidates() {
    files=$(for module in $sources; do
        find "src/$module" -name '*.c' ! -name '*_test.c' ! -name 'test_*' ! -path '*/rig/*'
    done | LC_ALL=C sort)
    # shellcheck disable=SC2086
    LC_ALL=C awk -f scripts/mutants.awk $files >"$out/all.tsv"
    awk -F "$tab" '
        FNR == NR { if ($0 !~ /^#/ && NF >= 4) { at[$2 SUBSEP $3] = $1; becomes[$1] = $4; wanted[$1] = 1 } next }
        { line = $0; text = line; sub(/^ +/, "", text) }
        (FILENAME SUBSEP text) in at {
            name = at[FILENAME SUBSEP text]
            if (!wanted[name]) next
            wanted[name] = 0
            printf "%s\t%s\t%d\tplanned\t%s\t%s\n", name, FILENAME, FNR, line, becomes[name]
        }
        END {
            for (name in wanted) if (wanted[name]) { print "mutants: planned mistake " name " fits no line" >"/dev/stderr"; bad = 1 }
            exit bad
        }' FS="$tab" tests/mutants/planned.tsv $files >"$out/planned.tsv" || exit 2
    awk -F "$tab" -v seed="$seed" '
        {
            h = 1 + seed % 65536
            for (i = 1; i <= 7; i++) h = (h * 16807 + index("0123456789abcdef", substr($1, i, 1))) % 2147483647
            for (i = 1; i <= 3; i++) h = h * 16807 % 2147483647
            printf "%010d\t%s\n", h, $0
        }' "$out/all.tsv" | LC_ALL=C sort | cut -f2- >"$out/drawn.tsv"
    cat "$out/planned.tsv" "$out/drawn.tsv" | awk -F "$tab" -v only="$only" 'only == "" || index($1 " " $2, only)'
}

candidates >"$out/order.tsv"
if [ -n "$list" ]; then
    head -n "$((count + $(wc -l <"$out/planned.tsv")))" "$out/order.tsv" |
        awk -F "$tab" '{ for (i = 5; i <= 6; i++) sub(/^ +/, "", $i); printf "%s %s:%d %s\n    %s\n    %s\n", $1, $2, $3, $4, $5, $6 }'
    exit 0
fi

# A tree of its own for each job, built once without a mistake. All stages must pass in it.
prepare() {
    tree=$out/tree-$1
    [ ! -e "$tree/original" ] || rm -rf "$tree" # stopped in the middle of a mistake
    mkdir -p "$tree"
    git ls-files -z | (cd "$root" && xargs -0 tar cf - 2>/dev/null) | tar xf - -C "$tree"
    [ -f "$tree/build/build.ninja" ] ||
        cmake -S "$tree" -B "$tree/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS=-w >"$tree/cmake.log"
    # shellcheck disable=SC2086
    ninja -C "$tree/build" drydock >"$tree/build.log" 2>&1 && "$tree/scripts/golden.sh" "$tree/build/drydock" --update ||
        { tail -n 20 "$tree/build.log" >&2; echo "mutants: the tree does not build or is not clean" >&2; exit 2; }
    for module in $sources; do
        found=$(find_it "$tree" "$module")
        [ "$found" = lives ] || { tail -n 20 "$tree/build.log" >&2
            echo "mutants: without any mistake the stage '$found' fails" >&2; exit 2; }
        [ "$quick" ] || break
    done
}

# Builds a program of the tree and runs its tests.
passes() { # tree program seconds
    ninja -C "$1/build" "$2" >"$1/build.log" 2>&1 &&
        (cd "$1" && timeout -k 5 "$3" "build/$2" >/dev/null 2>&1)
}

# The stage that finds the mistake which is in the tree, or `lives`. Only what a stage needs is built.
find_it() { # tree module
    passes "$1" "$2_tests" 120 || { echo unit; return; }
    [ "$2" != vidsch ] || passes "$1" vidmm_tests 120 || { echo unit; return; }
    ninja -C "$1/build" drydock >"$1/build.log" 2>&1 || { echo none; return; }
    status=0
    (cd "$1" && timeout -k 5 300 scripts/golden.sh build/drydock >/dev/null 2>&1) || status=$?
    case $status in 0) ;; 1) echo golden; return ;; *) echo seeds; return ;; esac
    [ -z "$quick" ] || { echo lives; return; }
    passes "$1" bench_tests 900 || { echo runs; return; }
    timeout -k 5 1200 "$1/build/drydock" check --seeds 5000 -j 1 --no-shrink --repeat 0 --max-findings 1 \
        --run-limit 20 >/dev/null 2>&1 || { echo far; return; }
    echo lives
}

work() { # job
    tree=$out/tree-$1
    while :; do
        line=$(flock "$out/lock" sh -c '
            cd "$1"
            real=$(awk -F "\t" "\$2 != \"same\" && \$2 != \"none\" && \$3 != \"planned\"" results.tsv | wc -l)
            planned=$(wc -l <planned.tsv)
            next=$(($(cat next) + 1))
            [ "$next" -gt "$planned" ] && [ "$real" -ge "$2" ] && exit 0
            echo "$next" >next
            sed -n "${next}p" order.tsv' sh "$out" "$count")
        [ -n "$line" ] || break
        id=$(printf '%s' "$line" | cut -f1)
        grep -q "^$id$tab" "$out/results.tsv" && continue
        file=$(printf '%s' "$line" | cut -f2)
        number=$(printf '%s' "$line" | cut -f3)
        module=${file#src/}
        module=${module%%/*}
        object=CMakeFiles/drydock_$module.dir/$file.o
        before=$(cksum <"$tree/build/$object")
        cp "$tree/$file" "$tree/original"
        printf '%s' "$line" | cut -f6 | awk -v number="$number" 'FNR == NR { new = $0; next } FNR == number { print new; next } { print }' \
            - "$tree/original" >"$tree/$file"
        if ! ninja -C "$tree/build" "$object" >"$tree/build.log" 2>&1; then
            verdict=none
        elif [ "$before" = "$(cksum <"$tree/build/$object")" ]; then
            verdict=same
        else
            verdict=$(find_it "$tree" "$module")
        fi
        mv "$tree/original" "$tree/$file"
        touch "$tree/$file"
        flock "$out/lock" sh -c 'printf "%s\t%s\t%s\t%s:%s\n" "$2" "$3" "$4" "$5" "$6" >>"$1/results.tsv"' sh \
            "$out" "$id" "$verdict" "$(printf '%s' "$line" | cut -f4)" "$file" "$number"
        [ "$verdict" = none ] || [ "$verdict" = same ] ||
            printf '%-6s %s %s:%s %s\n' "$verdict" "$id" "$file" "$number" "$(printf '%s' "$line" | cut -f4)"
    done
}

# The results of another state of the sources do not count.
state=$(git ls-files -z src zoo tests/mutants/planned.tsv | xargs -0 cat 2>/dev/null | cksum)
if [ "$(cat "$out/state" 2>/dev/null)" != "$state $seed $quick" ]; then
    : >"$out/results.tsv"
    printf '%s' "$state $seed $quick" >"$out/state"
fi
echo 0 >"$out/next"
job=1
while [ "$job" -le "$jobs" ]; do
    prepare "$job"
    job=$((job + 1))
done
job=1
while [ "$job" -le "$jobs" ]; do
    work "$job" &
    job=$((job + 1))
done
wait

# The word about all of them.
awk -F "$tab" '
    FILENAME ~ /survivors/ { if ($0 !~ /^#/ && NF >= 2) reason[$1] = $2; next }
    FILENAME ~ /order/ { old[$1] = $5; new[$1] = $6; next }
    $2 == "same" || $2 == "none" { left[$2]++; next }
    { all++; by[$2]++; if ($2 == "far" || $2 == "lives") late[++n] = $0 }
    END {
        printf "%d mistakes (%d more compile to the same object, %d do not compile)\n", all, left["same"], left["none"]
        printf "%8d unit tests of the module\n%8d 500 seeds: a finding\n%8d 500 seeds: other calls or counts\n", by["unit"], by["seeds"], by["golden"]
        printf "%8d tests of whole runs\n%8d 5,000 seeds\n%8d live\n", by["runs"], by["far"], by["lives"]
        if (all) printf "%.1f %% die by tests and 500 seeds\n", 100 * (by["unit"] + by["seeds"] + by["golden"] + by["runs"]) / all
        for (i = 1; i <= n; i++) {
            split(late[i], part, "\t")
            sub(/^ +/, "", old[part[1]]); sub(/^ +/, "", new[part[1]])
            printf "%s %s %s %s\n    %s\n    %s\n    %s\n", part[2], part[1], part[4], part[3], old[part[1]], new[part[1]],
                (part[1] in reason ? "reason: " reason[part[1]] : part[2] == "lives" ? "NO REASON in tests/mutants/survivors.tsv" : "")
            if (part[2] == "lives" && !(part[1] in reason)) bad = 1
        }
        exit bad
    }' "$root/tests/mutants/survivors.tsv" "$out/order.tsv" "$out/results.tsv"
