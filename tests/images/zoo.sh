#!/bin/sh
# What the bench finds of a planted defect does not depend on whether the driver is linked in or a file.
#
# Every defect that is found in the reference driver linked in, within SEEDS seeds, is found in one of its
# images too: an image is of one level, and some defects show in some levels only.
#
# Usage: zoo.sh DRYDOCK SOURCE SEEDS [ID...]     (all defects where none is named)
set -eu
. "$(dirname "$0")/image.sh"
seeds=$3
shift 3

sources=$(find "$source/src/refkmd" "$source/src/refdod" -name '*.c' | sort | grep -v '_test\.c$\|/test_[a-z_]*\.c$')

found() { # the rows of a table that are found: ID MODEL
    awk '$3 == "found" { print $1, $2 }' "$1" | sort -u
}

played=0
for model in physical gpummu iommu; do
    case $model in
    physical) entries="RefKmdDriverEntryPhysical RefKmdDriverEntryPhysicalWin7 RefKmdDriverEntryPhysicalVista
        RefDodDriverEntry" ;;
    gpummu) entries="RefKmdDriverEntryGpuMmu RefKmdDriverEntryGpuMmu30 RefKmdDriverEntryGpuMmu32" ;;
    iommu) entries="RefKmdDriverEntryIoMmu RefKmdDriverEntryIoMmu30" ;;
    esac
    status=0
    "$drydock" zoo "$@" -m $model -n "$seeds" -j 2 --no-shrink >"$work/linked-in" 2>"$work/log" || status=$?
    # None of these defects is one of this model.
    [ "$status" -ne 2 ] || { cat "$work/log"; continue; }
    [ "$status" -lt 2 ] || { echo "FAILED: exit status $status"; cat "$work/log"; exit 1; }
    : >"$work/images"
    for entry in $entries; do
        # shellcheck disable=SC2086
        "$drydock" cc -o "$work/$entry.sys" --entry "$entry" -I"$source/include" \
            -I"$source/src" $sources
        "$drydock" zoo "$@" -m $model -n "$seeds" -j 2 --no-shrink --image "$work/$entry.sys" \
            >>"$work/images" 2>"$work/log" || [ $? -le 2 ] # 2: none of them is one of this kind of driver
    done
    # Left out is the one that calls functions of the kernel's which over an image are the image's alone.
    found "$work/linked-in" | awk '$1 != "VIDPN-pivot-anew"' >"$work/a"
    found "$work/images" >"$work/b"
    missing=$(comm -23 "$work/a" "$work/b")
    [ -z "$missing" ] || { echo "FAILED: found in the driver linked in only:"; echo "$missing"; exit 1; }
    played=$((played + $(wc -l <"$work/a")))
    echo "$model: $(wc -l <"$work/a") defects found in the driver linked in, $(wc -l <"$work/b") in its images"
done
[ "$played" -gt 0 ] || { echo "FAILED: no defect is found in the driver linked in"; exit 1; }
