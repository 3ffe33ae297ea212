#!/bin/sh
# Processes that end while their threads are inside of calls, a library before another one that records them:
#
#     tests/apps/leaving.sh BUILD [TIMES]      BUILD is a folder like build/release
#
# Each of 200 leaves by exit() at another number of buffers; one of ten does so slowly: its record goes to a pipe, at
# whose other end nobody reads for a while, and behind that a library lingers: the threads go on meanwhile. It ends in order, its record is there and plays, and no
# rule says of it what is true of its end alone.
set -u

[ $# -ge 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd)
times=${2:-200}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# With a sanitizer the client has its runtime, which must leave faults to the kernel here.
export ASAN_OPTIONS="handle_segv=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
failed=0

complain() {
    echo "leaving.sh: $1" >&2
    sed 's/^/    /' "$folder/out" >&2
    failed=1
}

mkdir "$folder/other" "$folder/records"
cp "$build/libdxcore.so" "$folder/other/"
cat > "$folder/leave" <<END
i=0
while [ \$i -lt $times ]; do
    i=\$((i + 1))
    way=
    record=$folder/records/\$i.case
    if [ \$((i % 10)) = 0 ]; then
        way=$build/libapp_linger.so
        record=$folder/pipe-\$i
        (while [ ! -p "\$record" ]; do sleep 0.01; done
         sleep 0.05
         timeout 60 cat "\$record" > "$folder/records/\$i.case") &
    fi
    DRYDOCK_PASS="$folder/other/libdxcore.so" DRYDOCK_RECORD="\$record" \
        timeout 60 "$build/app_client" leave 4 \$((i % 50 + 1)) "\$way" || echo "leaving \$i: status \$?"
    wait
done
END
"$build/drydock" exec --local-memory 16M -- sh "$folder/leave" > "$folder/out" 2>&1
grep -q '^leaving ' "$folder/out" && complain "not all ended in order"
grep -q "$times clients" "$folder/out" || complain "not $times clients"
# One of its threads waits for what nobody signals, which is said, and nothing else.
grep 'finding: ' "$folder/out" | grep -qv KMT-042 && complain "a rule is told of who has left"
[ "$(find "$folder/records" -name '*.case' | wc -l)" = "$times" ] || complain "records are missing"
at=0
for record in "$folder"/records/*.case; do
    at=$((at + 1))
    [ "$(head -n 1 "$record")" = "drydock-case 1" ] || complain "$record is no case"
    case $record in *0.case) ;; *) [ $((at % 8)) = 0 ] || continue ;; esac
    "$build/drydock" run "$record" --no-out > "$folder/out" 2>&1 || complain "$record does not play"
    grep -q 'mismatches  *0$' "$folder/out" || complain "$record: mismatches"
done
exit $failed
