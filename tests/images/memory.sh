#!/bin/sh
# A driver image that asks the graphics kernel for memory for its device, by all 14 callbacks: clean, with and
# without an IOMMU that remaps, the same in every run of a seed; what it asked for is in the record; and its
# mistakes are found.
#
# Usage: memory.sh DRYDOCK SOURCE
set -eu
. "$(dirname "$0")/image.sh"

case=$source/cases/evict-and-restore.case
cd "$work"
for file in $(find "$source/src/refkmd" -name '*.c' | sort | grep -v '_test\.c$\|/test_[a-z_]*\.c$'); do
    "$drydock" cc -c -DDxgkInitialize=MemoryInitialize -I"$source/include" -I"$source/src" \
        -o "$(basename "$file" .c).o" "$file"
done

# build MISTAKE ENTRY
build() {
    "$drydock" cc -DMEMORY_MISTAKE="$1" --entry "RefKmdDriverEntry$2" -o "memory$1.sys" \
        "$source/tests/images/memory.c" ./*.o
}
# play MISTAKE OPTION...
play() {
    image=memory$1.sys
    shift
    "$drydock" run "$case" --driver "./$image" -o run --events all "$@" >log 2>&1
}
# told CALLBACK ANSWER: once it succeeded, and the line shows what was given (events.txt ends before the device stops).
told() {
    grep -q "^[0-9]* *< $1 .*$2" run/events.txt || fail "$1 is not in events.txt with '$2'"
}

build 0 GpuMmu
for option in --seed=1 --seed=2; do
    play 0 $option || fail "it is not clean before WDDM 2.9, $option"
    grep -q "clean, judged again$" log || fail "it is not judged without the driver before WDDM 2.9, $option"
done
told DxgkCbAllocatePagesForMdl 'hMemoryHandle=0x.* pMdl={bytes=16384 '
told DxgkCbAllocateContiguousMemory 'hMemoryHandle=0x'
told DxgkCbMapMdlToIoMmu 'hMemoryHandle=0x'

build 0 GpuMmu32
digests=
for option in --option=dma-remapping=no --option=dma-remapping=yes; do
    play 0 $option || fail "it is not clean from WDDM 2.9 on, $option"
    grep -q "clean, judged again$" log || fail "it is not judged without the driver, $option"
    first=$(sed -n 's/^ *digest *//p' log)
    play 0 $option || fail "it is not clean the second time, $option"
    test -n "$first" && test "$first" = "$(sed -n 's/^ *digest *//p' log)" || fail "one seed has two digests"
    digests="$digests $first"
done
told DxgkCbCreatePhysicalMemoryObject 'hPhysicalMemoryObject=0x.* hAdapterMemoryObject=0x'
told DxgkCbOpenPhysicalMemoryObject 'hAdapterMemoryObject=0x'
told DxgkCbMapPhysicalMemory 'Offset=0x0 Size=16384'
told DxgkCbAllocateAdl 'pAdl={pages=4 base='
"$drydock" run "$case" --driver ./memory0.sys -o run --calls order >log 2>&1 || fail "it is not clean with --calls"
for line in 'CreatePhysicalMemoryObject Type=0' 'CreatePhysicalMemoryObject Type=1' OpenPhysicalMemoryObject \
    MapPhysicalMemory 'AllocateAdl Flags=0x1' UnmapPhysicalMemory FreeAdl ClosePhysicalMemoryObject \
    DestroyPhysicalMemoryObject; do
    grep -q "^$line" order || fail "--calls does not show $line"
done

while read -r mistake entry text; do
    build "$mistake" "$entry"
    if play "$mistake"; then
        fail "mistake $mistake is not found"
    fi
    tr -s '\n ' '  ' <log | grep -q "$text" || fail "mistake $mistake is not found as '$text'"
done <<'TABLE'
1 GpuMmu error IOMMU-013 DxgkDdiRemoveDevice leaves 1 (expected 0) that callbacks gave for the device; the first by DxgkCbAllocatePagesForMdl
2 GpuMmu error IOMMU-011 DxgkCbFreeContiguousMemory
3 GpuMmu32 error IOMMU-020 DxgkCbUnmapPhysicalMemory
4 GpuMmu32 error IOMMU-005 DxgkCbCreatePhysicalMemoryObject is called at IRQL 2
4 GpuMmu error IOMMU-005 DxgkCbAllocatePagesForMdl is called at IRQL 2
5 GpuMmu32 error IOMMU-018 DxgkCbFreeAdl
6 GpuMmu32 error IOMMU-019 DxgkCbDestroyPhysicalMemoryObject
7 GpuMmu error IOMMU-012 DxgkCbUnmapMdlFromIoMmu.hMemoryHandle is of an MDL that was freed
8 GpuMmu in DxgkDdiStartDevice: bug check 0x50 .* nobody may touch, at memory8.sys!start+.* (ask_for_contiguous, [^ ]*memory.c:
9 GpuMmu32 in DxgkDdiStopDevice: bug check 0x50 .* nobody may touch, at memory9.sys!stop+.* (give_object_back, [^ ]*memory.c:
10 GpuMmu32 error IOMMU-005 DxgkCbAllocatePagesForMdl is not for a device behind a remapping IOMMU
TABLE
echo "memory for the device is asked for, recorded and given back, and ten mistakes are found:$digests"
