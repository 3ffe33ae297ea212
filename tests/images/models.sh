#!/bin/sh
# Which model an image is of is read from what it says: without --model it is played in that one, with another
# one it is refused, and campaigns draw no other. One that says nothing before its start is found out there.
#
# Usage: models.sh DRYDOCK SOURCE GPU_FOLDER
set -eu
. "$(dirname "$0")/image.sh"
gpu=$3/sdma.so

sources=$(cd "$source" && find src/refkmd -name '*.c' | sort | grep -v '_test\.c$\|/test_[a-z_]*\.c$')
build() { # IMAGE ENTRY
    # shellcheck disable=SC2086
    (cd "$source" && "$drydock" cc -o "$work/$1" --entry "RefKmdDriverEntry$2" -Iinclude -Isrc $sources)
}

case=$source/cases/evict-and-restore.case
cd "$work"
play() { # exit status, image, further options
    expected=$1
    image=$2
    shift 2
    status=0
    "$drydock" run "$case" --driver "./$image.sys" --no-out "$@" >log 2>&1 || status=$?
    [ $status -eq "$expected" ] || fail "$image $*: exit status $status"
}

for entry in Physical GpuMmu IoMmu; do
    model=$(echo $entry | tr '[:upper:]' '[:lower:]')
    build "$model.sys" $entry
    play 0 $model
    grep -q "$entry (WDDM\|$model (WDDM" log || fail "$model is played in another model"
    "$drydock" check --driver ./$model.sys --seeds 6 -o "$model" >log 2>&1 || fail "a campaign of $model"
    grep -q " 6 $model\|(6 $model" log || fail "a campaign of $model draws other models"
done
# The level is that of the started driver, which knows its kernel: WDDM 3.2, of which profiles and draws are.
build gpummu32.sys GpuMmu32
"$drydock" check --driver ./gpummu32.sys --seeds 8 -p wddm-3 -o level >log 2>&1 || fail "a campaign of WDDM 3"
[ "$(grep -c '"wddm": *32' level/results.jsonl)" -eq 8 ] || fail "WDDM 3.2 counts as less"
grep -q '^8 runs' log || fail "a campaign of WDDM 3 plays nothing"
play 2 gpummu --model iommu
grep -q "is not of the iommu model: by its DRIVERCAPS.MemoryManagementCaps it is of gpummu" log ||
    fail "what the driver cannot do is not said"
play 2 physical --model gpummu
grep -q "it is of physical (expected --model physical)" log || fail "nor of a physical one"

for late in 1 2 3 4 5 6; do
    "$drydock" cc -o late$late.sys -DLATE=$late -Wno-missing-field-initializers "$source/tests/images/late_caps.c" \
        "$source/examples/driver-sdma/memory.c" "$source/examples/driver-sdma/paging.c" \
        "$source/examples/driver-sdma/ring.c"
done
for late in 1 2 3 4; do
    play 0 late$late --gpu "$gpu" --model gpummu
done
for late in 1 2 3 6; do
    play 0 late$late --gpu "$gpu"
done
play 2 late4 --gpu "$gpu" # it is taken by its word, and then says another one
grep -q "it is of gpummu (expected --model gpummu)" log || fail "what to do is not said"
play 2 late1 --gpu "$gpu" --model iommu
grep -q "is not of the iommu model" log || fail "what it says when it has started does not count"
play 2 late5 --gpu "$gpu"
grep -q "registers no DxgkDdiSetRootPageTable, without which no driver of WDDM 2.6 and the gpummu" log ||
    fail "what is missing is not said"
# A model that is called by an access of the driver's: what it does is not the driver's.
play 2 late1 --gpu "$3/odd-crashing.so" --run-limit 20
grep -q "GPU model '.*/odd-crashing.so', in write_register(): ended by signal 11.*tells nothing of the driver" log ||
    fail "a model that crashes in an access of a driver that is an image is not named"
"$drydock" run "$case" --driver ./late1.sys --gpu "$3/odd-printing.so" --no-out --run-limit 20 >log 2>&1 || true
! grep -q "asks the system\|crashed\|in code of the bench" log ||
    fail "a model that prints in an access of the driver is taken for the driver"
"$drydock" check --driver ./late6.sys --gpu "$gpu" --seeds 2 -o late6 >log 2>&1 || fail "a campaign of 2.1"
grep -q '"wddm":21' late6/results.jsonl || fail "the level is not what it says of itself"
echo "images are played in their models"
