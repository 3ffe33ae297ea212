#!/bin/sh
# Eight threads write records with sums through locks of 256 allocations. 64 are locked at any time; the GPU copies
# the others, in room for 176, while allocations are moved out of local memory a million times:
#
#     tests/apps/moves.sh BUILD [MOVES]      BUILD is a folder like build/release
set -u

[ $# -ge 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd)
moves=${2:-1000000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# With a sanitizer the client has its runtime, which must leave faults to the kernel here.
export ASAN_OPTIONS="handle_segv=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

complain() {
    echo "moves.sh: $1" >&2
    sed 's/^/    /' "$folder/out" >&2
    exit 1
}

# A round is eight submissions of six copies, for which 65 to 85 allocations are moved out.
out=0 in=0
while [ $out -lt "$moves" ]; do
    "$build/drydock" exec --local-memory 11M -- "$build/app_client" locks 256 8 $(((moves - out) / 60 + 100)) 6 \
        > "$folder/out" 2>&1 || complain "a record is wrong, or the program failed"
    grep -q '^0 wrong words in 256 records' "$folder/out" || complain "no word of records"
    grep -q ' 0 findings$' "$folder/out" || complain "findings"
    moved=$(sed -n 's/.*; \([0-9]*\) evictions, .*/\1/p' "$folder/out")
    [ "${moved:-0}" -gt 1000 ] || complain "nothing moved"
    out=$((out + moved))
    in=$((in + $(sed -n 's/.*evictions, \([0-9]*\) bytes moved in, .*/\1/p' "$folder/out") / 65536))
    sed -n '1,2p' "$folder/out"
done
echo "moved out $out times, in $in times: each record was right"
