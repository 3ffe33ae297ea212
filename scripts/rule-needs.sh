#!/bin/sh
# The table in docs/your-driver.md of the rules that only a model of the GPU tells, which is made of the rows of
# src/check/rules/rule_needs.inc and the levels in data/ddi/contract.md:
#
#     scripts/rule-needs.sh            fails when the table in the manual is another
#     scripts/rule-needs.sh --update   writes it
set -eu

root=$(dirname "$0")/..
manual=$root/docs/your-driver.md
made=$(mktemp) || exit 1
table=$(mktemp) || exit 1
trap 'rm -f "$made" "$table"' EXIT
awk '
    # In the contract: the levels of a rule, by its id.
    FNR == NR {
        if (split($0, column, " *\\| *") > 7 && column[2] ~ /^[A-Z]+-[0-9]+$/)
            is_new[column[2]] = column[7] ~ /^[23]/
        next
    }
    /^NEED\(.*, GPU, "/ {
        split($0, part, "\"")
        if (!(part[2] in is_new)) {
            print "rule-needs.sh: the contract has no rule " part[2] > "/dev/stderr"
            exit 1
        }
        if (!(part[4] in known)) {
            known[part[4]] = 1
            reason[++reasons] = part[4]
        }
        if (is_new[part[2]]) {
            new[part[4]] = new[part[4]] (new[part[4]] == "" ? "" : ", ") part[2]
            news++
        } else {
            old[part[4]] = old[part[4]] (old[part[4]] == "" ? "" : ", ") part[2]
            olds++
        }
    }
    END {
        print "| why only a model of the GPU tells | of WDDM 2.0 and later: " news + 0 " | of all levels: " olds + 0 " |"
        print "| --- | --- | --- |"
        for (i = 1; i <= reasons; i++)
            print "| " reason[i] " | " new[reason[i]] " | " old[reason[i]] " |"
    }
' "$root/data/ddi/contract.md" "$root/src/check/rules/rule_needs.inc" >"$table"
awk -v table="$table" '
    /^<!-- rule needs: end/ { inside = 0; print "" }
    !inside
    /^<!-- rule needs: begin/ { inside = 1; print ""; while ((getline line < table) > 0) print line }
' "$manual" >"$made"
if [ "${1:-}" = --update ]; then
    cat "$made" >"$manual"
elif ! diff -u "$manual" "$made"; then
    echo "docs/your-driver.md is not what the rows say: scripts/rule-needs.sh --update" >&2
    exit 1
fi
