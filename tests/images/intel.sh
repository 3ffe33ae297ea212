#!/bin/sh
# The miniport for Intel's copy engines, as an image with its model: clean, and each of its mistakes is
# the finding that fits. Its own Makefile builds it.
#
# Usage: intel.sh DRYDOCK SOURCE
set -eu
drydock=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for tool in clang lld-link llvm-dlltool make; do
    command -v $tool >/dev/null || { echo "skipped: no $tool here"; exit 0; }
done
fail() {
    echo "FAILED: $1"
    cat "$work/log"
    exit 1
}
cp -r "$source/examples" "$work/examples"
cd "$work/examples/driver-intel"
make DRYDOCK="$drydock" DRYDOCK_INCLUDE="$source/include" SEEDS=20 check >"$work/log" 2>&1 ||
    fail "the driver is not clean"
for host_aperture in no yes; do
    "$drydock" run intel.case --driver ./intel.sys --gpu ./intel_blt.so --option far-memory=8G \
        --option host-aperture=$host_aperture --no-out >"$work/log" 2>&1 ||
        fail "a board of gigabytes is not clean"
done
number=0
for rule in PT-017 VX-003 TLB-002 FENCE-004 PT-039; do
    number=$((number + 1))
    make DRYDOCK="$drydock" DRYDOCK_INCLUDE="$source/include" mistake-$number >"$work/log" 2>/dev/null ||
        fail "mistake $number is not built"
    grep -qw "^error $rule" "$work/log" || fail "mistake $number is not found as one of $rule"
    case $rule in
    PT-017 | VX-003) # the lines that wrote the packet
        "$drydock" run intel.case --driver ./mistake-$number.sys --gpu ./intel_blt.so --no-out >"$work/log" 2>&1 || :
        tr -d '\n' <"$work/log" | grep -q "  writers  *bytes 0x[0-9a-f]* to 0x.*paging.c:[0-9]*)" ||
            fail "nobody wrote the packet of mistake $number"
        ;;
    esac
done
echo "the driver is clean, and its mistakes are found"
