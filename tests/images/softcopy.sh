#!/bin/sh
# A driver image that says nothing of its GPU is played without a model of one: softcopy, which copies with the
# CPU, is clean; with a mistake in it its content is not.
#
# Usage: softcopy.sh DRYDOCK SOURCE
set -eu
. "$(dirname "$0")/image.sh"

"$drydock" cc -o "$work/softcopy.sys" "$source/tests/images/softcopy/softcopy.c"
"$drydock" cc -DSOFTCOPY_MISTAKE=1 -o "$work/mistake.sys" "$source/tests/images/softcopy/softcopy.c"
"$drydock" cc -DSOFTCOPY_MISTAKE=2 -o "$work/early.sys" "$source/tests/images/softcopy/softcopy.c"

"$drydock" run "$source/cases/evict-and-restore.case" --driver "$work/softcopy.sys" --model physical \
    --no-out >"$work/log" 2>&1 || fail "evict-and-restore is not clean"
grep -q "mismatches  *0$" "$work/log" || fail "mismatches"
"$drydock" run "$source/cases/evict-and-restore.case" --driver "$work/softcopy.sys" --model physical \
    --option far-memory=8G --no-out >"$work/log" 2>&1 || fail "a board of gigabytes is not clean"
grep -q "mismatches  *0$" "$work/log" || fail "mismatches on a board of gigabytes"
"$drydock" check --driver "$work/softcopy.sys" --gpu none --allocation-data "size:u64 flags:u32 index:u32" \
    --seeds 20 -j 2 >"$work/log" 2>&1 || fail "a campaign has findings"
grep -q "not asked 18 told by a model of the GPU alone$" "$work/log" || fail "no reason why rules were not asked"
grep -q "^            [0-9]* of WDDM 2.0 and later$" "$work/log" || fail "the level is no reason"

if "$drydock" run "$source/cases/evict-and-restore.case" --driver "$work/mistake.sys" --model physical \
    --no-out >"$work/log" 2>&1; then
    fail "the mistake is not found"
fi
grep -q "^error XFER-006" "$work/log" || fail "the mistake is not found as one of content"
if "$drydock" run "$source/cases/evict-and-restore.case" --driver "$work/early.sys" --model physical \
    --no-out >"$work/log" 2>&1; then
    fail "a report that comes too early is not found"
fi
grep -q "^error FENCE-003" "$work/log" || fail "a report that comes too early is not the cause"
# Of WDDM 2.0, with all engines in physical mode: what only such drivers are asked.
"$drydock" cc -DSOFTCOPY_WDDM2 -o "$work/wddm2.sys" "$source/tests/images/softcopy/softcopy.c"
"$drydock" check --driver "$work/wddm2.sys" --gpu none --allocation-data "size:u64 flags:u32 index:u32" \
    --seeds 10 -j 2 --out "$work/wddm2" >"$work/log" 2>&1 || fail "a campaign of WDDM 2.0 has findings"
"$drydock" rules RES-008 --from "$work/wddm2" >"$work/log"
grep -q "^RES-008 .* checked " "$work/log" || fail "RES-008 is not asked of physical engines of WDDM 2"

play() { # the driver with the mistake of that number
    "$drydock" cc -DSOFTCOPY_MISTAKE=$1 -o "$work/table.sys" "$source/tests/images/softcopy/softcopy.c"
    "$drydock" run "$source/cases/evict-and-restore.case" --driver "$work/table.sys" --model physical --no-out \
        >"$work/log" 2>&1
}
! play 3 || fail "a pointer that leads to no code is not found"
grep -q "^error CALL-003.*DxgkDdiEscape" "$work/log" || fail "a pointer that leads to no code is not named"
play 4 || fail "a reserved member of the table is more than advice"
grep -q "^advice CALL-002.*Reserved" "$work/log" || fail "a reserved member of the table is not told"
! play 5 || fail "a wrong version is taken"
grep -q "Version is 0xcdcdcdcd" "$work/log" || fail "the message does not name the version"
if "$drydock" check --driver "$work/softcopy.sys" --allocation-data "sice:u64" >"$work/log" 2>&1; then
    fail "a template with an unknown name is taken"
fi
grep -q "'sice:u64'" "$work/log" || fail "the message does not name the word"
echo "softcopy is clean, and its mistakes are found"
