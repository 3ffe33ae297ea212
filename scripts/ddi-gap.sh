#!/bin/sh
# Holds include/wdk against the names that the public documentation has (data/ddi/documented.tsv).
#
#     scripts/ddi-gap.sh                a line for each header: documented, declared, without a body, absent
#     scripts/ddi-gap.sh --list         and each name that is missing: what is missing, kind, header, name
#     scripts/ddi-gap.sh --check FILE   fails when more is missing than FILE says, or less (FILE is out of date then)
#
# A structure counts as whole when it has a body, a member when a structure's body has a word of its name.
set -eu
cd "$(dirname "$0")/.."

what=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Display headers bring all others along; what only some drivers include follows.
cat > "$work/all.c" <<'SOURCE'
#include <ntddk.h>
#include <ntifs.h>
#include <dispmprt.h>
#include <d3dkmthk.h>
#include <ntddvdeo.h>
#include <ntstrsafe.h>
#include <ntintsafe.h>
#include <acpiioct.h>
SOURCE
flags="--target=x86_64-pc-windows-msvc -ffreestanding -w -Iinclude/wdk -Iinclude/wdk/crt"
${CLANG:-clang} $flags -E -P "$work/all.c" > "$work/text"
${CLANG:-clang} $flags -E -dM "$work/all.c" > "$work/macros"

${AWK:-awk} -v list="$what" '
    FILENAME ~ /macros$/ { word = $2; sub(/\(.*/, "", word); declared[word] = 1; next }
    FILENAME ~ /text$/ {
        line = $0
        gsub(/[^A-Za-z0-9_{}]/, " ", line)
        gsub(/[{}]/, " & ", line)
        count = split(line, words, " ")
        for (i = 1; i <= count; i++) {
            word = words[i]
            if (word == "{") {
                if (depth++ == 0 && (before == "struct" || before == "union" || before == "enum")) {
                    inside = last
                    sub(/^_+/, "", inside)
                    whole[inside] = 1
                    if (last == before)
                        inside = ""
                }
            } else if (word == "}") {
                if (--depth == 0) {
                    closed = inside
                    inside = ""
                }
            } else {
                declared[word] = 1
                if (depth > 0 && inside != "")
                    has[inside, word] = 1
            }
            before = last
            last = word
        }
        next
    }
    FNR == 1 { FS = "\t"; $0 = $0; next }
    {
        name = $1; kind = $2; header = $3; of = $4
        if (header !~ /^(d3dkmddi|dispmprt|d3dkmdt|d3dukmdt|wdm|ntddk|ntifs|ntddvdeo)$/)
            next
        if (kind == "member" && !(of in whole))
            next # said by its structure
        if (!(header in total))
            order[++headers] = header
        total[header]++
        missing = ""
        if (kind == "member")
            missing = (of, name) in has ? "" : "absent"
        else if (!(name in declared) && !("_" name in declared))
            missing = "absent"
        else if (kind == "structure" && !(name in whole))
            missing = "body"
        if (missing == "")
            next
        (missing == "body") ? bodies[header]++ : absents[header]++
        if (list == "--list")
            print missing, kind, header, (of == "" ? name : of "." name)
    }
    END {
        for (i = 1; i <= headers; i++) {
            header = order[i]
            printf "%s.h: %d documented, %d declared, %d without a body, %d absent\n", header, total[header],
                total[header] - bodies[header] - absents[header], bodies[header], absents[header]
        }
    }' "$work/macros" "$work/text" data/ddi/documented.tsv > "$work/gap"

if [ "$what" = --check ]; then
    diff -u "$2" "$work/gap" || {
        echo "ddi-gap: include/wdk declares other names than $2 says: scripts/ddi-gap.sh > $2" >&2
        exit 1
    }
else
    cat "$work/gap"
fi
