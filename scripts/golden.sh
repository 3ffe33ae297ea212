#!/bin/sh
# What 500 seeds of the reference driver call and judge is what it was:
#
#     scripts/golden.sh DRYDOCK [--update]
#
# tests/golden/seeds.txt has the digest of all calls, the sums of the campaign, and how often each rule was looked at.
# A change of behaviour changes the digest; a rule that is looked at less often has perhaps gone blind. Neither is
# wrong by itself: whoever changes behaviour on purpose reads the difference and updates the file.
# Exit status: 0 when it is the same, 1 when not, 2 when the campaign finds something or cannot be played.
set -eu

seeds=500
golden=$(dirname "$0")/../tests/golden/seeds.txt
case $#${2:-} in
1 | 2--update) ;;
*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$1" check --seeds $seeds -j 2 --repeat 0 --no-shrink --max-findings 1 --run-limit 20 -o "$folder/campaign" >"$folder/text" 2>&1 ||
    { cat "$folder/text" >&2; exit 2; }
{
    sed -n '/^ *played\|^ *checked/p; s/.*\(digest of all [0-9a-f]*\)$/  \1/p' "$folder/text"
    "$1" rules --from "$folder/campaign" | awk '$1 ~ /^[A-Z]+-[0-9]+$/ && $4 == "checked" { print $1, $6 }'
} >"$folder/now"
if [ "${2:-}" = --update ]; then
    mkdir -p "$(dirname "$golden")"
    cp "$folder/now" "$golden"
    exit 0
fi
diff -u "$golden" "$folder/now" && exit 0
echo "golden: $seeds seeds call or judge something else than they did; if that is meant: scripts/golden.sh $1 --update" >&2
exit 1
