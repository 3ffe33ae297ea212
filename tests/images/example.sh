#!/bin/sh
# An example of a driver with packets of its own, as an image with its model: clean, and each of its mistakes is
# the finding that fits. Its own Makefile builds it.
#
# Usage: example.sh DRYDOCK SOURCE NAME MODEL RULE...     (the rule that each mistake breaks)
set -eu
. "$(dirname "$0")/image.sh"
name=$3
model=$4
shift 4

need make
cp -r "$source/examples" "$work/examples"
cd "$work/examples/driver-$name"
make DRYDOCK="$drydock" DRYDOCK_INCLUDE="$source/include" SEEDS=20 check >"$work/log" 2>&1 ||
    fail "the driver is not clean"
for host_aperture in no yes; do
    "$drydock" run "$name.case" --driver "./$name.sys" --gpu "./$model.so" --option far-memory=8G \
        --option host-aperture=$host_aperture --no-out >"$work/log" 2>&1 ||
        fail "a board of gigabytes is not clean"
done
number=0
for rule; do
    number=$((number + 1))
    make DRYDOCK="$drydock" DRYDOCK_INCLUDE="$source/include" mistake-$number >"$work/log" 2>/dev/null ||
        fail "mistake $number is not built"
    grep -qw "^error $rule" "$work/log" || fail "mistake $number is not found as one of $rule"
    case $rule in
    PT-017 | VX-003) # the lines that wrote the packet
        "$drydock" run "$name.case" --driver ./mistake-$number.sys --gpu "./$model.so" --no-out >"$work/log" 2>&1 || :
        tr -d '\n' <"$work/log" | grep -q "  writers  *bytes 0x[0-9a-f]* to 0x.*paging.c:[0-9]*)" ||
            fail "nobody wrote the packet of mistake $number"
        ;;
    esac
done
echo "the driver is clean, and its mistakes are found"
