#!/bin/sh
# What 500 seeds of the reference driver call and judge is what it was, and what is told of each defect of the zoo:
#
#     scripts/golden.sh DRYDOCK [--update | --brief]
#
# tests/golden/seeds.txt has the digest of all calls, the sums of the campaign, and how often each rule was looked at.
# tests/golden/zoo.txt has the rows of `drydock zoo`, one seed each: the rules that were broken (without the defects
# MEM-*, whose writes a sanitizer sees before the bench does). A change of behaviour changes the digest; a rule that is
# looked at less often, or told of fewer defects, has perhaps gone blind. Neither is wrong by itself: whoever changes
# behaviour on purpose reads the difference and updates the files. --brief ends behind the seeds when they differ.
# Exit status: 0 when it is the same, 1 when not, 2 when the campaign finds something or cannot be played.
set -eu

seeds=500
golden=$(dirname "$0")/../tests/golden
case $#${2:-} in
1 | 2--update | 2--brief) ;;
*) sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$1" check --seeds $seeds -j 2 --repeat 0 --no-shrink --max-findings 1 --run-limit 20 -o "$folder/campaign" >"$folder/text" 2>&1 ||
    { cat "$folder/text" >&2; exit 2; }
{
    sed -n '/^ *played\|^ *checked/p; s/.*\(digest of all [0-9a-f]*\)$/  \1/p' "$folder/text"
    "$1" rules --from "$folder/campaign" | awk '$1 ~ /^[A-Z]+-[0-9]+$/ && $4 == "checked" { print $1, $6 }'
} >"$folder/seeds.txt"
[ "${2:-}" != --brief ] || diff -u "$golden/seeds.txt" "$folder/seeds.txt" || exit 1
"$1" zoo --seeds 1 --no-shrink -j 2 2>"$folder/text" | awk '$1 !~ /^MEM-/ && $2 ~ /^(physical|gpummu|iommu)$/' >"$folder/zoo.txt"
[ -s "$folder/zoo.txt" ] || { cat "$folder/text" >&2; exit 2; }

if [ "${2:-}" = --update ]; then
    mkdir -p "$golden"
    cp "$folder/seeds.txt" "$folder/zoo.txt" "$golden"
    exit 0
fi
status=0
for file in seeds.txt zoo.txt; do
    diff -u "$golden/$file" "$folder/$file" || status=1
done
[ $status -eq 0 ] ||
    echo "golden: not what it was; if that is meant: scripts/golden.sh $1 --update" >&2
exit $status
