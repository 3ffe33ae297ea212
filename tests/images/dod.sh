#!/bin/sh
# Plays the display-only driver of tests/images/dod: at once, with reports behind the call, and built for the newest
# interface; what the screen shows is compared with what was presented. Then with one mistake each, which has to be
# found by what the table below says.
# Usage: tests/images/dod.sh DRYDOCK SOURCE
set -eu

drydock=$1
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

if ! "$drydock" cc -o dod.sys "$source/tests/images/dod/dod.c" > cc.log 2>&1; then
    grep -q "not found" cc.log && echo "skipped: no compiler for driver images" && exit 0
    cat cc.log
    exit 1
fi
"$drydock" cc -D DOD_LATE -o late.sys "$source/tests/images/dod/dod.c"
"$drydock" cc -D DOD_NEWEST -o newest.sys "$source/tests/images/dod/dod.c"

fail()
{
    echo "dod.sh: $1"
    cat out.txt
    exit 1
}

# Nothing is found in a lawful driver: in a job of the memory manager, in steps and sleeps, in drawn runs.
cat > shown.case << 'CASE'
drydock-case 1
step "another mode"
power standby
power on
step "and another"
power d3
power on
CASE
for driver in dod late newest; do
    for case in shown.case "$source/cases/evict-and-restore.case"; do
        "$drydock" run "$case" --driver ./$driver.sys > out.txt 2>&1 || fail "$driver.sys has findings in $case"
        grep -q "outcome .*clean" out.txt || fail "$driver.sys: $case is not clean"
    done
    grep -q "lines of the case about memory are left out" out.txt || fail "what is left out is not told"
    "$drydock" run shown.case --driver ./$driver.sys --seed 1 > out.txt 2>&1 || fail "$driver.sys has findings"
    grep -q "presents were not compared .* not of the frame buffer's size" out.txt ||
        fail "nobody says what was not compared"
    "$drydock" check --driver ./$driver.sys --seeds 12 -j 2 -o campaign-$driver > out.txt 2>&1 ||
        fail "$driver.sys has findings in drawn runs"
done

# number, options, what is said
while read -r number options expected; do
    "$drydock" cc -D DOD_BROKEN="$number" ${options#none} -o broken.sys "$source/tests/images/dod/dod.c"
    # Seed 2 draws modes of the frame buffer's size.
    "$drydock" run shown.case --driver ./broken.sys --seed 2 > out.txt 2>&1 && fail "mistake $number is not found"
    tr '\n' ' ' < out.txt | tr -s ' ' | grep -q "$expected" || fail "mistake $number: '$expected' is not said"
done << 'TABLE'
1 none DxgkDdiEnumVidPnCofuncModality has returned, and an info of DXGK_VIDPNTOPOLOGY_INTERFACE.pfnAcquireFirstPathInfo has not been released
2 none DXGK_VIDPNSOURCEMODESET_INTERFACE.pfnReleaseModeInfo is given an info of .* that has been given back
3 none bug check
4 none VIDPN-004
5 none VIDPN-001
6 none VIDPN-003
7 -DDOD_LATE VIDPN-006
8 -DDOD_LATE VIDPN-007
9 none blocks of the driver's pool .* are left
10 none to be read only and has changed
11 none the handle of a VidPN for that of a VidPN topology
12 none VIDPN-005
13 none VIDPN-002
14 -DDOD_LATE a present was reported as failed
15 none VIDPN-008 .*at (1023, 0), where the screen shows 0x[0-9a-f]* (mode 1024x768)
16 none VIDPN-008
TABLE
echo "dod.sh: three drivers are clean, 16 mistakes are found"
