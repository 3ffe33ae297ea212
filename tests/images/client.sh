#!/bin/sh
# A driver image together with objects in files: the client that is the driver's user-mode half, which chooses the
# addresses, and a policy. Clean, in campaigns too; and a client whose commands are no packets is found.
#
# Usage: client.sh DRYDOCK SOURCE BUILD_FOLDER
set -eu
. "$(dirname "$0")/image.sh"
gpu=$3/gpu/sdma.so
client=$3/client/sdma_client.so

cd "$work"
"$drydock" cc -o sdma.sys "$source"/examples/driver-sdma/*.c
# play OPTION...
play() {
    "$drydock" run "$source/examples/driver-sdma/sdma.case" --driver ./sdma.sys --gpu "$gpu" -o run --events all "$@" \
        >log 2>&1
}
highest() {
    sed -n 's/.*FirstPteVirtualAddress=0x\([0-9a-f]*\).*/\1/p' run/events.txt | sort | tail -n 1
}

play || fail "it is not clean without a client"
own=$(highest)
play --client-file "$client" || fail "it is not clean with a client"
grep -q "clean, judged again$" log || fail "it is not judged without the driver"
chosen=$(highest)
test -n "$own" && test "$own" != "$chosen" || fail "the client's addresses are not taken"
"$drydock" check --driver ./sdma.sys --gpu "$gpu" --client-file "$client" --seeds 8 -o dock >log 2>&1 ||
    fail "a campaign with a client is not clean"
cc -shared -fPIC -I"$source/include" -o policy.so "$source"/examples/policy/*.c
play --policy-file ./policy.so || fail "it is not clean with a policy in a file"
echo "a driver image is played with its own client, at addresses up to $chosen, and with a policy"
