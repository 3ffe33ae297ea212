#!/bin/sh
# Applications by `drydock exec`, with a client of our own:
#
#     tests/apps/exec.sh BUILD      BUILD is a folder like build/release
set -u

[ $# = 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
drydock=$build/drydock
client=$build/app_client
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/tmp"
export TMPDIR="$folder/tmp"
failed=0
# With a sanitizer the client has its runtime, which must leave faults to the kernel here.
export ASAN_OPTIONS="handle_segv=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

complain() {
    echo "exec.sh: $1" >&2
    sed 's/^/    /' "$folder/out" >&2
    failed=1
}

# The exit status, a text of the output, then the command line of exec.
expect() {
    status=$1 text=$2
    shift 2
    "$drydock" exec "$@" > "$folder/out" 2>&1
    got=$?
    [ $got = "$status" ] || complain "exec $*: exit status $got, expected $status"
    grep -q -e "$text" "$folder/out" || complain "exec $*: no '$text'"
}

# 32 MiB in 8 MiB of local memory; then with room for all; two threads, each with a device.
expect 0 '^0 wrong words' --local-memory 8M -- "$client" copy 16 2 2
grep -q ' 0 evictions' "$folder/out" && complain "nothing had to leave local memory"
grep -q ' 0 findings$' "$folder/out" || complain "findings, or a client that died"
expect 0 '^0 wrong words' --local-memory=64M -- "$client" copy 16 2 1
grep -q ' 0 evictions' "$folder/out" || complain "something left local memory that had room"
expect 0 '^0 wrong words' --local-memory 16M -- "$client" copy 4 2 2 3
# By lanes, and the same by sockets alone.
grep -q ' by lanes' "$folder/out" || complain "no calls by lanes"
DRYDOCK_NO_LANES=1 expect 0 '^0 wrong words' --local-memory 16M -- "$client" copy 4 2 2 3
grep -q ' by lanes' "$folder/out" && complain "lanes were used"
expect 0 ' us (fastest batch ' -- "$client" calls
# Both sides sleep at once, unless they are told to look for a while.
expect 0 '"looks": 0,' --json -- "$client" copy 4 1 1
if [ "$(nproc)" -gt 1 ]; then
    expect 0 '"looks": [1-9]' --json --spin 20 -- "$client" copy 4 1 1
fi
expect 2 'spin' --spin 1001 -- "$client" copy 4 1 1
# Six, whose buffers do not fit at once: who finds no room waits.
expect 0 '^0 wrong words' --local-memory 16M -- "$client" copy 4 4 1 6

# Two that hold more than half of it each, at one time, give way to each other; budgets are told.
mkdir "$folder/met"
cat > "$folder/two" <<END
"$drydock" exec --join "$folder/socket" -- "$client" keep 3 4 6 "$folder/met" &
"$drydock" exec --join "$folder/socket" -- "$client" keep 3 4 6 "$folder/met" || exit 1
wait \$!
END
expect 0 '^0 wrong words' --local-memory 16M --socket "$folder/socket" -- sh "$folder/two"
grep -q ' demotions' "$folder/out" || complain "nobody gave way"
expect 0 '^asked to trim: [1-9]' --local-memory 32M -- "$client" share 6 4

# Eight threads write records through locks: 64 of 256 are locked at any time, the others move.
expect 0 '^0 wrong words in 256 records' --local-memory 8M -- "$client" locks 256 8 40
grep -q ' 0 evictions' "$folder/out" && complain "nothing moved beside the locks"
grep -q ' 0 findings$' "$folder/out" || complain "locks: findings"

# A record plays without the client: the same twice, every byte right, and shrinks to a defect.
digest_of() {
    "$drydock" run "$1" --out "$folder/run" > "$folder/out" 2>&1 ||
        complain "the record $1 does not play"
    grep -q 'mismatches  *0$' "$folder/out" || complain "$1: mismatches"
    sed -n 's/^  digest  *//p' "$folder/out"
}
plays_twice() {
    first=$(digest_of "$1")
    [ -n "$first" ] && [ "$first" = "$(digest_of "$1")" ] || complain "$1: two digests"
}
expect 0 '^0 wrong words' --local-memory 8M --record "$folder/copy.case" -- "$client" copy 4 4 1
[ "$(grep -c '^write .* key=0x' "$folder/copy.case")" = 4 ] || complain "not four contents"
[ "$(grep -c '^read ' "$folder/copy.case")" = 4 ] || complain "not four reads"
plays_twice "$folder/copy.case"
# Two that take turns: what one submits while the other has the memory comes behind its restoration.
expect 0 '^0 wrong words' --local-memory 16M --socket "$folder/socket" \
    --record "$folder/turns.case" -- sh "$folder/two"
grep -q ' demotions' "$folder/out" || complain "nobody gave way under a recorder"
plays_twice "$folder/turns.case"
# ... and beside each other, with room for both.
expect 0 '^0 wrong words' --local-memory 32M --socket "$folder/socket" \
    --record "$folder/two.case" -- sh "$folder/two"
grep -q ' demotions' "$folder/out" && complain "somebody gave way with room for both"
plays_twice "$folder/two.case"
"$drydock" shrink "$folder/copy.case" --driver zoo:PTE-one-late -o "$folder/small.case" \
    > "$folder/out" 2>&1
[ -s "$folder/small.case" ] || complain "the record does not shrink"
[ "$(wc -l < "$folder/small.case")" -lt 20 ] || complain "the record shrinks to too much"
for case in "$source"/cases/recorded/*.case; do
    plays_twice "$case"
done
expect 2 'cannot write' --record "$folder/none/copy.case" -- true

# The same library before another one, which answers: both record the same, but for what the machine has.
mkdir "$folder/other"
cp "$build/libdxcore.so" "$folder/other/"
passes_alike() { # OPTION, what the client does
    option=$1
    shift
    rm -f "$folder/passed.case"
    expect 0 '^0 wrong ' --local-memory 8M --option "$option" --record "$folder/answered.case" -- \
        env DRYDOCK_PASS="$folder/other/libdxcore.so" DRYDOCK_RECORD="$folder/passed.case" "$client" "$@"
    for record in answered passed; do
        grep -v -e '^option system-memory' -e '^name' "$folder/$record.case" >"$folder/$record.lines"
    done
    cmp -s "$folder/answered.lines" "$folder/passed.lines" || complain "$1: what passes is another record"
    plays_twice "$folder/passed.case"
}
passes_alike hardware-queues=no copy 4 4 1
"$drydock" exec -- env DRYDOCK_PASS="$folder/other/libdxcore.so" DRYDOCK_RECORD="$folder/passed-events.case" \
    "$client" events >"$folder/out" 2>&1
grep -q '^13 of 13 right' "$folder/out" || complain "events: what passes is another answer"
plays_twice "$folder/passed-events.case"

# DXCore tells what the calls tell.
expect 0 '^17 of 17 right' -- "$client" adapter

# Waits that set an event, by lanes and by sockets; the record has the waits of their threads. One
# fence is destroyed while it is awaited, and one wait names 33, in each run.
DRYDOCK_NO_LANES=1 expect 1 '^13 of 13 right' -- "$client" events
expect 1 '^13 of 13 right' --record "$folder/events.case" -- "$client" events
grep -q ' 2 findings; ' "$folder/out" || complain "events: not two findings"
grep -q 'KMT-046 .* is awaited with value 1$' "$folder/out" || complain "events: no KMT-046"
grep -q 'KMT-048 .*: ObjectCount is 33$' "$folder/out" || complain "events: no KMT-048"
plays_twice "$folder/events.case"

# CPU notifications and signals that set an event, in their turn; and three that are wrong.
expect 0 '^6 of 6 right' --record "$folder/notify.case" -- "$client" notify
grep -q ' 0 findings' "$folder/out" || complain "notify: findings"
[ "$(grep -c '^wait c' "$folder/notify.case")" -ge 50 ] || complain "notify: the record has no waits"
plays_twice "$folder/notify.case"
DRYDOCK_NO_LANES=1 expect 1 '^10 of 10 right' -- "$client" notify lie
grep -q ' 2 findings; ' "$folder/out" || complain "notify lie: not two findings"
grep -q 'KMT-083 .*: Event is no event$' "$folder/out" || complain "notify lie: no KMT-083"
grep -q 'KMT-084 .*: ObjectCount is 1$' "$folder/out" || complain "notify lie: no KMT-084"
# Where no thread can start nothing is left with the server. Threads that wait for events leave lanes to others:
# the 4,000 calls of 20 threads go by lanes beside 80 notifications.
expect 0 '^1804 of 1804 right' -- "$client" notify starved
expect 0 '^604 of 604 right' -- "$client" notify unheard
expect 0 '^100 of 100 right' --json -- "$client" notify many
grep -q '"lane_calls": 4[0-9][0-9][0-9],' "$folder/out" || complain "notify many: calls by sockets"
"$drydock" exec -- env DRYDOCK_PASS="$folder/other/libdxcore.so" DRYDOCK_RECORD="$folder/passed-notify.case" \
    "$client" notify >"$folder/out" 2>&1
grep -q '^6 of 6 right' "$folder/out" || complain "notify: what passes is another answer"
plays_twice "$folder/passed-notify.case"

# Hardware queues: the content is right, the calls break no rule, and the record has their work.
expect 0 '^0 wrong buffers of 12' --local-memory 8M --option hardware-queues=yes -- "$client" queues 4 4 3
grep -q ' 0 findings$' "$folder/out" || complain "queues: findings"
grep -q ' 0 evictions' "$folder/out" && complain "queues: nothing had to leave local memory"
passes_alike hardware-queues=yes queues 3 4 2
grep -q '^option hardware-queues yes' "$folder/passed.case" || complain "queues: the record has none"
[ "$(grep -c '^submit ' "$folder/passed.case")" = 12 ] || complain "queues: not twelve submissions"
[ "$(grep -c '^read ' "$folder/passed.case")" = 6 ] || complain "queues: not six reads"
expect 1 'CreateHwQueue: status 0xc00000bb' -- "$client" queues 1 1 1
"$drydock" exec -- env DRYDOCK_PASS="$folder/other/none.so" "$client" copy 4 4 1 >"$folder/out" 2>&1 &&
    complain "a library that is not there answers"
grep -q '^drydock: DRYDOCK_PASS: .*none.so' "$folder/out" || complain "nobody says which library is not there"

# The folder of a run of applications: processes by program and pid, and their calls.
expect 0 'written to ' --local-memory 8M --out "$folder/seen" -- "$client" copy 4 4 1 2
[ -s "$folder/seen/run.json" ] || complain "--out: no run.json"
"$drydock" trace "$folder/seen" -o "$folder/trace" > "$folder/out" 2>&1 || complain "no trace"
for text in 'app_client (pid [0-9]*)' D3DKMTSubmitCommand 'calls of the client'; do
    grep -qa "$text" "$folder/trace" || complain "the trace of clients has no '$text'"
done
if "$drydock" report "$folder/seen" > "$folder/out" 2>&1; then
    expect 0 'written to .*report\.html' --out "$folder/seen" --report -- "$client" copy 4 2 1
else
    grep -q 'reports were left out of this build' "$folder/out" || complain "no report of clients"
fi
expect 2 'is not the folder of a run' --out "$source/tests" -- "$client" copy 4 2 1

# Clients that die: amid copies, and amid a call that waits. The server ends in order.
expect 1 'ended by signal 9' --local-memory 8M -- "$client" die 6 2
grep -q ' 0 findings; clients ended with what they had' "$folder/out" || complain "die"
expect 1 'ended by signal 14' -- "$client" wait

# Two processes that share a resource and a fence, by a socket, by fork() and by names, in half of what they
# allocate; the record of it plays. And what is not lawful: nobody is harmed.
for how in socket fork name; do
    expect 0 '^0 wrong words' --local-memory 8M --record "$folder/shared.case" -- \
        "$client" sharing 2 6 $how
    grep -q ' 0 evictions' "$folder/out" && complain "sharing $how: nothing had to leave"
    grep -q ' 0 findings' "$folder/out" || complain "sharing $how: findings"
    [ "$(grep -c '^alloc .*shared' "$folder/shared.case")" = 2 ] ||
        complain "sharing $how: not two shared allocations"
    plays_twice "$folder/shared.case"
done
DRYDOCK_NO_LANES=1 expect 0 '^0 wrong words' --local-memory 8M -- "$client" sharing 2 3 socket
expect 1 '^\([0-9]*\) of \1 right' --local-memory 8M -- "$client" sharing-lies
grep 'finding: ' "$folder/out" | grep -qv 'KMT-07[689]\|KMT-08[0167]' && complain "sharing-lies: findings"
grep -q 'KMT-081 D3DKMT.*: hNtHandle is no shared object' "$folder/out" || complain "sharing-lies: no KMT-081"
grep -q 'KMT-086 .*: Name has no root$' "$folder/out" || complain "sharing-lies: no KMT-086"
grep -q 'KMT-087 .*: Name is that of a resource$' "$folder/out" || complain "sharing-lies: no KMT-087"

# Two that take turns by a keyed mutex, and one that is killed while it holds one.
expect 0 '^0 wrong words' --local-memory 8M --record "$folder/mutexes.case" -- "$client" mutexes 2 20
grep -q ' 0 findings' "$folder/out" || complain "mutexes: findings"
plays_twice "$folder/mutexes.case"
DRYDOCK_NO_LANES=1 expect 0 '^0 wrong words' --local-memory 8M -- "$client" mutexes 1 5
expect 1 '^\([0-9]*\) of \1 right' -- "$client" mutexes-lie
for rule in 088 089 090; do
    grep -q "KMT-$rule .*keyed mutex 1 \|KMT-$rule .*keyed mutex 2 " "$folder/out" ||
        complain "mutexes-lie: no KMT-$rule"
done
grep -q ' 3 findings; clients ended' "$folder/out" || complain "mutexes-lie: not three findings"

# What is wrong gets its status, which is a finding of the rules; a wild list ends who hands it over.
expect 1 '18 of 18 answered as documented' -- "$client" lie
grep -q 'finding: KMT-017 ' "$folder/out" || complain "lie: the reservation is not told"
expect 1 'ended by signal 11' -- "$client" wild

# A client that dies costs another one nothing.
cat > "$folder/both" <<END
"$drydock" exec --join "$folder/socket" -- "$client" die 6 2 &
"$drydock" exec --join "$folder/socket" -- "$client" wild &
"$drydock" exec --join "$folder/socket" -- "$client" copy 8 2 3 || exit 1
"$drydock" exec --join "$folder/socket" -- "$client" lie
END
expect 1 '^0 wrong words' --local-memory 12M --socket "$folder/socket" -- sh "$folder/both"
grep -q '4 clients' "$folder/out" || complain "not four clients"
[ -e "$folder/socket" ] && complain "the socket is left"

# Clients that speak the protocol badly: the server ends in order, and others are served meanwhile.
for way in files endless abandon crowd cut words halves others sizes stuck shares; do
    # Who abandons calls waits for what nobody signals (KMT-042); files that name nothing are KMT-081.
    case $way in abandon|shares) status=1 ;; *) status=0 ;; esac
    expect $status '^server is well' -- "$build/app_hostile" $way
    grep 'finding: ' "$folder/out" | grep -qv 'KMT-042\|KMT-081' && complain "hostile $way: findings"
done
# Noise in lanes may be a call by chance of time, and then it breaks rules of calls, which is told.
"$drydock" exec -- "$build/app_hostile" lanes > "$folder/out" 2>&1
[ $? -le 1 ] && grep -q '^server is well' "$folder/out" || complain "hostile lanes"
grep 'finding: ' "$folder/out" | grep -qv 'finding: KMT-' && complain "hostile lanes: findings"

# A client that breaks a rule: told with the call's place in the client, in words and in JSON.
expect 1 'finding: KMT-004 D3DKMTEvict: a' --stacks -- "$client" careless
grep -q 'from  *evict' "$folder/out" || complain "careless: the call has no place"
grep -q '  careless[.a-z0-9]*+0x' "$folder/out" || complain "careless: the stack has one function"
expect 1 '"rule": "KMT-004"' --json -- "$client" careless
"$drydock" exec --json -- "$client" copy 4 1 1 > "$folder/json" 2> "$folder/out"
grep -q '"client_findings": \[$' "$folder/json" && grep -q '"is_advice": false' "$folder/json" &&
    complain "copy: findings in JSON"
if python3 -c 'import jsonschema' 2> "$folder/none"; then
    "$drydock" schema exec > "$folder/schema"
    python3 -c 'import json, sys, jsonschema
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' \
        "$folder/json" "$folder/schema" > "$folder/out" 2>&1 || complain "JSON is not as its schema"
fi

# What is evaluated is what the catalogue says is.
grep -Eo '^(QUEUE_|SHARING_|EVENT_)?RULE\([A-Z_]*, "KMT-[0-9]*"' "$source/src/bench/exec/client_rules.inc" | grep -o 'KMT-[0-9]*' \
    > "$folder/rules"
sed -n 's/^| \(KMT-[0-9]*\) .*| \(yes\|advice\)[^|]* |$/\1/p' "$source/data/d3dkmt/contract.md" |
    diff - "$folder/rules" > "$folder/out" || complain "the catalogue and client_rules.inc differ"

# A model that ends the process, or crashes in it: a sentence, and a status that is not 0.
plug_in() { # NAME, what its constructor does
    printf '#include <stdlib.h>\n__attribute__((constructor)) static void end(void) { %s; }\n' "$2" |
        cc -shared -fPIC -x c -o "$folder/$1.so" -
}
if command -v cc > "$folder/none"; then
    plug_in ends 'exit(0)'
    expect 2 'something has ended the process while clients were served, in the GPU model .*ends.so' \
        --gpu "$folder/ends.so" -- true
    plug_in crashes '*(volatile int *)8 = 1'
    expect 139 'ended by a signal while clients were served, in the GPU model .*crashes.so' \
        --gpu "$folder/crashes.so" -- true
fi

# One that is interrupted. What was made for the servers' sockets is gone then, as it is after all the others here.
"$drydock" exec -- sh -c 'echo "$1"/drydock-exec-*/socket; kill -TERM $PPID' sh "$TMPDIR" > "$folder/out" 2>&1
[ $? = 143 ] && grep -q "^$TMPDIR/drydock-exec-[^*]*/socket" "$folder/out" || complain "a server that is interrupted"
ls -A "$TMPDIR" | grep . && complain "servers have left something behind"
# Without a folder for it, and with one that has another name elsewhere, it is made in /tmp.
TMPDIR=$folder/none-such
expect 0 '0 clients' -- true
TMPDIR=tmp
(cd "$folder" && "$drydock" exec -- ls tmp) > "$folder/out" 2>&1
grep drydock-exec "$folder/out" && complain "a socket with a relative name"
TMPDIR=$folder/tmp

# Wrong command lines.
expect 2 'takes a program' --local-memory 8M
expect 2 'does not take .--colour' --colour red -- true
expect 2 'cannot start' -- "$folder/none"
expect 2 'local-memory' --local-memory 1K -- true
expect 0 '0 clients' -- true

exit $failed
