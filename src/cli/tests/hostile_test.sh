#!/bin/sh
# Files of somebody else on the command line: what they say is text, and nothing is waited for without end.
#
# Usage: hostile_test.sh PATH-OF-DRYDOCK PATH-OF-SOURCE
set -u
. "$(dirname "$0")/expect.sh"
cases=$2/cases
escape=$(printf '\033')

# Nothing of a terminal's or a build service's in what was printed.
is_plain() {
    ! LC_ALL=C grep -q "^ *::\|^##\[\|[^\\]##\[\|$escape\|$(printf '\007')\|$(printf '\342\200\256')" out err ||
        fail "$1 prints controls"
}

# Titles and names of steps and files.
title=$(printf '::error file=x::no\342\200\256 ##[error]')
cat >loud.case <<END
drydock-case 1
name "$title"
option model physical
alloc a size=4M
step ::error::x
submit c0 duration=5000 a:w
step second
submit c0 duration=5000 a:r
wait all
END
loud=./$(printf ':\033[31m.case')
cp loud.case "$loud"
for file in loud.case "$loud"; do
    expect 0 run "$file" -o "$file.run"
    is_plain "run"
    expect 0 replay "$file"
    is_plain "replay"
    expect 0 import "$file" -o "$file.out"
    is_plain "import"
    expect 2 shrink "$file"
    is_plain "shrink"
    expect 0 check "$file" --model physical --seeds 1 --jobs 1 -o "$file.check"
    is_plain "check"
    expect 0 merge "$file.check"
    is_plain "merge"
    expect 0 trace "$file.run"
    is_plain "trace"
    # A build that found no node makes no pages, and says so.
    page=0
    ! "$drydock" report "$file.run" 2>&1 | grep -q 'reports were left out of this build' || page=2
    expect $page report "$file.run"
    is_plain "report"
    expect 2 run "$file.none"
    is_plain "an error"
done
printf 'drydock-baseline 1\nVA-001-0123abcd  \033[2J\033]0;x\007 ##[error]\n' >known.txt
expect 0 check --model physical --seeds 1 --jobs 1 --baseline known.txt
prints '^gone VA-001-0123abcd  \\x1b'
is_plain "a baseline"
printf 'model = "physical"\nseeds = 1\nallow = ["PB-004"]\nprofile = "\\u001b[31m"\n' >drydock.toml
# 1: something is missing on this machine (node, say).
"$drydock" doctor --seconds 0 >out 2>err || [ $? -eq 1 ] || fail "doctor ends as no other does"
is_plain "doctor"
rm drydock.toml

# A pipe at whose other end nobody is does not hold a verb up for ever, and is told.
small="$cases/first-page-in.case"
drydock_ends() { # NAME STATUS WHAT ARGUMENTS...: in the background, as each takes five seconds
    (
        name=$1 wanted=$2 what=$3
        shift 3
        mkfifo "pipe.$name"
        timeout 30 "$drydock" "$@" >"told.$name" 2>&1
        got=$?
        [ $got -eq "$wanted" ] || echo "drydock $* exits with $got (expected $wanted)" >>"failed.$name"
        grep -q "$what" "told.$name" && grep -q "other end of this pipe\|cannot be read" "told.$name" ||
            echo "drydock $* does not name the pipe: $(tail -n 3 "told.$name")" >>"failed.$name"
    ) &
}
expect 0 run "$small" -o small.run
bad="--driver zoo:D37-fill-in-dwords --model physical"
expect 1 check $bad --seeds 2 --jobs 1 -o bad --shrink-seconds 1
drydock_ends baseline 2 "cannot read 'pipe.baseline'" check --seeds 1 --baseline pipe.baseline
drydock_ends settings 2 "cannot read 'pipe.settings'" check --seeds 1 --settings pipe.settings
drydock_ends surroundings 2 "cannot read 'pipe.surroundings'" run "$small" --no-out --gpu none --surroundings @pipe.surroundings
drydock_ends case 2 'pipe.case: cannot open' run pipe.case --no-out
drydock_ends replay 2 'pipe.replay: cannot open' replay pipe.replay
drydock_ends junit 2 "cannot write 'pipe.junit'" run "$small" --no-out --junit pipe.junit
drydock_ends sarif 2 "cannot write 'pipe.sarif'" check --model physical --seeds 1 --sarif pipe.sarif
drydock_ends merge 2 "cannot write 'pipe.merge'" merge bad --allow 'FILL-*' --sarif pipe.merge
drydock_ends calls 2 "cannot write 'pipe.calls'" run "$small" --model physical --no-out --calls pipe.calls
drydock_ends gen 2 'pipe.gen: cannot write' gen random -o pipe.gen
drydock_ends import 2 'pipe.import: cannot write' import "$small" -o pipe.import
drydock_ends shrink 2 'pipe.shrink: cannot write' shrink bad/findings/physical-1.case --seconds 1 -o pipe.shrink
drydock_ends trace 2 "cannot write 'pipe.trace'" trace small.run -o pipe.trace
drydock_ends text 2 "cannot write 'pipe.text'" trace small.run --text -o pipe.text
drydock_ends bounds 2 "pipe.bounds: cannot be read" bench pages --quick --bounds pipe.bounds
[ $page -eq 2 ] || drydock_ends report 2 "cannot write 'pipe.report'" report small.run -o pipe.report
wait
cat failed.* 2>/dev/null && fail "pipes without another end"
# The case that shrink has made is not lost.
grep -q '^drydock-case 1' told.shrink || fail "shrink loses what it has made"
mkfifo pipe
expect 2 trace pipe
says 'is no file'
expect 2 query pipe
says "cannot open 'pipe': it is no file"
expect 2 check --seeds 1 --db pipe
says "cannot open 'pipe': it is no file"
for option in gpu policy-file client-file; do
    expect 2 run "$small" --no-out --run-limit 20 --$option ./pipe
    says "pipe'?: it is no file"
done
# With somebody there all is as with any file.
cat pipe >taken &
expect 0 gen random -o pipe
wait
grep -q '^drydock-case 1' taken || fail "a pipe is not written"
(
    sleep 1
    cat "$small"
) >pipe &
expect 0 run pipe --no-out
wait

# What cannot be written is told before the work is done, or beside its results.
echo mine >file
for path in no/such/file file/x inner/..; do
    mkdir -p inner
    expect 2 shrink bad/findings/physical-1.case --seconds 20 -o $path
    says "^drydock: cannot write '$path'"
    expect 2 check --seeds 100000 --junit $path
    says "^drydock: cannot write '$path'"
    expect 2 run "$small" -o late.run --sarif $path
    says "^drydock: cannot write '$path'"
    [ ! -e late.run ] || fail "a run was played whose report cannot be written"
done
expect 2 check $bad --seeds 2 --jobs 1 --findings file --shrink-seconds 1 --junit late.xml
prints '^error FILL-005'
grep -q '<failure' late.xml || fail "the report of a campaign is lost"
# A file that was there is there until the new one is whole.
if [ -w /dev/full ]; then
    expect 2 check --model physical --seeds 1 --jobs 1 --junit /dev/full
    says "cannot write '/dev/full': No space left"
    (
        ulimit -f 1
        trap '' XFSZ
        echo mine >kept.xml
        "$drydock" merge bad --junit kept.xml >out 2>err
        [ $? -eq 2 ]
    ) || fail "a report that does not fit is no error"
    [ "$(cat kept.xml)" = mine ] || fail "a report that does not fit took the place of the old one"
    ! ls -A | grep -q partial || fail "half a report is left behind"
fi
# Standard files that are closed: nothing that is printed goes into another file.
(
    exec <&- >&- 2>&-
    "$drydock" run "$small" --model physical -o closed.run --calls closed.calls
)
for file in closed.calls closed.run/run.json closed.run/events.txt; do
    [ -s $file ] || fail "$file is not written"
    ! grep -q '^drydock: \|^first page-in: .* driver ref' $file || fail "$file has what was printed"
done
expect 0 trace closed.run --text

if [ $failures -ne 0 ]; then
    echo "$failures failed"
    exit 1
fi
echo "files of somebody else are text"
