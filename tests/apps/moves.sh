#!/bin/sh
# Eight threads write records with sums through locks of 256 allocations. 64 are locked at any time; the GPU copies
# the others, in room for 176, while allocations are moved out of local memory a million times, by ten clients in turn:
#
#     tests/apps/moves.sh BUILD [MOVES]      BUILD is a folder like build/release
#
# The release build moves 2,200 of them out a second beside five other programs on two processors, and 5,900 on more:
# three to eight minutes. A client of 100,000 that has not ended after twenty minutes counts as one that hangs.
set -u

[ $# -ge 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd)
moves=${2:-1000000}
piece=100000 hangs=1200
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# With a sanitizer the client has its runtime, which must leave faults to the kernel here.
export ASAN_OPTIONS="handle_segv=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

complain() {
    echo "moves.sh: $1" >&2
    sed 's/^/    /' "$folder/out" >&2
    exit 1
}

# A round is eight submissions of six copies, for which 65 to 88 allocations are moved out.
out=0 in=0
while [ $out -lt "$moves" ]; do
    left=$((moves - out < piece ? moves - out : piece))
    began=$(date +%s)
    status=0
    timeout $hangs "$build/drydock" exec --local-memory 11M -- "$build/app_client" locks 256 8 $((left / 80 + 20)) 6 \
        > "$folder/out" 2>&1 || status=$?
    [ $status -ne 124 ] || complain "no end in $hangs seconds, behind $out moves: a hang"
    [ $status -eq 0 ] || complain "a record is wrong, or the program failed (exit status $status)"
    grep -q '^0 wrong words in 256 records' "$folder/out" || complain "no word of records"
    grep -q ' 0 findings$' "$folder/out" || complain "findings"
    moved=$(sed -n 's/.*; \([0-9]*\) evictions, .*/\1/p' "$folder/out")
    [ "${moved:-0}" -gt 1000 ] || complain "nothing moved"
    out=$((out + moved))
    in=$((in + $(sed -n 's/.*evictions, \([0-9]*\) bytes moved in, .*/\1/p' "$folder/out") / 65536))
    sed -n '1,2p' "$folder/out"
    echo "$moved moved out in $(($(date +%s) - began)) seconds"
done
echo "moved out $out times, in $in times: each record was right"
