#!/bin/sh
# A driver image that works on a thread of its own: clean, the same in every run of a seed, and what it does
# wrong with the thread is found.
#
# Usage: threads.sh DRYDOCK SOURCE
set -eu
. "$(dirname "$0")/image.sh"

"$drydock" cc -c -DDxgkInitialize=ThreadsInitialize -o "$work/softcopy.o" \
    "$source/tests/images/softcopy/softcopy.c"

# build MISTAKE
build() {
    "$drydock" cc -DTHREADS_MISTAKE="$1" -o "$work/threads$1.sys" "$source/tests/images/threads.c" \
        "$work/softcopy.o"
}
# play MISTAKE SEED
play() {
    "$drydock" run "$source/cases/evict-and-restore.case" --driver "$work/threads$1.sys" \
        --model physical --seed "$2" --no-out >"$work/log" 2>&1
}
digest() {
    sed -n 's/^ *digest *//p' "$work/log"
}

build 0
digests=
for seed in 1 2 3; do
    play 0 $seed || fail "seed $seed is not clean"
    grep -q "clean, judged again$" "$work/log" || fail "seed $seed is not judged without the driver"
    first=$(digest)
    play 0 $seed || fail "seed $seed is not clean the second time"
    test -n "$first" || fail "no digest"
    test "$first" = "$(digest)" || fail "seed $seed has two digests"
    digests="$digests $first"
done
"$drydock" check --driver "$work/threads0.sys" --gpu none \
    --allocation-data "size:u64 flags:u32 index:u32" --seeds 20 -j 2 --judge 1 >"$work/log" 2>&1 ||
    fail "a campaign has findings"
grep -q "^  judged *20 runs again, without the driver; 0 could not be" "$work/log" ||
    fail "a seed is not judged without the driver"

while read -r mistake text; do
    build "$mistake"
    if play "$mistake" 1; then
        fail "mistake $mistake is not found"
    fi
    grep -q "$text" "$work/log" || fail "mistake $mistake is not found as '$text'"
done <<'TABLE'
1 thread 1, created at .* has not ended: thread 1 waits for
2 in DxgkDdiStopDevice: deadlock: the thread that called the driver waits for thread 1 in KeWaitForSingleObject
3 in DxgkDdiSubmitCommand: bug check 0xb8
4 the driver stopped the machine in its thread 1: bug check 0x7e
5 the timer at .* is set and has not been cancelled
6 the driver stopped the machine in its thread 1: bug check 0xdead (0x1, 0x2, 0x3, 0x4)
TABLE
echo "a thread of the driver's does its work, and six mistakes are found:$digests"
