#!/bin/sh
# Usage: operation-table.sh [--check]: writes src/miniport/operation_table.inc from data/ddi, or tells whether
# it is what would be written. The table is kept in the tree because libvidmm is built by a C compiler alone.
set -eu
cd "$(dirname "$0")/.."
table=src/miniport/operation_table.inc
new=$(mktemp)
trap 'rm -f "$new"' EXIT
${AWK:-awk} -f scripts/ddi-layout.awk -f scripts/ddi-operations.awk data/ddi/enums.tsv data/ddi/operations.tsv \
    data/ddi/alternatives.tsv data/ddi/layout-x64.tsv > "$new"
if [ "${1:-}" = --check ]; then
    diff -u "$table" "$new" || { echo "$table is not what data/ddi says: run scripts/operation-table.sh"; exit 1; }
else
    cat "$new" > "$table"
fi
