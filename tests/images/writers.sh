#!/bin/bash
# A finding names the line of the driver's source that wrote what is wrong: the commands of a packet, an entry
# of a page table that the GPU writes, and one that the CPU writes. Of a driver that is linked in it names the
# function.
#
# The reference driver as an image, from a copy of its sources in which one line is changed.
#
# Usage: writers.sh DRYDOCK SOURCE
set -eu
. "$(dirname "$0")/image.sh"

need llvm-symbolizer

failures=0
fail() { # WHAT FILE
    echo "$1"
    grep -v "^ *\(rule\|source\) " "$2" | head -60
    failures=$((failures + 1))
}

# Builds the driver with the first line of FILE that has FROM changed to TO, and gives the place.
plant() { # IMAGE ENTRY FILE FROM TO
    rm -rf "$work/src"
    mkdir "$work/src"
    cp -r "$source/src/refkmd" "$work/src/"
    local file=$work/src/refkmd/$3 line
    line=$(grep -nF "$4" "$file" | head -1 | cut -d: -f1)
    [ -n "$line" ] || { echo "no line of $3 has: $4"; exit 1; }
    from=$4 to=$5 at=$line awk 'NR == ENVIRON["at"] {
        start = index($0, ENVIRON["from"])
        $0 = substr($0, 1, start - 1) ENVIRON["to"] substr($0, start + length(ENVIRON["from"])) } { print }' \
        "$file" >"$file.new"
    mv "$file.new" "$file"
    # shellcheck disable=SC2046
    "$drydock" cc -o "$work/$1" --entry "$2" -I"$source/include" -I"$work/src" \
        $(find "$work/src/refkmd" -name '*.c' | sort | grep -v '_test\.c$\|/test_[a-z_]*\.c$')
    place=$(basename "$3"):$line
}

# A finding of the case names the place in its packet.
expect() { # NAME CASE IMAGE [OPTION...]
    status=0
    "$drydock" run "$2" "${@:4}" --driver "$work/$3" --trust-case --json >"$work/$1.json" 2>"$work/$1.txt" || status=$?
    [ $status = 1 ] || fail "$1: exit status $status" "$work/$1.txt"
    grep -q "^  writers " "$work/$1.txt" || fail "$1: no writers" "$work/$1.txt"
    grep -q "^ *\"[^\"]*+0x[^\"]*$place)" "$work/$1.json" || fail "$1: no $place" "$work/$1.txt"
}

case=$source/cases/evict-and-restore.case
plant fill.sys RefKmdDriverEntryPhysical work/packet.c "fill->bytes = bytes;" "fill->bytes = bytes / 2;"
expect fill "$case" fill.sys
status=0
"$drydock" check "$case" --driver "$work/fill.sys" --model physical --seeds 1 --no-shrink --sarif "$work/fill.sarif" \
    --out "$work/out" >"$work/log" 2>&1 || status=$?
[ $status = 1 ] || fail "check: exit status $status" "$work/log"
tr -d ' \n' <"$work/fill.sarif" | grep -q "\"uri\":\"packet.c\"},\"region\":{\"startLine\":[0-9]" ||
    fail "check: no place in SARIF" "$work/fill.sarif"

# The first entry of a mapping of more than 16 pages leads to another page.
from="if (in_page == 1 || call->args->UpdatePageTable.PageTableLevel != 0)"
plant entry.sys RefKmdDriverEntryGpuMmu paging/paging_page_table.c "$from" \
    "if (count > 16 && !call->args->UpdatePageTable.PageTableLevel) entries[0] ^= SGPU_PAGE_BYTES; $from"
for by in gpu-physical gpu-virtual cpu; do
    expect entry-by-$by "$source/cases/gpu-va-map.case" entry.sys --page-tables $by
done

# A byte behind an argument structure, once.
from="if (args->NodeOrdinal >= device->adapter->node_count) {"
plant once.sys RefKmdDriverEntryPhysical context.c "$from" \
    "static int made; if (!made++) ((char *)args)[sizeof *args + 2] = 1; $from"
expect once "$case" once.sys
grep -q "^error MEM-001  DxgkDdiCreateContext" "$work/once.txt" || fail "once: no MEM-001" "$work/once.txt"

exit $failures
