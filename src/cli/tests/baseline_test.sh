#!/bin/sh
# Findings that are known or allowed, what failed last, a folder that begins anew: drydock check and merge.
#
# Usage: baseline_test.sh PATH-OF-DRYDOCK PATH-OF-SOURCE
set -u
. "$(dirname "$0")/expect.sh"
source=$2

bad="check --driver zoo:D37-fill-in-dwords --model physical --seeds 4 --jobs 2 --no-shrink"

# A baseline is written, and what it has does not fail.
expect 2 $bad --update-baseline
says 'needs the file to write'
expect 2 $bad --baseline none.txt
says "cannot read 'none.txt'"
expect 0 $bad --baseline known.txt --update-baseline
[ "$(head -1 known.txt)" = "drydock-baseline 1" ] || fail "the first line of a baseline"
id=$(grep -o '^FILL-005-[0-9a-f]*' known.txt)
[ -n "$id" ] || fail "FILL-005 is not in the baseline: $(cat known.txt)"
expect 0 $bad --baseline known.txt --junit known.xml --sarif known.sarif
prints "^known $id  .*\(in [0-9]+ runs?\)"
prints '^  baseline  0 new, [0-9]+ known, 0 allowed, 0 gone'
grep -q '^error' out && fail "a known finding is told whole"
grep -q '<failure' known.xml && fail "a known finding fails in JUnit"
grep -q "name=\"FILL-005\">" known.xml || fail "FILL-005 is not a name of a test"
grep -q "<skipped message=\"known: $id " known.xml || fail "no reason in JUnit"

# One that is not there fails, and one that is gone is told.
{
    cat known.txt
    echo 'VA-001-0123abcd  somewhere: something'
} | awk -v id="$id" '/^[^ ]/ { is_out = index($0, id) == 1 } !is_out' >more.txt
expect 1 $bad --baseline more.txt --junit new.xml --sarif new.sarif
prints '^error FILL-005'
prints "^  id         $id"
prints '^gone VA-001-0123abcd  somewhere: something'
grep -q "<failure type=\"FILL-005\"" new.xml || fail "a new finding passes in JUnit"
grep -q "  id         $id" new.xml || fail "the id is not in JUnit"
grep -q "\"drydockId/v1\": \"$id\"" new.sarif || fail "the id is not in SARIF"
expect 1 $bad --baseline more.txt --json
prints "\"id\": \"$id\""
prints '"state": "new"'
# Of a part nobody knows what is gone, and a known finding does not end a campaign.
expect 0 $bad --shard 1/2 --baseline known.txt
prints 'what is gone is not known'
expect 0 $bad --max-findings 1 --baseline known.txt
prints '^4 runs'

# Words that are allowed.
expect 0 $bad --allow FILL-005
prints "^allowed $id"
expect 0 $bad --allow PB-004 --allow 'FILL-*'
expect 0 $bad --allow "$id"
expect 1 $bad --allow PB-004
expect 2 $bad --allow FILL
says "option --allow: 'FILL' is no rule, area, kind or id"
printf 'drydock-baseline 1\nFILL-005\n' >wrong.txt
expect 2 $bad --baseline wrong.txt
says "wrong.txt:2: 'FILL-005' is no id of a finding"

# A folder: resumed, forced, and what failed once more.
expect 1 $bad -o dock
expect 2 $bad -o dock
says '--force begins anew'
echo mine >dock/findings/notes.md
expect 1 $bad -o dock --force
[ "$(wc -l <dock/results.jsonl)" -eq 4 ] || fail "--force did not begin anew"
[ -f dock/findings/notes.md ] || fail "--force took away what is not a campaign's"
mkdir other
echo mine >other/results.jsonl
expect 2 $bad -o other --force
[ "$(cat other/results.jsonl)" = mine ] || fail "--force took away what is no campaign's"
cp dock/results.jsonl kept
failed=$(grep -vc '"outcome":"clean"' dock/results.jsonl)
expect 1 $bad -o dock --rerun-failed
prints "^  rerun     $failed of $failed runs that had findings have some still"
prints "^$failed runs"
cmp -s kept dock/results.jsonl || fail "--rerun-failed changed the folder"
expect 0 $bad -o dock --rerun-failed --baseline known.txt
expect 2 check --driver ref --model physical -o dock --rerun-failed
says 'of another campaign'
expect 2 $bad -o dock --rerun-failed --resume
expect 2 $bad --rerun-failed
says '--rerun-failed needs the folder'
expect 0 check --driver ref --model physical --seeds 2 -o fine
expect 0 check --driver ref --model physical --seeds 2 -o fine --rerun-failed
prints '^0 runs'

# merge excuses what check excuses.
expect 1 merge dock --junit merged.xml
expect 0 merge dock --baseline known.txt
expect 0 merge dock --allow FILL-005
expect 0 merge dock --baseline merged.txt --update-baseline
grep -q "^$id" merged.txt || fail "merge wrote no baseline"

# A run knows what a campaign found.
expect_of_run() {
    wanted=$1
    shift
    expect "$wanted" run "$source/cases/main.case" --driver zoo:D37-fill-in-dwords --model physical --no-out "$@"
}
expect_of_run 1
expect_of_run 1 --baseline more.txt
grep -q '^error FILL-005' err || fail "run does not tell a new finding: $(head -3 err)"
expect_of_run 0 --baseline known.txt --junit run.xml
says "^known $id  "
grep -q '(in [0-9]* run' err && fail "run counts runs of a known finding"
grep -q '^error' err && fail "run tells a known finding whole"
grep -q '<failure' run.xml && fail "a known finding of a run fails in JUnit"
expect_of_run 2 --baseline none.txt
says "cannot read 'none.txt'"
expect_of_run 0 --allow 'FILL-*' --option seed=5
says "^allowed $id  "
expect_of_run 1 --allow PB-004
expect_of_run 2 --allow FILL
says "option --allow: 'FILL' is no rule, area, kind or id"
# It adds what it finds, once; what else the baseline has stays, comments too.
expect_of_run 2 --update-baseline
says 'needs the file to write'
expect_of_run 0 --baseline of-run.txt --update-baseline
says "^error FILL-005"
[ "$(head -1 of-run.txt)" = "drydock-baseline 1" ] || fail "the first line of a run's baseline"
[ "$(grep -c "^$id  " of-run.txt)" -eq 1 ] || fail "run does not write what it found once"
expect_of_run 0 --baseline of-run.txt
printf 'drydock-baseline 1\n# mine\nVA-001-0123abcd  somewhere: something' >extended.txt
expect_of_run 0 --baseline extended.txt --update-baseline
grep -q '^# mine$' extended.txt || fail "run --update-baseline lost a comment"
grep -q '^VA-001-0123abcd  somewhere: something$' extended.txt || fail "run lost a known finding"
grep -q "^$id  " extended.txt || fail "run added nothing: $(cat extended.txt)"
cp extended.txt kept.txt
expect_of_run 0 --baseline extended.txt --update-baseline
cmp -s extended.txt kept.txt || fail "run added what is known"
expect_of_run 0 --allow "$id" --baseline allowed.txt --update-baseline
grep -q "^$id" allowed.txt && fail "run made known what is allowed"

# JUnit is what Jenkins takes.
expect 1 run "$source/cases/main.case" --driver zoo:D37-fill-in-dwords --model both --no-out \
    --junit run.xml
if command -v python3 >/dev/null; then
    python3 "$source/src/cli/tests/junit_valid.py" known.xml new.xml merged.xml run.xml || fail "JUnit is not valid"
    sed 's/<testsuites /<testsuites skipped="1" /' new.xml >wrong.xml
    python3 "$source/src/cli/tests/junit_valid.py" wrong.xml >/dev/null && fail "junit_valid.py sees nothing"
fi

if [ $failures -ne 0 ]; then
    echo "$failures failed"
    exit 1
fi
echo "known findings are known"
