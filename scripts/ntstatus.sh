#!/bin/sh
# Usage: ntstatus.sh [--check]: writes include/wdk/ntstatus.h from data/ddi/ntstatus.tsv, or tells whether it is what
# would be written. The header is kept in the tree because drivers include it as it lies there.
set -eu
cd "$(dirname "$0")/.."
header=include/wdk/ntstatus.h
new=$(mktemp)
trap 'rm -f "$new"' EXIT
${AWK:-awk} -F '\t' '
    BEGIN {
        print "/*"
        print " * NTSTATUS values: the public table of [MS-ERREF] 2.3.1, what pages of the DDI name beside it, and"
        print " * those that the public crate winapi has beside both."
        print " *"
        print " * Place   include/wdk. Stands alone. Made by scripts/ntstatus.sh from data/ddi/ntstatus.tsv."
        print " */"
        print "#ifndef _NTSTATUS_"
        print "#define _NTSTATUS_"
        print ""
        print "#include \"ntdef.h\""
        print ""
        print "/* clang-format off */"
    }
    FNR > 1 {
        if ($1 !~ /^[A-Z][A-Z0-9_]*$/ || $2 !~ /^0x[0-9A-F][0-9A-F][0-9A-F][0-9A-F][0-9A-F][0-9A-F][0-9A-F][0-9A-F]$/ ||
            $3 == "" || ($1 in seen)) {
            print FILENAME ":" FNR ": not a row of the table, or a name for the second time" > "/dev/stderr"
            exit is_failed = 1
        }
        seen[$1] = 1
        printf "#define %-69s ((NTSTATUS)%s)\n", $1, $2
    }
    END { if (!is_failed) print "/* clang-format on */\n\n#endif"; exit is_failed }' data/ddi/ntstatus.tsv > "$new"
if [ "${1:-}" = --check ]; then
    diff -u "$header" "$new" || { echo "$header is not what data/ddi says: run scripts/ntstatus.sh"; exit 1; }
else
    cat "$new" > "$header"
fi
