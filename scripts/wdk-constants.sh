#!/bin/sh
# Usage: wdk-constants.sh [--check]: writes the headers that are nothing but constants from their tables in data/ddi, or
# tells whether they are what would be written. They are kept in the tree because drivers include them as they lie there.
set -eu
cd "$(dirname "$0")/.."
new=$(mktemp)
trap 'rm -f "$new"' EXIT
check=
[ "${1:-}" != --check ] || check=1

# write TABLE HEADER GUARD VALUE FORMAT, the comment's first lines on standard input. VALUE is what a value looks like.
write() {
    {
        echo "/*"
        sed 's/^./ * &/'
        printf ' *\n * Place   include/wdk. Stands alone. Made by scripts/wdk-constants.sh from %s.\n */\n' "$1"
        printf '#ifndef %s\n#define %s\n\n' "$3" "$3"
        case $5 in *NTSTATUS*) printf '#include "ntdef.h"\n\n' ;; esac
        echo "/* clang-format off */"
        ${AWK:-awk} -F '\t' -v value="$4" -v format="$5" '
            FNR > 1 {
                if (NF != 3 || $1 !~ /^[A-Za-z][A-Za-z0-9_]*$/ || $2 !~ value || $3 == "" || ($1 in seen)) {
                    print FILENAME ":" FNR ": not a row of the table, or a name for the second time" > "/dev/stderr"
                    exit 1
                }
                seen[$1] = 1
                printf format "\n", $1, $2
            }' "$1"
        printf '/* clang-format on */\n\n#endif\n'
    } >"$new"
    if [ "$check" ]; then
        diff -u "$2" "$new" || { echo "$2 is not what $1 says: run scripts/wdk-constants.sh"; exit 1; }
    else
        cat "$new" >"$2"
    fi
}

digit='[0-9A-F]'
write data/ddi/ntstatus.tsv include/wdk/ntstatus.h _NTSTATUS_ \
    "^0x$digit$digit$digit$digit$digit$digit$digit$digit\$" '#define %-69s ((NTSTATUS)%s)' <<'END'
NTSTATUS values: the public table of [MS-ERREF] 2.3.1, what pages of the DDI name beside it, and
those that the public crate winapi has beside both.
END
write data/ddi/constants.tsv include/wdk/wdm/constants.h DRYDOCK_WDM_CONSTANTS_H "^0x$digit+\$" '#define %-49s %s' <<'END'
Constants of wdm.h and ntddk.h that are a number with a name and nothing else.
END
