#!/bin/sh
# The table of options in docs/case-format.md, which `drydock options --markdown` makes of the rows of
# src/workload/case/run_options.inc:
#
#     scripts/options.sh DRYDOCK            fails when the table in the manual is another
#     scripts/options.sh DRYDOCK --update   writes it
set -eu

[ $# -ge 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
manual=$(dirname "$0")/../docs/case-format.md
made=$(mktemp) || exit 1
table=$(mktemp) || exit 1
trap 'rm -f "$made" "$table"' EXIT
"$1" options --markdown >"$table"
awk -v table="$table" '
    /^<!-- options: end/ { inside = 0; print "" }
    !inside
    /^<!-- options: begin/ { inside = 1; print ""; while ((getline line < table) > 0) print line }
' "$manual" >"$made"
if [ "${2:-}" = --update ]; then
    cat "$made" >"$manual"
elif ! diff -u "$manual" "$made"; then
    echo "docs/case-format.md is not what the rows say: scripts/options.sh DRYDOCK --update" >&2
    exit 1
fi
