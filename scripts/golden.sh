#!/bin/sh
# What 500 seeds of the reference driver call and judge is what it was, and what is told of each defect of the zoo:
#
#     scripts/golden.sh DRYDOCK [--update | --brief | --rules]
#
# tests/golden/seeds.txt has the digest of all calls, the sums of the campaign, how often each rule was looked at, and the
# digests of all cases under cases/ in two setups each.
# tests/golden/units.txt has a line for each file of unit tests that tell what their subject calls and answers
# (tests/told.h): how much that was, and a hash, which is the same in each build.
# tests/golden/zoo.txt has the rows of `drydock zoo`, one seed each: the rules that were broken, and a hash of all that
# the bench looked at and said (`told`). Defects that write to memory of the bench are left out (MEM-*), or have no
# hash: a sanitizer sees their writes first; TABLE-* tell an address of this program. So are those whose reads count (USER-*): the compiler decides how often
# they read. tests/golden/distorted.txt has what is said of calls in which one word is wrong: bench_tests, which stands
# beside DRYDOCK, writes and compares it (distortion_test). tests/golden/told/ has what the checker says in its own tests
# (src/check/rig/test_told.h): check_tests writes and compares it. A change of behaviour changes the digest; a rule that is
# looked at less often, or told of fewer defects, has perhaps gone blind. Neither is wrong by itself: whoever changes
# behaviour on purpose reads the difference and updates the files. --brief, of make mutants, ends behind the first file
# that differs, and leaves out the unit tests; --rules compares no hashes, for builds with sanitizers, in which other
# memory is behind the end of an object.
# Exit status: 0 when it is the same, 1 when not, 2 when the campaign finds something or cannot be played.
set -eu

seeds=500
case $#${2:-} in
1 | 2--update | 2--brief | 2--rules) ;;
*) sed -n '2,21s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
tests=$(cd "$(dirname "$1")" && pwd)
drydock=$tests/$(basename "$1")
cd "$(dirname "$0")/.."
golden=tests/golden
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$drydock" check --seeds $seeds -j 2 --repeat 0 --no-shrink --max-findings 1 --run-limit 60 -o "$folder/campaign" >"$folder/text" 2>&1 ||
    { cat "$folder/text" >&2; exit 2; }
{
    sed -n '/^ *played\|^ *checked/p; s/.*\(digest of all [0-9a-f]*\)$/  \1/p' "$folder/text"
    "$drydock" rules --from "$folder/campaign" | awk '$1 ~ /^[A-Z]+-[0-9]+$/ && $4 == "checked" { print $1, $6 }'
    # Each case in two setups; in some of them a case cannot be played, which is said, too.
    find cases -name '*.case' | LC_ALL=C sort | xargs -n 24 "$drydock" check --seeds 2 -j 2 --repeat 0 --no-shrink 2>/dev/null |
        sed -n 's/^ *\(played .*\)/  cases \1/p; s/.*\(digest of all [0-9a-f]*\)$/  cases \1/p; s/^ *\(findings .*\)/  cases \1/p'
} >"$folder/seeds.txt"
[ "${2:-}" != --brief ] || diff -u "$golden/seeds.txt" "$folder/seeds.txt" || exit 1
if [ "${2:-}" != --brief ] && [ "${2:-}" != --rules ]; then
    for module in sgpu vidmm vidsch; do
        DRYDOCK_TOLD=$folder/told "$tests/${module}_tests" >"$folder/text" 2>&1 || { cat "$folder/text" >&2; exit 2; }
    done
    LC_ALL=C sort "$folder/told" >"$folder/units.txt"
fi
status=0
"$drydock" zoo --seeds 1 --no-shrink -j 2 --json >"$folder/zoo.json" 2>"$folder/text" || status=$?
[ $status -le 1 ] || { cat "$folder/text" >&2; exit 2; } # 1: a defect is not found by one seed
awk -F '"' '
    $2 == "id" { id = $4; rules = ""; is_list = 0 }
    $2 == "model" { model = $4 }
    $2 == "found" { found = $3 ~ /true/ ? "found" : "NOT-FOUND" }
    $2 == "rules" { is_list = 1; next }
    $2 == "seeds" { is_list = 0 }
    is_list && $2 { rules = rules " " $2 }
    $2 == "operations" { gsub(/[^0-9]/, "", $3); operations = $3 }
    $2 == "told" { told = id ~ /^D10-pointer-overruns|^D12-private-b|^QUEUE-kernels-handle|^TABLE-/ || $4 ~ /^0+$/ ? "-" : $4 }
    $2 == "causes" && id !~ /^(MEM|USER)-/ {
        gsub(/[^0-9]/, "", $3)
        printf "%-27s %-9s %-9s %8d %5d %-16s %s\n", id, model, found, operations, $3, told, rules
    }' "$folder/zoo.json" >"$folder/zoo.txt"

if [ "${2:-}" = --update ]; then
    mkdir -p "$golden"
    cp "$folder/seeds.txt" "$folder/units.txt" "$folder/zoo.txt" "$golden"
    rm -rf "$golden/told"
    mkdir "$golden/told"
    { DRYDOCK_UPDATE_GOLDEN=1 "$tests/bench_tests" distortion_test && DRYDOCK_UPDATE_GOLDEN=1 "$tests/check_tests"; } \
        >"$folder/text" 2>&1 || { cat "$folder/text" >&2; exit 2; }
    exit 0
fi
status=0
diff -u "$golden/seeds.txt" "$folder/seeds.txt" || status=1
[ ! -f "$folder/units.txt" ] || diff -u "$golden/units.txt" "$folder/units.txt" || status=1
if [ "${2:-}" = --rules ]; then
    awk '{ $6 = ""; print }' "$golden/zoo.txt" >"$folder/golden-rules.txt"
    awk '{ $6 = ""; print }' "$folder/zoo.txt" >"$folder/rules.txt"
    diff -u "$folder/golden-rules.txt" "$folder/rules.txt" || status=1
else
    diff -u "$golden/zoo.txt" "$folder/zoo.txt" || status=1
fi
[ $status -ne 0 ] && [ "${2:-}" = --brief ] || "$tests/bench_tests" distortion_test >"$folder/text" 2>&1 ||
    { grep -E '^ *(was|is|ERROR):' "$folder/text"; status=1; }
[ $status -eq 0 ] ||
    echo "golden: not what it was; if that is meant: scripts/golden.sh $1 --update" >&2
exit $status
