#!/bin/sh
# Plants small mistakes in the manager, the scheduler, the checker and the GPU, and tells which of them the
# tests find (`make mutants`):
#
#     scripts/mutants.sh [--count N] [--seed S] [--jobs J] [--out DIR] [--only WORD] [--kind MISTAKE]
#                        [--quick | --unit | --list]
#
#     --count N    so many mistakes, drawn by the seed (300); those of tests/mutants/planned.tsv come on top
#     --seed S     which ones (1)
#     --jobs J     so many are tried side by side (2)
#     --out DIR    the tree and the results (build/mutants). A run goes on where it was stopped. A mistake that was
#                  found is not tried again while its source is the same, nor one that lives while nothing has changed
#     --only WORD  only mistakes whose file or ID contains the word
#     --kind M     only mistakes of a kind of scripts/mutants.awk (flow, no-call, ...): to look at a class of them
#     --quick      ends behind the sequences of the stage `runs`: what lives then may still die in later ones
#     --unit       ends behind the stage `told`: for those who write tests
#     --list       shows them, and plays nothing
#
# A mistake is a line of scripts/mutants.awk: a source in which one line is different. One that does not compile, or
# that compiles to the same object, is no mistake: the next one takes its place. The others go through six stages,
# until one finds them:
#
#     unit     the tests of its module; of a mistake in the scheduler, those of the manager too
#     told     the manager or the scheduler calls or answers something else in these tests (tests/golden/units.txt)
#     seeds    a campaign of 500 seeds of the reference driver finds something
#     golden   the same campaign calls or judges something else than before, or the bench says something else of the
#              zoo or of calls in which a word is wrong (scripts/golden.sh)
#     runs     the sequences (scripts/sequences.sh), then the tests of the bench, which play whole runs
#     far      a campaign of 5,000 seeds
#
# results.tsv in the folder has a row for each: ID, stage, mistake, place, two sums of sources, and who found it. A
# mistake that lives is told with its reason from tests/mutants/survivors.tsv. A program that does not end within its
# time of the processor has found the mistake too. Exit status: 0 when each survivor has a reason; 1 when one has none;
# 2 for bad input.
set -eu

sources="vidmm vidsch check sgpu"
count=300 seed=1 jobs=2 out=build/mutants only='' kind='' list='' quick=''

usage() { sed -n '2,35s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
    case $1 in
    --list) list=1; shift; continue ;;
    --quick | --unit) quick=${1#--}; shift; continue ;;
    --help | -h) usage; exit 0 ;;
    --count | --seed | --jobs | --out | --only | --kind)
        [ $# -ge 2 ] || { echo "mutants: $1 wants a value" >&2; exit 2; } ;;
    *) echo "mutants: unknown argument '$1' (--help)" >&2; exit 2 ;;
    esac
    case $1 in
    --count | --seed | --jobs)
        case $2 in '' | *[!0-9]*) echo "mutants: $1 wants a number, not '$2'" >&2; exit 2 ;; esac ;;
    esac
    case $1 in
    --count) count=$2 ;; --seed) seed=$2 ;; --jobs) jobs=$2 ;; --out) out=$2 ;; --only) only=$2 ;; --kind) kind=$2 ;;
    esac
    shift 2
done
[ -f scripts/mutants.awk ] || { echo "mutants: run it in the root of the repository" >&2; exit 2; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
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
    cat "$out/planned.tsv" "$out/drawn.tsv" |
        awk -F "$tab" -v only="$only" -v kind="$kind" '(only == "" || index($1 " " $2, only)) && (kind == "" || $4 == kind)'
}

candidates >"$out/order.tsv"
if [ -n "$list" ]; then
    head -n "$((count + $(wc -l <"$out/planned.tsv")))" "$out/order.tsv" |
        awk -F "$tab" '{ for (i = 5; i <= 6; i++) sub(/^ +/, "", $i); printf "%s %s:%d %s\n    %s\n    %s\n", $1, $2, $3, $4, $5, $6 }'
    exit 0
fi

# The modules whose tests are played: those of the mistakes, and of the manager behind the scheduler's.
modules=$(cut -f2 "$out/order.tsv" | awk -F / '{ print $2 } $2 == "vidsch" { print "vidmm" }' | LC_ALL=C sort -u)

# One tree, built once without a mistake; no mistake is ever written into it. All stages must pass in it. It has the
# assertions of debug builds, in which runs walk the manager's invariants too, and the optimiser of release builds.
prepare() {
    mkdir -p "$tree"
    git ls-files -z | xargs -0 tar cf - 2>/dev/null | tar xf - -C "$tree"
    [ -f "$tree/build/build.ninja" ] ||
        cmake -S "$tree" -B "$tree/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS=-w -DDRYDOCK_DEBUG=1" \
            "$(command -v ld.lld >/dev/null && echo -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld)" >"$tree/cmake.log"
    programs="$(printf '%s_tests ' $modules)$([ "$quick" = unit ] || { printf '%s_tests ' $sources; echo drydock bench_tests; })"
    # shellcheck disable=SC2086
    ninja -C "$tree/build" $programs >"$tree/build.log" 2>&1 &&
        { [ "$quick" = unit ] || "$tree/scripts/golden.sh" "$tree/build/drydock" --update; } ||
        { tail -n 20 "$tree/build.log" >&2; echo "mutants: the tree does not build or is not clean" >&2; exit 2; }
    # A row of the zoo that took too long since other work had the processors would seem to find each mistake later.
    [ "$quick" = unit ] || "$tree/scripts/golden.sh" "$tree/build/drydock" --brief >"$tree/test.log" 2>&1 ||
        { grep -E '^[-+ ]' "$tree/test.log" >&2
          echo "mutants: without any mistake two plays of the seeds and the zoo differ; let no other work run beside the start" >&2
          exit 2; }
    [ "$quick" = unit ] || "$tree/scripts/sequences.sh" "$tree/build/drydock" "$tree"/cases/sequences/*.case >"$tree/test.log" 2>&1 ||
        { cat "$tree/test.log" >&2; echo "mutants: without any mistake the sequences are others" >&2; exit 2; }
    for program in $programs; do
        ninja -C "$tree/build" -t commands "$program" | tail -n 1 >"$tree/$program.link"
    done
    rm -f "$tree/told"
    for module in $modules; do
        for tests in $("$tree/build/${module}_tests" --list); do
            DRYDOCK_TOLD=$tree/told sh -c '"$@" || exit; times >&3' sh "$tree/build/${module}_tests" "$tests" \
                >"$tree/test.log" 2>&1 3>"$tree/times" ||
                { cat "$tree/test.log" >&2; echo "mutants: without any mistake the tests of $module fail" >&2; exit 2; }
            tail -n 1 "$tree/times" | awk -F '[ms ]+' -v tests="$tests" '{ print tests "\t" 60 * $1 + $2 + 60 * $3 + $4 }'
        done >"$tree/$module.costs"
    done
    LC_ALL=C sort "$tree/told" >"$tree/units.txt"
}

# Compiles the source in the job's folder to mistake.o there, as the tree does. A directive in the first line of the
# source gives it its name in the tree.
compile() { # job source
    object=CMakeFiles/drydock_$(echo "$2" | cut -d/ -f2).dir/$2.o
    command=$(ninja -C "$tree/build" -t commands "$object" | tail -n 1 | sed 's| -MD .*||')
    (cd "$tree/build" && eval "$command -iquote $tree/$(dirname "$2") -o $1/mistake.o -c $1/$(basename "$2")") \
        >"$1/compile.log" 2>&1
}

# Links a program of the tree with mistake.o, which takes the place of the same source in its library.
link() { # job program
    (cd "$tree/build" && eval "$(sed "s| -o $2 | $1/mistake.o -o $1/$2 |" "$tree/$2.link")") >"$1/link.log" 2>&1
}

# Runs a command of the tree with so many seconds of the processor, and of the clock ten times as many.
in_time() { # seconds command...
    seconds=$1
    shift
    (cd "$tree" && exec prlimit --cpu="$seconds" timeout -k 5 $((10 * seconds)) "$@")
}

# The files of tests of a module in the order in which they are played for a mistake in a source: the one of the
# source's name, those that have found mistakes in the source before, those in its folder, the others; of these, what
# takes the least time of the processor first.
order_of_tests() { # module source
    near=$(find "$tree/$(dirname "$2")" -maxdepth 1 -name '*_test.c' -exec basename {} .c \; | tr '\n' ' ')
    awk -F "$tab" -v source="$2:" -v nearest="$(basename "$2" .c)_test" -v near=" $near" '
        FILENAME ~ /results/ { found[$7] += index($4, source) == 1; next }
        { print ($1 == nearest ? 0 : found[$1] ? 1 : index(near, " " $1 " ") ? 2 : 3), -found[$1], $2, $1 }
    ' "$out/results.tsv" "$tree/$1.costs" | LC_ALL=C sort -n -k1,1 -k2,2 -k3,3 | cut -d' ' -f4
}

# Whether the tests of a module pass; `found` in the job's folder names the one that does not. What they were told is
# written to `told`.
passes() { # job module source
    for tests in $(order_of_tests "$2" "$3"); do
        in_time 30 env DRYDOCK_TOLD="$1/told" "$1/$2_tests" "$tests" >/dev/null 2>&1 ||
            { echo "$tests" >"$1/found"; return 1; }
    done
}

# The stage that finds the mistake in mistake.o, or `lives`. Only what a stage needs is linked.
find_it() { # job module source
    echo - >"$1/found"
    : >"$1/told"
    link "$1" "$2_tests" || { echo none; return; }
    passes "$1" "$2" "$3" || { echo unit; return; }
    [ "$2" != vidsch ] || { link "$1" vidmm_tests && passes "$1" vidmm "$3"; } || { echo unit; return; }
    LC_ALL=C sort "$1/told" | LC_ALL=C comm -23 - "$tree/units.txt" >"$1/found.told"
    [ ! -s "$1/found.told" ] || { awk '{ print $2 }' "$1/found.told" | head -n 1 >"$1/found"; echo told; return; }
    [ "$quick" != unit ] || { echo lives; return; }
    link "$1" drydock && link "$1" bench_tests || { echo none; return; }
    status=0
    in_time 300 scripts/golden.sh "$1/drydock" --brief >"$1/golden.log" 2>&1 || status=$?
    case $status in
    0) ;;
    1) grep -E '^[-+][^-+]|^is:' "$1/golden.log" | tail -n 1 >"$1/found"; echo golden; return ;;
    *) grep -m 1 -E '^ *(error|broken|hung|crashed|[A-Z]+-[0-9]{3}) ' "$1/golden.log" >"$1/found"; echo seeds; return ;;
    esac
    # shellcheck disable=SC2046
    in_time 120 scripts/sequences.sh "$1/drydock" $(cd "$tree" && ls cases/sequences/*.case) >/dev/null 2>&1 ||
        { echo runs; return; }
    [ -z "$quick" ] || { echo lives; return; }
    { in_time 600 "$1/bench_tests" >/dev/null 2>&1; } || { echo runs; return; }
    in_time 1200 "$1/drydock" check --seeds 5000 -j 1 --no-shrink --repeat 0 --max-findings 1 --run-limit 60 \
        >/dev/null 2>&1 || { echo far; return; }
    echo lives
}

# The next mistake: the first of the order that has no result and that no job has, or nothing when there are enough.
next() {
    flock "$out/lock" sh -c 'cd "$1" && awk -F "\t" -v count="$2" "$3" taken.tsv results.tsv order.tsv | tee -a taken.tsv' \
        sh "$out" "$count" '
            FILENAME !~ /order/ { verdict[$1] = $2; next }
            !($1 in verdict) { print; exit }
            verdict[$1] != "same" && verdict[$1] != "none" && $4 != "planned" && ++real == count { exit }'
}

work() { # job
    mkdir -p "$1"
    while :; do
        line=$(next)
        [ -n "$line" ] || break
        id=$(printf '%s' "$line" | cut -f1)
        file=$(printf '%s' "$line" | cut -f2)
        number=$(printf '%s' "$line" | cut -f3)
        mistake=$(printf '%s' "$line" | cut -f4)
        source=$1/$(basename "$file")
        { printf '#line 1 "%s"\n' "$tree/$file"; cat "$tree/$file"; } >"$source"
        right=$out/right/$(cksum <"$tree/$file" | tr ' ' -)-$(echo "$file" | tr / -).o
        [ -f "$right" ] || { compile "$1" "$file" && mv "$1/mistake.o" "$right"; }
        printf '%s' "$line" | cut -f6 |
            awk -v number="$((number + 1))" 'FNR == NR { new = $0; next } FNR == number { print new; next } { print }' \
                - "$source" >"$1/mutated"
        mv "$1/mutated" "$source"
        if ! compile "$1" "$file"; then
            verdict=none
        elif cmp -s "$right" "$1/mistake.o"; then
            verdict=same
        else
            verdict=$(find_it "$1" "$(echo "$file" | cut -d/ -f2)" "$file")
        fi
        flock "$out/lock" sh -c 'out=$1; shift; printf "%s\t%s\t%s\t%s\t%s\t%s\t%s\n" "$@" >>"$out/results.tsv"' \
            sh "$out" "$id" "$verdict" "$mistake" "$file:$number" "$(cksum <"$tree/$file")" "$state" \
            "$(head -n 1 "$1/found" 2>/dev/null | tr '\t' ' ')"
        [ "$verdict" = none ] || [ "$verdict" = same ] ||
            printf '%-6s %s %s:%s %s\n' "$verdict" "$id" "$file" "$number" "$mistake"
    done
}

# What an earlier run has found out still holds: for a mistake that was found, while its source is the same; for one
# that lives, while all is.
keep_results() {
    touch "$out/results.tsv"
    cut -f2 "$out/all.tsv" | LC_ALL=C sort -u | xargs cksum | awk '{ print $3 "\t" $1 " " $2 }' |
        awk -F "$tab" -v state="$state" '
            FNR == NR { sum[$1] = $2; next }
            { split($4, place, ":") }
            sum[place[1]] == $5 && ($2 != "lives" || $6 == state)' - "$out/results.tsv" >"$out/results.new"
    mv "$out/results.new" "$out/results.tsv"
}

tree=$out/tree
rm -rf "$out/right"
mkdir -p "$out/right"
prepare
state="${quick:-0} $(git ls-files -z src zoo tests | xargs -0 cat 2>/dev/null | cksum)"
keep_results
: >"$out/taken.tsv"
job=1
while [ "$job" -le "$jobs" ]; do
    work "$out/job-$job" &
    job=$((job + 1))
done
wait

# The word about all of them.
awk -F "$tab" -v count="$count" '
    FILENAME ~ /survivors/ { if ($0 !~ /^#/ && NF >= 2) reason[$1] = $2; next }
    FILENAME ~ /results/ { verdict[$1] = $2; result[$1] = $0; next }
    !($1 in verdict) || real == count { next }
    verdict[$1] == "same" || verdict[$1] == "none" { left[verdict[$1]]++; next }
    {
        all++
        real += $4 != "planned"
        by[verdict[$1]]++
        old[$1] = $5
        new[$1] = $6
        if (verdict[$1] == "far" || verdict[$1] == "lives") late[++n] = result[$1]
    }
    END {
        printf "%d mistakes (%d more compile to the same object, %d do not compile)\n", all, left["same"], left["none"]
        printf "%8d unit tests of the module\n%8d unit tests: other calls or answers\n", by["unit"], by["told"]
        printf "%8d 500 seeds: a finding\n%8d 500 seeds: other calls or counts\n", by["seeds"], by["golden"]
        printf "%8d tests of whole runs\n%8d 5,000 seeds\n%8d live\n", by["runs"], by["far"], by["lives"]
        if (all) printf "%.1f %% die by tests and 500 seeds\n", 100 * (by["unit"] + by["told"] + by["seeds"] + by["golden"] + by["runs"]) / all
        for (i = 1; i <= n; i++) {
            split(late[i], part, "\t")
            sub(/^ +/, "", old[part[1]]); sub(/^ +/, "", new[part[1]])
            printf "%s %s %s %s\n    %s\n    %s\n    %s\n", part[2], part[1], part[4], part[3], old[part[1]], new[part[1]],
                (part[1] in reason ? "reason: " reason[part[1]] : part[2] == "lives" ? "NO REASON in tests/mutants/survivors.tsv" : "")
            if (part[2] == "lives" && !(part[1] in reason)) bad = 1
        }
        exit bad
    }' tests/mutants/survivors.tsv "$out/results.tsv" "$out/order.tsv"
