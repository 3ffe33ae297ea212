#!/bin/sh
# A driver image that uses services which call it back, reads the kernel's page of clocks, puts an Unload of its own
# into its object, sends a request down a stack of devices, connects an interrupt and uses the compiler's own
# instructions: clean, the same in every run of a seed, and its mistakes are found.
#
# Usage: services.sh DRYDOCK SOURCE
set -eu
. "$(dirname "$0")/image.sh"

"$drydock" cc -c -DDxgkInitialize=ServicesInitialize -o "$work/softcopy.o" \
    "$source/tests/images/softcopy/softcopy.c"

# build MISTAKE
build() {
    "$drydock" cc -DSERVICES_MISTAKE="$1" -o "$work/services$1.sys" "$source/tests/images/services.c" \
        "$source/tests/images/intrinsics.c" "$work/softcopy.o"
}
# play MISTAKE
play() {
    "$drydock" run "$source/cases/evict-and-restore.case" --driver "$work/services$1.sys" \
        --model physical --no-out >"$work/log" 2>&1
}

build 0
play 0 || fail "it is not clean"
grep -q "clean, judged again$" "$work/log" || fail "it is not judged without the driver"
first=$(sed -n 's/^ *digest *//p' "$work/log")
play 0 || fail "it is not clean the second time"
test -n "$first" && test "$first" = "$(sed -n 's/^ *digest *//p' "$work/log")" ||
    fail "one seed has two digests"

while read -r mistake text; do
    build "$mistake"
    if play "$mistake"; then
        fail "mistake $mistake is not found"
    fi
    grep -q "$text" "$work/log" || fail "mistake $mistake is not found as '$text'"
done <<'TABLE'
1 1 entries of a lookaside list (entries of 48 bytes, tag 'Serv') have not been freed to it
2 a lookaside list (entries of 48 bytes, tag 'Serv') has not been deleted
3 in DriverUnload: .*0x0
4 bug check 0xc2
5 an interrupt that the driver connected has not been disconnected
6 a request that the driver has allocated is completed to its end
7 IoDeleteDevice: the device lies above another: IoDetachDevice first
8 in DxgkDdiAddDevice the driver calls KeWhatNobodyHas, which the bench does not have
9 in DxgkDdiAddDevice: bug check 0x50 .*the driver reads 0x.*24: NtWhatNobodyHas, which it imports and the bench does not have
10 in DriverEntry the driver stops the machine: bug check 0x50 .*the driver reads 0x.*24: NtWhatNobodyHas, which it imports and the bench does not have
11 in DriverEntry the driver calls KeWhatNobodyHas, which the bench does not have
TABLE
echo "services call the image back, clocks are read in place, Unload is the driver's own: $first"
