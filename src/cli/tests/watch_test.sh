#!/bin/sh
# drydock watch: a change of a source builds and plays again, what failed first.
#
# Usage: watch_test.sh PATH-OF-DRYDOCK
set -u
drydock=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/dry dock äXXXXXX") || exit 1
watcher=
trap '[ -z "$watcher" ] || kill $watcher 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1

fail() {
    echo "FAILED: $*"
    sed 's/^/    /' out | tail -30
    exit 1
}
# until PATTERN COUNT: what the watcher says has it so often.
until_said() {
    for i in $(seq 1200); do
        [ "$(grep -c -- "$1" out)" -ge "$2" ] && return
        sleep 0.1
    done
    fail "no '$1' ($2 times) within two minutes"
}

printf 'driver = "zoo:D37-fill-in-dwords"\nmodel = "physical"\n' >drydock.toml
: >driver.c
"$drydock" watch --build 'echo built; cp driver.c driver.sys' --plays 5 -o dock -- --seeds 3 --jobs 1 --no-shrink \
    >out 2>&1 &
watcher=$!
until_said 'watching 2 sources' 1
grep -q '^error FILL-005' out || fail "the mistake is not found"
[ -f dock/campaign.json ] || fail "no results"

# Nothing changed, nothing is played; results and what the build wrote are no sources.
sleep 1
[ "$(grep -c '^built' out)" -eq 1 ] || fail "it plays although nothing has changed"

# A source changes: what failed is played, and nothing else.
echo '/* changed */' >driver.c
until_said 'what failed last fails still' 1
[ "$(grep -c 'runs that had findings have some still' out)" -eq 1 ] || fail "not what failed last"

# A build that fails plays nothing.
until_said 'watching 2 sources' 2
rm driver.c
until_said 'the build ends with' 1
until_said 'watching 1 source' 1

# Mended: with another driver in drydock.toml all is played.
: >driver.c
until_said '^built' 4
until_said 'what failed last fails still' 2
until_said 'watching 2 sources' 3
printf 'driver = "ref"\nmodel = "physical"\n' >drydock.toml
status=0
wait $watcher || status=$?
watcher=
[ $status -eq 0 ] || fail "it ends with $status"
[ "$(grep -c '^built' out)" -eq 5 ] || fail "not five builds"
grep -q 'findings  0 runs' out || fail "the mended driver is not played"
echo "watched"
