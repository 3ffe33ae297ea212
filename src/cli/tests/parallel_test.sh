#!/bin/sh
# A campaign in shards under GNU parallel, of which one worker is killed in the middle: resumed and merged, it is the
# campaign that one process plays.
#
# Usage: parallel_test.sh PATH-OF-DRYDOCK [SEEDS]
set -u
drydock=$1
seeds=${2:-120}
command -v parallel >/dev/null && parallel --version 2>/dev/null | grep -q '^GNU parallel' ||
    { echo "skipped: no GNU parallel (Debian: parallel)"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/dry dock äXXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
HOME=$work
export HOME
mkdir .parallel && touch .parallel/will-cite

fail() {
    echo "FAILED: $*"
    exit 1
}
campaign="--driver zoo:D37-fill-in-dwords --model physical --seeds $seeds --no-shrink --quiet --settings none"
shards=4

# The third worker is killed while it plays: what it has counted stays.
"$drydock" check $campaign --jobs 1 --shard 3/$shards --out shards/3 >/dev/null 2>&1 &
worker=$!
for i in $(seq 600); do
    [ "$(wc -l 2>/dev/null <shards/3/results.jsonl || echo 0)" -ge 3 ] && break
    sleep 0.05
done
kill -KILL $worker
wait $worker 2>/dev/null
played=$(wc -l <shards/3/results.jsonl)
[ "$played" -ge 1 ] || fail "the worker had played nothing when it was killed"
[ "$played" -lt $((seeds / shards)) ] || echo "note: the worker had ended before it was killed"

status=0
seq $shards | parallel --jobs 2 --joblog jobs.log \
    "'$drydock' check $campaign --jobs 1 --shard {}/$shards --out shards/{} --resume" >/dev/null 2>err || status=$?
[ $status -le $shards ] || fail "parallel ends with $status: $(head -5 err)"
awk 'NR > 1 && $7 > 1 { print "exit status " $7 ": " $0; wrong = 1 } END { exit wrong }' jobs.log || fail "a shard failed"

"$drydock" merge shards/* --out all --json >merged.json 2>err
[ $? -le 1 ] || fail "merge: $(head -3 err)"
"$drydock" check $campaign --out whole --json >whole.json 2>err
[ $? -le 1 ] || fail "the unsharded campaign: $(head -3 err)"
for key in runs digest findings operations evictions pages_checked; do
    a=$(grep "^  \"$key\":" merged.json)
    b=$(grep "^  \"$key\":" whole.json)
    [ -n "$a" ] && [ "$a" = "$b" ] || fail "$key differs: '$a' in shards, '$b' in one"
done
grep -o '"id": "[^"]*"' merged.json | sort >a
grep -o '"id": "[^"]*"' whole.json | sort >b
[ -s a ] && cmp -s a b || fail "the causes differ"
# Whose source line wrote a byte is looked for in the first run of a cause that a campaign sees.
lines() {
    sed 's/"writers":"[^"]*"//g; s/"function":"[^"]*"//g; s/"check":"[^"]*"//' "$1" | sort
}
lines all/results.jsonl >a
lines whole/results.jsonl >b
cmp -s a b || fail "the lines of the results differ"
echo "$shards shards of $seeds seeds, one killed behind $played runs: the same $(grep -o '"digest": "[^"]*"' whole.json | head -1)"
