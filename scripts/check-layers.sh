#!/bin/sh
# The layers of the manager, as docs/architecture.md names them, against the symbols of the built objects:
#
#     scripts/check-layers.sh BUILD      BUILD is a folder like build/release
#
# Each source of src/vidmm is in one row of the table, and calls into its own row and rows below only.
set -eu

[ $# = 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
library=$1/libdrydock_vidmm.a
[ -e "$library" ] || { echo "$0: no '$library'" >&2; exit 2; }

nm "$library" 2>/dev/null | awk '
    NR == FNR {
        if (/^## /) inside = /^## Where things are in the manager/
        if (!inside || !/^\| [0-9]+ \|/) next
        split($0, cell, "|")
        count = split(cell[5], word, "`")
        for (i = 2; i <= count; i += 2) layer[word[i] ".c"] = cell[2] + 0
        next
    }
    /^[^ ]*:$/ { file = substr($1, 1, length($1) - 3); files[file]; next }
    $1 == "U" { uses[file] = uses[file] " " $2; next }
    $2 ~ /^[TDBRVWC]$/ { home[$3] = file }
    END {
        for (file in files) {
            if (!(file in layer)) {
                print "vidmm: " file " is in no layer of docs/architecture.md"
                failed = 1
                continue
            }
            count = split(uses[file], word, " ")
            for (i = 1; i <= count; i++) {
                if (!(word[i] in home) || !(home[word[i]] in layer) || layer[home[word[i]]] <= layer[file]) continue
                print "vidmm: " file " (layer " layer[file] ") calls " word[i] "() of " home[word[i]] " (layer " layer[home[word[i]]] ")"
                failed = 1
            }
        }
        for (file in layer) if (!(file in files)) { print "docs/architecture.md: vidmm has no " file; failed = 1 }
        exit failed
    }' "$(dirname "$0")/../docs/architecture.md" -
