#!/bin/sh
# What the command line promises: exit statuses, messages, output that is whole or absent.
#
# Usage: cli_test.sh PATH-OF-DRYDOCK PATH-OF-SOURCE
set -u
. "$(dirname "$0")/expect.sh"
cases=$2/cases

# No folder, finished or half, and no other file than our own.
leaves_nothing() {
    left=$(find . -mindepth 1 ! -name out ! -name err ! -name '*.in' | head -3)
    [ -z "$left" ] || fail "left behind: $left"
}

# Usage.
expect 2
expect 0 --version
prints '^drydock [0-9]'
expect 0 --help
prints 'drydock run'
verbs=$(sed -n 's/^  drydock \([a-z]*\) .*/\1/p' out)
[ "$(echo "$verbs" | wc -l)" -ge 16 ] || fail "--help lists too few verbs"
for verb in $verbs; do
    expect 0 $verb --help
    prints "drydock $verb"
done
expect 2 rum
says "did you mean run"
# The forms that every command line has.
for form in -h "help" "--help"; do
    expect 0 $form
    prints 'drydock run'
done
expect 0 help check
prints '^drydock check'
cp out help.in
expect 0 check -h
cmp -s out help.in || fail "-h is not --help"
expect 0 check --seeds lots -h # whatever else stands there
expect 2 help chekc
says "did you mean check"
expect 2 help ru
says "verb 'ru' is the beginning of several: run, rules"
expect 0 expl PB-004 # an abbreviation
prints '^PB-004 '
expect 0 run "$cases/first-page-in.case" --no-o --mo both
prints 'GpuMmu'
expect 2 check --see 3 --f 2
says "option '--f' of 'check' is the beginning of several: .*--first-seed, --focus, --findings"
expect 0 check -qn2 -j1 --no-shrink
[ ! -s out ] || fail "-qn2 is not -q -n2"
expect 2 check -qx
says "unknown option '-qx' of 'check'"
expect 2 check --seeds=
says "'' is no number"
printf 'drydock-case 1\nalloc a size=4K\nsubmit c0 a:w\nread a\n' >./-dash.in
expect 2 replay -dash.in
says "unknown option '-dash.in'"
expect 0 replay -- -dash.in
expect 0 replay -q -- -dash.in
[ ! -s out ] || fail "-q before -- is not taken"
rm ./-dash.in help.in
expect 2 run
says "takes one case"
expect 0 options seed
prints '^seed  0 and up'
expect 2 options sead
says "did you mean seed"
expect 2 run "$cases/main.case" --page-tables magic
says "expected gpu-virtual\\|gpu-physical\\|cpu"
expect 2 check "$cases/main.case" --pool-guard nowhere
says "expected auto\\|none\\|end\\|begin"
expect 2 run "$cases/main.case" --locl-memory 1G
says "did you mean --local-memory"
expect 2 run "$cases/main.case" --local-memory
says "needs a value"
expect 2 run "$cases/main.case" --local-memory lots
expect 2 run "$cases/main.case" --model imaginary
says "expected physical, gpummu, iommu, both"
expect 2 run "$cases/main.case" --no-out=yes
says "takes no value"
expect 0 check -n2 -j1 --no-shrink --seeds=2
prints '^2 runs'
expect 2 check -j1x
says "1x"
expect 2 check -x2
says "unknown option '-x2'"
leaves_nothing

# Input that is wrong: one line with the place, and no output folder.
expect 2 run no-such-file.case
[ "$(wc -l <err)" -eq 1 ] || fail "more than one line for a missing file"
printf 'drydock-case 1\nalloc a size=4K\nread b\n' >unknown.in
expect 2 run unknown.in
says '^drydock: unknown.in:3: '
printf 'drydock-case 1\nalloc a size=4K\nfree a\nread a\n' >freed.in
expect 2 run freed.in
says '^drydock: freed.in:4: '
printf 'drydock-case 1\nalloc a size=99999999999999999999\n' >huge.in
expect 2 run huge.in
says '^drydock: huge.in:2: '
head -c 5000 /dev/urandom >junk.in
expect 2 run junk.in
expect 2 import junk.in -o junk.case
: >empty.in
expect 2 run empty.in
leaves_nothing
expect 2 run "$cases/first-page-in.case" --nodes 9
says "expected a number from 2 to 4"
expect 0 run "$cases/first-page-in.case" --nodes 4 --no-out
for model in physical gpummu iommu; do
    expect 0 run "$cases/first-page-in.case" --paging-buffer 64 --model $model --no-out
done
expect 2 run "$cases/first-page-in.case" --paging-buffer 63
leaves_nothing

# A run, its folder and its JSON.
expect 0 run "$cases/first-page-in.case" --model both --seed 7
prints 'mismatches'
for model in physical gpummu; do
    [ -s "runs/first-page-in-$model-7/run.json" ] || fail "no run.json for $model"
    [ -s "runs/first-page-in-$model-7/events.txt" ] || fail "no events for $model"
done
[ -z "$(find . -name '*.partial*')" ] || fail "a partial folder is left"
rm -rf runs
expect 0 run "$cases/first-page-in.case" --out one --events none
[ -s one/run.json ] || fail "no folder at --out"
expect 0 run "$cases/first-page-in.case" --model gpummu --out one
grep -q 'UPDATE_PAGE_TABLE .*NumPageTableEntries=.* < 0x00000000 written=' one/events.txt ||
    fail "the events do not say what was called with which fields, and what came of it"
expect 0 run "$cases/first-page-in.case" --out one
rm -rf one
# Interrupted: no half folder, and the status of the signal.
mkfifo calls.in
"$drydock" run "$cases/first-page-in.case" --out one --calls calls.in >out 2>err &
for i in 1 2 3 4 5 6 7 8 9 10; do
    [ -n "$(ls -d one.partial-* 2>/dev/null)" ] && break
    sleep 0.2
done
[ -n "$(ls -d one.partial-* 2>/dev/null)" ] || fail "no partial folder to interrupt"
kill -TERM $!
wait $! 2>/dev/null
[ $? -eq 143 ] || fail "an interrupted run does not end by the signal"
[ -z "$(find . -name '*.partial*')" ] || fail "an interrupted run leaves a partial folder"
mkdir theirs && : >theirs/letter
expect 2 run "$cases/first-page-in.case" --out theirs
says "is not the folder of a run"
[ -e theirs/letter ] || fail "a foreign folder was touched"
rm -rf theirs
expect 0 run "$cases/first-page-in.case" --no-out --json
for key in driver model seed digest wall_seconds virtual_time_ns slowdown paging_operations \
    evictions moved_in_bytes moved_out_bytes content peak_process_bytes; do
    prints "\"$key\":"
done
if grep -q '"[a-z_]*per_second": 0\|"paging_buffer_[a-z]*": 0' out; then
    fail "a default is shown as 0"
fi
prints '"page_table_updates": "gpu-virtual"'
expect 0 run "$cases/first-page-in.case" --no-out --json --model physical
prints '"page_table_updates": null'
expect 0 run "$cases/first-page-in.case" --no-out --json
leaves_nothing
grep -o '"digest": "[0-9a-f]*"' out >first.in
expect 0 run "$cases/first-page-in.case" --no-out --json
grep -o '"digest": "[0-9a-f]*"' out | cmp -s - first.in || fail "two runs, two digests"
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; json.load(open("out"))' || fail "not JSON"
fi

# A submission that does not fit: status 1, the line and the sizes, and the run goes on.
printf 'drydock-case 1\noption local-memory 4M\nalloc a size=3M segments=local\n' >large.in
printf 'alloc b size=3M segments=local\nsubmit c0 a:w b:w\nsubmit c0 a:w\nwait all\n' >>large.in
for model in physical gpummu; do
    expect 1 run large.in --model $model --no-out
    says "^error submission  large.in:5$"
    says "^  submission .* need [0-9]* bytes, [0-9]* are available"
    says "memory manager refuses it \\(RES-00[13]: "
    says "^  replay     drydock run large.in --model $model$"
done
leaves_nothing

# The catalogue.
expect 0 explain pb-004
prints '^  Windows   bug check 0x10E, parameter 1 = 0x12'
prints '^  Unlawful$'
prints 'zoo:D10-pointer-stays'
expect 2 explain PB-04
says 'did you mean PB-004'
expect 2 explain
says 'explain takes rules'
expect 0 explain TLB
prints '^TLB-007 '
expect 2 rules P
says "there is no rule 'P'"
expect 0 rules --json
prints '"id": "XFER-003"'
expect 0 rules KMT
prints '^KMT-004   client judged '
prints '^clients *[1-9][0-9]* rules: '
expect 0 rules
prints '^clients *[1-9][0-9]* rules: '
expect 0 rules PB
[ "$(grep -c KMT out)" = 0 ] || fail "rules PB lists those for clients"
expect 0 explain kmt-004 PB-004
prints '^KMT-004 '
prints 'https://learn.microsoft.com/windows-hardware/drivers/display/allocation-usage-tracking$'
prints '^PB-004 '
expect 0 explain KMT-005
prints 'drivers/ddi/d3dukmdt/ns-d3dukmdt-d3dddi_makeresident_flags$'
expect 2 explain KMT-4
says 'did you mean KMT-0'
printf '{"rule": "KMT-052"}' > told.json
expect 0 explain told.json
prints '^KMT-052 '
rm told.json
expect 2 rules --from no/such/folder
says "'no/such/folder' is no folder of drydock check or run"
expect 1 check --driver zoo:D10-pointer-stays --model physical --seeds 3 --jobs 1 --repeat 0 --out c.in
prints '^error PB-004  DxgkDdiBuildPagingBuffer\('
expect 0 rules --from c.in PB-004
prints '^PB-004    driver 1  checked   both   *[1-9][0-9,]*  *[1-9]'
expect 2 explain c.in/rules.json
says 'tells of no rule'
expect 0 explain PB-004 --from c.in
prints 'Evaluated [1-9]'
expect 1 merge c.in --out m.in --junit junit.in --sarif sarif.in
grep -q 'classname="drydock.PB" name="PB-004">' junit.in || fail "PB-004 did not fail in junit.in"
grep -q '"ruleId": "PB-004"' sarif.in || fail "PB-004 is not in sarif.in"
prints 'rules *[1-9][0-9]* of'
expect 0 rules --from m.in PB-004 --json
prints '"runs": 3'
expect 1 run "$cases/main.case" --model physical --driver zoo:D10-pointer-stays --out r.in
expect 0 explain r.in/run.json
prints '^PB-004 '
expect 0 rules --from r.in PB-004 --json
prints '"state": "checked"'
expect 0 explain content
expect 2 run "$cases/main.case" --driver zoo:D10-pointer-stay
says 'did you mean zoo:D10-pointer-stays'
rm -r c.in m.in r.in

# Reports and traces. A build without node says that it has no pages; the rest is the same.
expect 0 run "$cases/first-page-in.case" --model gpummu --out r.in
expect 0 run "$cases/first-page-in.case" --model gpummu --local-memory 64M --out s.in
expect 2 report
says 'report takes the folder'
if "$drydock" report r.in >out 2>err; then
    prints '^r.in/report.html'
    grep -q '<script type="application/json" id="facts">' r.in/report.html || fail "a page without facts"
    grep -q 'id="story"' r.in/report.html || fail "a page without a story"
    expect 0 report r.in --json
    prints '"report": "r.in/report.html"'
    expect 0 report r.in/ --out page.in
    [ -s page.in ] || fail "--out writes no page"
    expect 2 report r.in --out no/such/page.in
    says 'no/such/page.in'
    expect 0 run "$cases/first-page-in.case" --model gpummu --report --out r.in
    prints 'report     r.in/report.html'
    [ -s r.in/report.html ] || fail "run --report writes no page"
    # Text of a driver is no markup, whatever run.json says.
    mkdir hostile.in
    echo '{"case": "</script><script>alert(1)</script>", "outcome": "<!--"}' >hostile.in/run.json
    expect 0 report hostile.in
    says 'no record.ddr'
    grep -qi '<script>alert' hostile.in/report.html && fail "a case's name is markup"
    # What is cut or damaged is told, and shown as far as it goes.
    head -c 3000 r.in/record.ddr >hostile.in/record.ddr
    expect 0 report hostile.in
    says 'not whole'
    echo "no record" >hostile.in/record.ddr
    expect 0 report hostile.in
    says 'cannot be read'
    echo '[1' >hostile.in/run.json
    expect 2 report hostile.in
    says 'is no run'
    # A campaign, its causes, and several campaigns of one folder.
    expect 1 check --driver zoo:D10-pointer-stays --model physical --seeds 2 --jobs 1 --out docks.in/a
    expect 0 check --model physical --seeds 1 --jobs 1 --out docks.in/b
    expect 0 report docks.in/a
    prints '1 page of causes'
    [ -s docks.in/a/pages/PB-004-1/report.html ] || fail "a cause has no page"
    grep -q '"PB-004' docks.in/a/report.html || fail "the campaign's page has no cause"
    for page in docks.in/a/report.html docks.in/a/pages/PB-004-1/report.html; do
        grep -q '"case_text": *"drydock-case 1' $page || fail "$page has no text of the smallest case"
    done
    grep -q '"alternatives": *\[{' docks.in/a/report.html || fail "the campaign's page has no alternatives"
    expect 0 report docks.in/a --no-play --json
    prints '"causes": 1'
    [ -s docks.in/a/pages/PB-004-1.html ] || fail "a cause that is not played has no page"
    expect 0 report docks.in
    prints '^docks.in/report.html'
    expect 2 report docks.in/a --out page.in
    rm -r docks.in page.in hostile.in
else
    says 'reports were left out of this build'
    expect 2 run "$cases/first-page-in.case" --model gpummu --report --out r.in
    says 'reports were left out of this build'
fi
expect 2 run "$cases/first-page-in.case" --report --no-out
says 'needs the output folder'
# Two runs: with themselves, and with another.
expect 0 report --compare r.in r.in
prints 'the runs are the same'
expect 0 report --compare r.in s.in
prints 'the first difference'
prints 'machine.local_bytes'
expect 0 report --compare r.in s.in --json
prints '"is_same": false'
expect 2 report --compare r.in nowhere
says 'no run.json'
# Perfetto.
expect 0 trace r.in
prints '^r.in/run.pftrace'
[ -s r.in/run.pftrace ] || fail "there is no trace"
expect 0 trace r.in/record.ddr --out t.in --json
prints '"flows": [1-9]'
cp out counts.in
cmp -s t.in r.in/run.pftrace || fail "the same record is not the same trace"
expect 0 trace r.in --out - --no-calls
[ "$(wc -c <out)" -lt "$(wc -c <t.in)" ] || fail "--no-calls leaves nothing out"
if command -v protoc >/dev/null; then
    protoc -I "$2/src/report/trace" --decode=Trace trace.proto <t.in >decoded.in 2>err ||
        fail "protoc does not decode the trace"
    begun=$(grep -c 'type: TYPE_SLICE_BEGIN' decoded.in)
    ended=$(grep -c 'type: TYPE_SLICE_END' decoded.in)
    [ "$begun" -gt 10 ] && [ "$begun" -eq "$ended" ] || fail "$begun slices begin, $ended end"
    grep 'flow_ids' decoded.in | sed 's/.*flow_ids: //' | sort | uniq -c | grep -qv '^ *2 ' &&
        fail "a flow has not two ends"
    grep -qE '^    [0-9]+: ' decoded.in && fail "the trace has fields that trace.proto does not"
    # What drydock says that it has written is what protoc finds.
    for kind in 'tracks  track_descriptor' 'slices type: TYPE_SLICE_BEGIN' 'instants type: TYPE_INSTANT' \
        'counters type: TYPE_COUNTER' 'flows    flow_ids:' 'flows    terminating_flow_ids:'; do
        said=$(sed -n "s/^  \"${kind%% *}\": \([0-9]*\),*$/\1/p" counts.in)
        found=$(grep -c "${kind#* }" decoded.in)
        [ "$said" = "$found" ] || fail "${kind%% *}: $said were told, and protoc finds $found (${kind#* })"
    done
    # A client's waits for fences, on the CPU and on the GPU.
    expect 0 run "$cases/client/asked-for.case" --model gpummu --out fences.in
    expect 0 trace fences.in --out fences-trace.in
    protoc -I "$2/src/report/trace" --decode=Trace trace.proto <fences-trace.in >decoded.in 2>err ||
        fail "protoc does not decode the trace with fences"
    for name in 'wait for a fence' 'the fence has the value' 'waits for fences' 'paging_fence 2'; do
        grep -q "\"$name\"" decoded.in || fail "the trace has no \"$name\""
    done
    rm -r decoded.in fences.in fences-trace.in
else
    echo "skipped: protoc is not installed, and the trace was read by our own decoder alone"
fi
expect 0 trace r.in --text
prints '> DxgkDdiBuildPagingBuffer'
prints '< DxgkDdiStartDevice'
expect 0 trace r.in --text --events paging --out lines.in
[ "$(wc -l <lines.in)" -gt 0 ] || fail "--text --events paging writes no lines"
rm lines.in counts.in
expect 2 trace r.in --events all
says "is 'paging' or 'all', and for --text"
expect 2 trace nowhere
says 'cannot read'
mkdir bare.in
expect 2 trace bare.in
says 'no record.ddr'
echo "no record" >bare.in/record.ddr
expect 2 trace bare.in
says 'bare.in/record.ddr'
expect 2 report bare.in
rm -r r.in s.in t.in bare.in

# What each seed has although few draw it.
expect 1 check --driver zoo:D45-special-half --model physical --seeds 3 --jobs 1 --no-shrink \
    --focus 'wishes=yes ops=1000'
prints 'SLT-004'
prints "first-seed [0-9]* --seeds 1 --focus 'wishes=yes ops=1000'"
# The whole case of each run: it has the run's digest.
mkdir whole.in
expect 0 check --first-seed 5 --seeds 2 --jobs 1 --repeat 0 --out whole.in/campaign --cases whole.in/cases
for seed in 5 6; do
    expect 0 run whole.in/cases/seed-$seed.case --no-out --json
    digest=$(sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p' out | head -1)
    grep -q "\"digest\":\"$digest\".*\"seed\":$seed," whole.in/campaign/results.jsonl || fail "seed $seed is not $digest"
done
expect 0 check "$cases/evict-and-restore.case" --seeds 1 --jobs 1 --cases whole.in/cases
[ -s whole.in/cases/seed-1-evict-and-restore.case ] || fail "no whole case of a campaign over a case"
expect 2 check --seeds 1 --jobs 1 --cases /dev/null/cases
says 'cannot make'
rm -r whole.in
expect 2 check --seeds 1 --focus 'wishez=yes'
says "unknown parameter 'wishez=yes'"

# The zoo.
expect 0 zoo --list
prints '^D10-pointer-stays .* pgi '
expect 0 zoo D10-pointer-stays --model physical --seconds 2
prints '^D10-pointer-stays *physical *found *[0-9]* *[0-9]* *[0-9]* *1 *PB-004'
prints '^1 of 1 defects found; in 1 of 1 models'
expect 0 zoo D10-pointer-stays --model physical --no-shrink --json
for key in id model found expected_rules rules seeds operations causes blames_manager; do
    prints "\"$key\":"
done
prints '"shrunk_lines": null'
expect 1 zoo D37-fill-in-dwords --model physical --seeds 1 --no-shrink D03-wants-private
prints 'D03-wants-private *physical *NOT FOUND'
expect 2 zoo no-such-defect
says 'no defect of that name'
expect 2 zoo --most-causes none
says "option --most-causes"
expect 2 zoo --seconds none
says "option --seconds"

# The same findings for other tools.
expect 1 run large.in --model both --no-out --junit junit.in --sarif sarif.in
grep -q '<testsuite name="large.in, physical" tests=' junit.in || fail "no suite in junit.in"
grep -q '"uri": "large.in"' sarif.in || fail "no place in sarif.in"
expect 2 run large.in --model gpummu --no-out --junit no/such/folder
says "cannot write 'no/such/folder'"
leaves_nothing

# A case that stands alone: made smaller, played again.
printf 'drydock-case 1\noption driver zoo:D10-pointer-stays\noption seed 5\n' >bad.in
printf 'alloc a size=64K\nalloc b size=64K\nsubmit c0 a:w b:w\nwait all\nread a\n' >>bad.in
expect 1 replay bad.in
prints '^error PB-004  DxgkDdiBuildPagingBuffer'
expect 0 replay bad.in --expect PB-004
expect 1 replay bad.in --expect PB-005
expect 2 replay bad.in --expect PB-0
says "there is no rule 'PB-0'"
expect 0 shrink bad.in -o small.in
says '^small.in: PB-004, [0-9]* operations, shrunk from 5 in'
grep -q '^# PB-004: ' small.in || fail "the file does not say what it shows"
grep -q '^option seed' small.in && fail "an option that is not needed is left"
expect 0 replay small.in --expect PB-004
expect 2 shrink "$cases/first-page-in.case"
says 'nothing is found in this case'
expect 0 replay "$cases/first-page-in.case"
leaves_nothing

# Code that a case names is loaded when the user says so; what the command line names always is.
printf 'drydock-case 1\noption seed 5\noption gpu ./model.so\nalloc a size=64K\nsubmit c0 a:w\nwait all\n' >gpu.in
printf 'drydock-case 1\noption driver ./evil.sys\nalloc a size=64K\nsubmit c0 a:w\nwait all\n' >driver.in
for verb in "run --no-out" replay shrink "check --seeds 1 --no-shrink" ops; do
    # shellcheck disable=SC2086
    expect 2 $verb gpu.in
    says 'gpu.in:3: option gpu ./model.so: the case would have this file loaded as code \(expected --trust-case'
done
printf 'drydock-case 1\noption policy-file policy.so\nalloc a size=64K\n' >policy.in
printf 'drydock-case 1\noption client-file client.so\nalloc a size=64K\n' >client.in
for verb in "run --no-out" replay shrink "check --seeds 1 --no-shrink" ops; do
    for file in policy client; do
        # shellcheck disable=SC2086
        expect 2 $verb $file.in
        says "$file.in:2: option $file-file $file.so: the case would have this file loaded as code"
    done
done
expect 2 run --no-out policy.in --trust-case
says "policy 'policy.so': "
expect 2 run --no-out client.in --trust-case
says "client 'client.so': "
expect 2 run --no-out gpu.in --trust-case
says './model.so: No such file'
expect 1 replay gpu.in --trust-case
prints './model.so: No such file'
expect 1 check --seeds 1 --no-shrink gpu.in --trust-case
prints 'replay  *drydock check gpu.in --driver ref .* --trust-case$'
for verb in "run --no-out" replay shrink ops; do
    # shellcheck disable=SC2086
    expect 2 $verb driver.in
    says 'driver.in:2: option driver ./evil.sys: the case would have this file loaded as code'
done
expect 2 replay driver.in --trust-case
says 'evil.sys: '
expect 0 run driver.in --no-out --driver ref
expect 2 shrink driver.in --driver ref
says 'nothing is found'
expect 0 run gpu.in --no-out --gpu sgpu
expect 0 run gpu.in --no-out --option gpu=sgpu
expect 0 check driver.in --seeds 1 --no-shrink
leaves_nothing

# A campaign writes the smallest case of each cause.
expect 1 check --driver zoo:D10-pointer-stays --seeds 2 --findings found.in
prints 'replay *drydock replay found.in/PB-004-1.case    \([0-9]* lines*, shrunk from [0-9,]*\)'
expect 0 replay found.in/PB-004-1.case --expect PB-004
rm -rf found.in
expect 1 check --driver zoo:D10-pointer-stays --seeds 2 --findings found.in --no-shrink
leaves_nothing
expect 0 check --profile list
prints '^default '
expect 2 check --profile strct
says "unknown profile 'strct'"
expect 0 check --profile strict-dma-size-lowered --seeds 2 --model gpummu
expect 0 gen random -o leaves.case
sed -i '1a option lowers-dma-size no' leaves.case
expect 1 check leaves.case --profile strict-dma-size-lowered --seeds 2 --model gpummu
prints '^error PB-007'
prints 'profile strict-dma-size-lowered'
rm leaves.case
expect 2 check --profile wddm-1 --model gpummu
says 'no level of the gpummu model in profile wddm-1'

# Making and converting cases.
expect 0 gen
prints 'transformer'
expect 2 gen transfromer
says "did you mean transformer"
expect 2 gen transformer no-such-parameter=1
expect 2 gen clients=x
says "decode is 'x'"
leaves_nothing
expect 0 gen clients=2 busy-ms=10 decode-set=64M bandwidth=10 -o two.case
grep -q "clients: 2 decode" two.case || fail "clients=2 does not make two processes"
expect 0 run two.case --model gpummu --no-out
prints 'fairness \(Jain\)  *[01]\.[0-9]'
prints 'ideal, throughput .*, 0\.[0-9]* of it'
expect 0 run two.case --model gpummu --no-out --json
prints '"name": "decode1"'
prints '"ideal_ns": [1-9]'
prints '"fairness": [01]\.[0-9]'
rm two.case
expect 0 gen random -o random.case
expect 0 run random.case --no-out --model both
expect 0 import random.case -o again.case
cmp -s random.case again.case || fail "import changed a case"
expect 0 import random.case -o -
cmp -s random.case out || fail "import to standard output changed a case"
cp random.case kept
mkdir behind
ln -s ../random.case behind/link.case
ln random.case behind/random.trace
for input in random.case ./random.case behind/link.case behind/random.trace; do
    expect 2 import "$input" -o random.case
    says '^drydock: .random\.case. would be written over itself'
done
expect 2 import random.case
cmp -s random.case kept || fail "import wrote over its input"
rm -r behind

# A mark of UTF-8 is no part of a text; UTF-16 is named.
printf '\357\273\277' | cat - random.case >marked.in
expect 0 import marked.in -o again.case
cmp -s random.case again.case || fail "a mark of UTF-8 changed a case"
printf '\357\273\277A 0 4096\n' >marked.in
expect 2 import marked.in -o trace.case
says '^drydock: marked.in:1: '
for mark in '\377\376d\0' '\376\377\0d'; do
    printf "$mark" >wide.in
    expect 2 run wide.in
    says 'wide.in: a text in UTF-16 \(expected UTF-8\)$'
done
printf '\357\273\277' >marked.in
expect 2 run marked.in

# Output goes to what stands there; only files are replaced.
mkdir elsewhere
: >elsewhere/real.case
chmod 640 elsewhere/real.case
ln -s elsewhere/real.case link.case
expect 0 gen random -o link.case
[ -L link.case ] || fail "a link was replaced"
cmp -s random.case elsewhere/real.case || fail "what the link leads to was not written"
[ "$(stat -c %a elsewhere/real.case)" = 640 ] || fail "the mode of the file is another"
ln -s elsewhere/new.case dangling.case
expect 0 gen random -o dangling.case
[ -L dangling.case ] || fail "a link to nothing was replaced"
cmp -s random.case elsewhere/new.case || fail "what the link was to lead to was not written"
mkfifo pipe.case
cat pipe.case >piped.case &
expect 0 import random.case -o pipe.case
wait $!
[ -p pipe.case ] || fail "a pipe was replaced"
cmp -s random.case piped.case || fail "the pipe carried something else"
if mknod full c 1 7 2>/dev/null; then # a device without room, where one can be made
    expect 2 gen random -o full
    says "cannot write: "
    [ -c full ] || fail "a device was replaced"
fi
[ -z "$(find . -name '*.partial*')" ] || fail "a partial file is left"
expect 0 gen random --json
for key in generator case operations allocations steps peak_live_bytes; do
    prints "\"$key\":"
done
expect 0 gen --json
prints '"name": "transformer"'
expect 0 rules XFER-010
prints '\(tests alone: the page lets hAllocation be NULL'
expect 0 rules XFER-001
! grep -q 'tests alone' out || fail "campaigns evaluate XFER-001"
expect 0 ops "$cases/first-page-in.case"
prints 'VIRTUAL_TRANSFER'
expect 0 ops "$cases/first-page-in.case" --json
prints '"TRANSFER"'
prints '"varied"'
expect 1 ops "$cases/first-page-in.case" --check
expect 2 ops no-such-folder
expect 0 ops --seeds 2
prints '^[1-9][0-9]* arms: [1-9][0-9]* seen'
cp out seeds.txt
expect 0 ops --seeds 2 --first-seed 9
! cmp -s seeds.txt out || fail "--first-seed is not the first seed"
rm seeds.txt
expect 0 ops --seeds 2 --json
prints '"varied"'
expect 2 ops --seeds 0
expect 2 ops --seeds 2 "$cases/first-page-in.case"

# An application; tests/apps/exec.sh has more.
expect 0 exec --help
prints 'drydock exec'
expect 2 exec
expect 2 exec --local-memory 64M
expect 2 exec --local-memory no -- true

# What a driver image imports, and what of that is here.
expect 0 imports --help
prints 'drydock imports'
expect 2 imports
says "takes one driver image"
expect 2 imports no-such.sys
says "no-such.sys: No such file"
printf 'MZ' >short.sys
expect 2 imports short.sys
says "short.sys: "
if command -v clang >/dev/null && command -v lld-link >/dev/null; then
    printf '#include <dispmprt.h>\nNTSTATUS DriverEntry(PDRIVER_OBJECT d, PUNICODE_STRING p)\n' >imports.c
    printf '{ DbgPrintEx(0, 0, "x"); return DxgkInitialize(d, p, 0); }\n' >>imports.c
    expect 0 cc -o imports.sys imports.c
    expect 0 imports imports.sys
    prints "DbgPrintEx  *bench has it"
    prints "DxgkInitialize  *bench has it"
    printf '#include <wdm.h>\nvoid take(PVOID text);\nvoid give(void) { take("VBE2"); }\n' >literal.cpp
    expect 2 cc -c -o literal.o literal.cpp
    says "1 string literal for a PVOID: Microsoft's C\+\+ compiler takes that"
    printf 'int KeWhatNobodyHas(void);\nint DriverEntry(void) { return KeWhatNobodyHas(); }\n' >lacks.c
    expect 0 cc -o lacks.sys lacks.c
    expect 1 imports lacks.sys
    prints "KeWhatNobodyHas  *calling it is a finding"
    expect 1 imports lacks.sys --json
    prints '"missing_count": 1'

    # A driver that registers by the device of the graphics kernel, as the WDK's static library does.
    objects=
    ln -s "$cases/../src/refkmd" refkmd # its names have no blanks
    for file in $(find refkmd/ -name '*.c' | sort); do
        case $file in *_test.c | */test_*.c) continue ;; esac
        expect 0 cc -c -DDxgkInitialize=LibraryInitialize -I"$cases/../include" -I"$cases/../src" \
            "$file" -o "$(basename "$file" .c).obj"
        objects="$objects $(basename "$file" .c).obj"
    done
    # shellcheck disable=SC2086
    expect 0 cc -o library.sys --entry RefKmdDriverEntryGpuMmu "$cases/../tests/images/displib.c" $objects
    expect 0 imports library.sys
    if grep -q DxgkInitialize out; then
        fail "the library imports DxgkInitialize"
    fi
    expect 0 run "$cases/first-page-in.case" --model gpummu --driver ./library.sys --gpu sgpu --no-out
else
    echo "not tested without clang and lld-link: drydock imports of an image"
fi

# Driver images from source: header names of any case, trace functions that a header declares, C++.
if command -v clang >/dev/null && command -v lld-link >/dev/null && command -v llvm-dlltool >/dev/null; then
    mkdir -p source/parts
    cat >source/parts/Trace.h <<'END'
// begin_wpp config
// FUNC TRACE_IT{LEVEL=TRACE_LEVEL_ERROR, FLAGS=GENERAL}(MSG, ...);
// FUNC MUST{LEVEL=TRACE_LEVEL_CRITICAL, FLAGS=GENERAL}(MUST_EXP);
// end_wpp
extern "C" int g_failures;
#define WPP_CONTROL_GUIDS WPP_DEFINE_CONTROL_GUID(Own, (1, 2, 3, 4, 5), WPP_DEFINE_BIT(GENERAL))
#define WPP_LEVEL_FLAGS_MUST_EXP_POST(LEVEL, FLAGS, EXP) \
    , ((EXP) ? 0 : (g_failures += 1 + WPP_BIT_##FLAGS))
END
    cat >source/driver.cpp <<'END'
#include <ntddk.h>
#include <WppRecorder.h>
#include <new>
#include "TRACE.H"
#include "driver.tmh"
int g_failures;
struct thing { thing() : value(3) {} int value; };
extern "C" NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    alignas(thing) unsigned char room[sizeof(thing)];
    ULONG shown = 0;
    WPP_INIT_TRACING(Driver, Path);
    TRACE_IT("shown: %d", ++shown);
    MUST(shown == 2);
    WPP_CLEANUP(Driver);
    return (new (room) thing())->value == 3 && g_failures == 1 ? STATUS_SUCCESS : NotThere(shown);
}
END
    sed -i 's/^int g_failures/extern "C" NTSTATUS NotThere(ULONG);\n&/' source/driver.cpp
    expect 0 cc -o driver.sys -Isource/parts source/driver.cpp
    says 'imports what the bench does not have; a call is a finding: NotThere$'
    [ -s driver.sys ] || fail "no image"
    echo 'int broken(' >source/first.c
    echo 'int also_broken(' >source/second.c
    expect 2 cc -o none.sys source/first.c source/second.c
    says second.c
    [ ! -e none.sys ] || fail "an image of source that does not compile"

    # What the documentation says of each name that is not there; all of it at once with --report.
    cat >source/unknown.c <<'END'
#include <WDM.H>
#include "not_there.h"
END
    cat >source/names.c <<'END'
#include <NTDDK.h>
PFS_FILTER_CALLBACKS filters;
NTSTATUS DriverEntry(PDRIVER_OBJECT d, PUNICODE_STRING p)
{
    d->NoSuchMember = 0;
    return MY_OWN_THING(p) + IoReportTargetDeviceChange(0, 0);
}
END
    expect 2 cc -o none.sys source/unknown.c source/names.c
    says "error: .*not_there.h' file not found"
    says 'drydock: 5 unknown names:'
    says 'headers that no folder has'
    says 'not_there.h  used as a header'
    says 'FS_FILTER_CALLBACKS  .*, ntifs.h'
    says 'IoReportTargetDeviceChange  function, wdm.h'
    says '_DRIVER_OBJECT.NoSuchMember  used as a member'
    says 'MY_OWN_THING  used as a function, spelled like a macro'
    expect 2 cc --report -o none.sys source/unknown.c source/names.c
    prints 'drydock: 5 unknown names:'
    [ ! -s err ] || fail "cc --report shows the messages of the compiler"
    expect 0 cc --report -o imports.sys imports.c
    prints 'no unknown name'
    printf 'int MmGetMdlVirtualAddress(int);\nint DriverEntry(void) { return MmGetMdlVirtualAddress(1); }\n' \
        >macro.c
    expect 0 cc -o macro.sys macro.c
    says 'documented macros, and missing here'
    says 'MmGetMdlVirtualAddress  macro, wdm.h'

    # A driver that does not register is told what it did instead.
    unregistered() {
        printf '#include <ntddk.h>\nNTSTATUS NTAPI WdfVersionBind(PVOID d, PVOID p, PVOID i, PVOID t);\n' >entry.c
        printf 'NTSTATUS NTAPI DxgkInitializeDisplayOnlyDriver(PVOID d, PVOID p, PVOID t);\n' >>entry.c
        printf 'NTSTATUS DriverEntry(PDRIVER_OBJECT d, PUNICODE_STRING p) { return %s; }\n' "$1" >>entry.c
        expect 0 cc -o entry.sys entry.c
        expect 2 run "$cases/main.case" --driver ./entry.sys
        says "DriverEntry did not register the driver: $2"
    }
    unregistered 'd && p ? STATUS_SUCCESS : 1' 'it returned success and did not call DxgkInitialize'
    unregistered 'WdfVersionBind(d, p, 0, 0)' 'it returned .*0xc0000002 STATUS_NOT_IMPLEMENTED; .*WdfVersionBind.*KMDF'
    unregistered 'DxgkInitializeDisplayOnlyDriver(d, p, 0)' 'it returned the status 0xc000000d STATUS_INVALID_PARAMETER$'
    unregistered 'd && p ? STATUS_NO_MEMORY : 1' 'it returned the status 0xc0000017 STATUS_NO_MEMORY$'

    # A configuration of WPP without the word FUNC, its message in parentheses of its own.
    cat >source/parts/nested.h <<'END'
// begin_wpp config
// USEPREFIX (TellIt, "%!STDPREFIX!");
// TellIt{FLAG = ALL}(LEVEL, (MSG, ...));
// end_wpp
END
    printf '#include <ntddk.h>\n#include "nested.tmh"\nNTSTATUS DriverEntry(PDRIVER_OBJECT d, PUNICODE_STRING p)\n' \
        >source/nested.c
    printf '{ int shown = 0; TellIt(3, ("%%p %%d", p, ++shown)); return d ? shown : 0; }\n' >>source/nested.c
    expect 0 cc -o nested.sys -Isource/parts source/nested.c

    # Mistakes on the command line, told before anything runs.
    expect 2 cc -o
    says "cc: -o takes a file"
    expect 2 cc imports.c --entry
    says "cc: --entry takes a name"
    expect 2 cc -o nowhere/x.sys imports.c
    says "cc: cannot write nowhere/x.sys: there is no folder nowhere/"
    expect 2 cc -o source imports.c
    says "cc: cannot write source: Is a directory"
    expect 2 cc imports.c -o imports2.c
    says "is the name of a source"
    expect 2 cc -o none.sys --entry NoSuchEntry imports.c
    says "cc: no source has NoSuchEntry, where the driver begins"
    [ ! -e none.sys ] || fail "an image that begins nowhere"

    # What is made on the way is in a folder of its own, which goes with the verb, however that ends.
    mkdir temporary programs
    TMPDIR=$PWD/temporary
    export TMPDIR
    expect 0 cc -o imports.sys imports.c
    [ -z "$(ls temporary)" ] || fail "cc leaves $(ls temporary)"
    printf '#!/bin/sh\nls "$TMPDIR" >seen\nexec sleep 60\n' >programs/clang
    chmod +x programs/clang
    PATH=$PWD/programs:$PATH "$drydock" cc -o slow.sys imports.c 2>err &
    pid=$!
    for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        [ -s seen ] && break
        sleep 0.2
    done
    grep -q drydock-cc seen || fail "cc does not use TMPDIR"
    kill -TERM $pid
    wait $pid
    [ $? -eq 143 ] || fail "cc ends otherwise than by the signal"
    [ -z "$(ls temporary)" ] || fail "an interrupted cc leaves $(ls temporary)"
    TMPDIR=$PWD/nowhere
    expect 2 cc -o imports.sys imports.c
    says "cc: cannot make a folder in .*/nowhere for what is made on the way: No such file"
    unset TMPDIR
fi

# What is no driver image.
mkfifo pipe.sys
: >empty.sys
for file in /dev/null pipe.sys empty.sys . nothing.sys; do
    expect 2 imports "$file"
    says "$file: "
    expect 2 run "$cases/main.case" --driver "./$file" --no-out
done

# What this machine has.
"$drydock" doctor --seconds 1 >out 2>err
case $? in 0 | 1) ;; *) fail "doctor" ;; esac
prints 'speed  *[0-9]* seeds of drydock check a second on [0-9]* processor'
prints '^  [a-zA-Z]*  *seccomp '
PATH=/nowhere "$drydock" doctor --seconds 0 --quiet >out 2>err
[ $? -eq 1 ] || fail "doctor finds a compiler nowhere"
prints '^  MISSING  clang  *not in PATH$'
prints '^           for cc \(Debian: clang\)$'
prints '^  absent   llvm-symbolizer '
expect 2 doctor --seconds forever

# A driver to begin from.
expect 2 new
says "takes one name"
expect 2 new 9lives
says "is no name for a driver"
expect 2 new "my gpu"
says "it has a ' '"
expect 0 new My-gpu
prints 'make check'
for file in My-gpu.c Makefile CMakeLists.txt My-gpu.case .github/workflows/drydock.yml; do
    [ -s "My-gpu/$file" ] || fail "drydock new made no $file"
done
! grep -rqi -e softcopy -e '@[A-Z]*@' My-gpu || fail "a word of the template is left"
expect 2 new My-gpu
says "there already, and nothing is overwritten"
expect 0 new --cpp mygpu
[ -s mygpu/mygpu.cpp ] || fail "no C++ source"
if command -v clang >/dev/null && command -v lld-link >/dev/null && command -v llvm-dlltool >/dev/null; then
    for folder in My-gpu mygpu; do
        make -C $folder DRYDOCK="$drydock" SEEDS=10 $folder.sys check >out 2>err ||
            fail "make check of a new driver"
        prints "findings  0 runs, 0 causes"
        [ ! -s err ] || fail "a new driver does not build quietly"
    done
    make -C mygpu DRYDOCK="$drydock" mistake >out 2>err && fail "the mistake is not found"
    prints "error XFER-006"
fi

[ "$failures" -eq 0 ] && echo "all as promised"
exit "$((failures != 0))"
