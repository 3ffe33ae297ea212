#!/bin/sh
# Usage: constants.sh [--check]: writes include/wdk/wdm/constants.h from data/ddi/constants.tsv, or tells whether it is
# what would be written. The header is kept in the tree because drivers include it as it lies there.
set -eu
cd "$(dirname "$0")/.."
header=include/wdk/wdm/constants.h
new=$(mktemp)
trap 'rm -f "$new"' EXIT
${AWK:-awk} -F '\t' '
    BEGIN {
        print "/*"
        print " * Constants of wdm.h and ntddk.h that are a number with a name and nothing else."
        print " *"
        print " * Place   include/wdk. Stands alone. Made by scripts/constants.sh from data/ddi/constants.tsv."
        print " */"
        print "#ifndef DRYDOCK_WDM_CONSTANTS_H"
        print "#define DRYDOCK_WDM_CONSTANTS_H"
        print ""
        print "/* clang-format off */"
    }
    FNR > 1 {
        if (NF != 3 || $1 !~ /^[A-Za-z][A-Za-z0-9_]*$/ || $2 !~ /^0x[0-9A-F]+$/ || $3 == "" || ($1 in seen)) {
            print FILENAME ":" FNR ": not a row of the table, or a name for the second time" > "/dev/stderr"
            exit is_failed = 1
        }
        seen[$1] = 1
        printf "#define %-49s %s\n", $1, $2
    }
    END { if (!is_failed) print "/* clang-format on */\n\n#endif"; exit is_failed }' data/ddi/constants.tsv >"$new"
if [ "${1:-}" = --check ]; then
    diff -u "$header" "$new" || { echo "$header is not what data/ddi says: run scripts/constants.sh"; exit 1; }
else
    cat "$new" >"$header"
fi
