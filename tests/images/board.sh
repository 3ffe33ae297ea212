#!/bin/sh
# A driver image that looks around before it starts: its INF's values, PCI numbers and messages, registers of a board
# without a model that hold what they are given and remember what is written, and what it asked for in vain.
#
# Usage: board.sh DRYDOCK SOURCE
set -eu
. "$(dirname "$0")/image.sh"

"$drydock" cc -c -DDxgkInitialize=BoardInitialize -o "$work/softcopy.o" \
    "$source/tests/images/softcopy/softcopy.c"
"$drydock" cc -o "$work/board.sys" "$source/tests/images/board.c" "$work/softcopy.o"

# play OPTION...
play() {
    "$drydock" run "$source/cases/evict-and-restore.case" --driver "$work/board.sys" --model physical \
        "$@" >"$work/log" 2>&1
}

cat >"$work/board.inf" <<'INF'
[Manufacturer]
Ours = Models,NTamd64
[Models.NTamd64]
"A board" = Install, PCI\VEN_1AF4&DEV_1050
[Install.Services]
AddService = board,2,Service
[Service]
AddReg = Values
[Values]
HKR,Parameters,Level,0x00010001,9
INF
printf '# the state after power-on\n0x40=7\nbar:0=2M\n' >"$work/registers"

play -o "$work/out" --inf "$work/board.inf" --registers "$work/registers" || fail "it is not clean"
grep -q "A board, PCI.VEN_1AF4&DEV_1050$" "$work/log" || fail "the model of the INF is not told"
grep -q "asked for what is not there; to add it: --surroundings 'value:Parameters.Absent=NUMBER'" "$work/log" ||
    fail "what is absent is not told"
grep -q '"word": "value:Parameters.*Absent=NUMBER"' "$work/out/run.json" || fail "run.json does not say what is absent"
play --no-out --surroundings "@$work/board.inf,@$work/registers,value:Parameters\\Absent=1" || fail "files in words are not read"
grep -q "in vain\|not there" "$work/log" && fail "something is absent that is there"

# Each part is needed: without it the driver does not start.
play --no-out --registers "$work/registers" && fail "it starts without its INF"
play --no-out --inf "$work/board.inf" && fail "it starts without the registers' content"
play --no-out --inf "$work/board.inf" --registers "$work/registers" --surroundings registers=ones &&
    fail "registers remember although they are ones"
grep -q "DxgkDdiStartDevice failed with status 0xc0000182 STATUS_" "$work/log" || fail "why it does not start is not told"

# What cannot be read is an error before anything is played.
play --no-out --inf "$work/none.inf" && fail "there is no such INF"
grep -q "none.inf.: No such file" "$work/log" || fail "the missing INF is not named"
play --no-out --registers "$work/log.none" && fail "there is no such file of registers"
echo '[Broken' >"$work/broken.inf"
play --no-out --inf "$work/broken.inf" && fail "a broken INF is read"
grep -q "broken.inf:1: a section's name has no end" "$work/log" || fail "the INF's line is not named"
echo "INF, registers and registry are what the driver finds; what it asks for in vain is told"
