#!/bin/sh
# Ctrl-C: what there is until then, where it is, and how to go on.
#
# Usage: interrupt_test.sh PATH-OF-DRYDOCK
set -u
drydock=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
    echo "FAILED: $*"
    echo "  stdout: $(tail -n 3 out)"
    echo "  stderr: $(tail -n 3 err)"
    failures=$((failures + 1))
}
# interrupted SIGN ARGUMENTS...: Ctrl-C as soon as the command SIGN says so, however busy the machine is. A group of
# its own gets the signal, as the terminal's does; a shell's & would ignore it.
interrupted() {
    sign=$1
    shift
    setsid env --default-signal=INT "$drydock" "$@" >out 2>err &
    for i in $(seq 3000); do
        eval "$sign" || ! kill -0 $! 2>/dev/null && break
        sleep 0.2
    done
    kill -s INT -- -$!
    for i in $(seq 300); do
        kill -0 $! 2>/dev/null || break
        sleep 0.2
    done
    kill -s KILL -- -$! 2>/dev/null
    wait $!
    got=$?
    [ "$got" -eq 130 ] || fail "drydock $* exits with $got (expected 130)"
    grep -q '^drydock: interrupted\|; interrupted' err || fail "drydock $* does not say so"
}
is_going() { # it says how far it is
    grep -q '^drydock: .*/s' err
}

"$drydock" gen transformer layers=48 batch=32 steps=40 -o big.case --quiet || exit 1
interrupted is_going run big.case --local-memory 2G --model physical --out r --progress
grep -q '^drydock: interrupted; what is there is in r. To go on:$' err || fail "no folder"
grep -q '^  drydock run big.case --local-memory 2G --model physical --out r --progress$' err || fail "no command"
grep -q 'outcome  *[a-z]*, interrupted' out || fail "no summary"
grep -q 'operations played  *[1-9]' out || fail "nothing was played"
grep -q '"interrupted": true' r/run.json || fail "run.json does not say so"
[ -z "$(find . -name '*.partial*')" ] || fail "a partial folder is left"

# A campaign goes on where it was, and comes to the same digest as one that was not interrupted.
defect="check --driver zoo:D37-fill-in-dwords --model physical --jobs 2 --repeat 0 --no-shrink"
# shellcheck disable=SC2086
interrupted 'grep -qs FILL-005 dock/results.jsonl' $defect --seeds 100000 --out dock
grep -q '^error FILL-005' out || fail "the finding is not told"
grep -q ' runs, 1 cause, ' out || fail "no summary"
grep -q '^drydock: interrupted; what is there is in dock. To go on:$' err || fail "no folder"
grep -q "^  drydock $defect --seeds 100000 --out dock --resume$" err || fail "no command"
lines=$(wc -l <dock/results.jsonl)
seeds=$((lines + 20))
# shellcheck disable=SC2086
"$drydock" $defect --seeds "$seeds" --out dock --resume >out 2>err
grep -q "^$seeds runs" out || fail "the campaign does not go on"
resumed=$(grep -o 'digest of all [0-9a-f]*' out)
# shellcheck disable=SC2086
"$drydock" $defect --seeds "$seeds" >out 2>err
[ "$(grep -o 'digest of all [0-9a-f]*' out)" = "$resumed" ] || fail "what was interrupted is not the same"
interrupted is_going check --seeds 100000 --jobs 1 --progress
grep -q 'nothing of it is kept: with --out DIR a campaign can go on' err || fail "no word on --out"
interrupted is_going check --seeds 100000 --jobs 1 --progress --json
grep -q '"stopped_by": "interrupt"' out || fail "the JSON does not say so"

interrupted is_going zoo --no-shrink --jobs 2 --model physical --progress
grep -q ' defects found; in ' out || fail "no table until then"
grep -q 'the next row would have been ' err || fail "the next row is not told"

# The smallest case so far.
"$drydock" gen transformer layers=24 batch=16 -o large.case --quiet
sed -e '/^option \(model\|local-memory\)/d' -e '1a option driver zoo:D37-fill-in-dwords\noption model physical\noption local-memory 2G' large.case >bad.case
interrupted "grep -q '^drydock: shrink: ' err" shrink bad.case --seconds 1000 -o small.case --progress
grep -q 'small.case: FILL-005, [0-9]* operations, shrunk from [0-9]* in [0-9]* tries; interrupted' err ||
    fail "no case so far"
"$drydock" replay small.case --expect FILL-005 >out 2>err || fail "the case so far does not show it"

# No process stays.
sleep 0.5
left=$(pgrep -f "$work" || true)
[ -z "$left" ] || fail "processes are left: $left"

[ "$failures" -eq 0 ] && echo "all told and kept"
exit "$((failures != 0))"
