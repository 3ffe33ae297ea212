#!/bin/bash
# Whatever a driver does, it is a finding in every verb that plays it, the verb ends as it always ends, and
# nobody else is harmed.
#
# The reference driver as an image, with a fault in one of its functions (tests/images/faults.c). Faults from
# 20 on that ask the system, those from 40 to 79 and from 90 on, are attacks: each is played by `drydock check`, `run`,
# `replay` and `zoo`; other faults by `drydock check`. `all` are some thousand plays: each fault in each function.
#
# Usage: faults.sh DRYDOCK SOURCE few|all [LINES, an expression: those of the list that match it]
# With `one` it plays a line of its list; it calls itself so, a few at a time.
set -u
drydock=$(realpath "$1")
source=$(realpath "$2")
which=$3

ddis="AddDevice StartDevice StopDevice RemoveDevice QueryAdapterInfo CreateProcess DestroyProcess
CreateDevice DestroyDevice CreateContext DestroyContext CreateAllocation DestroyAllocation
OpenAllocation CloseAllocation BuildPagingBuffer SubmitCommandVirtual PreemptCommand
QueryCurrentFence ResetEngine SetRootPageTable GetRootPageTableSize InterruptRoutine DpcRoutine
SetPowerState DescribeAllocation Unload"
lies="QueryAdapterInfo CreateProcess CreateDevice CreateContext CreateAllocation DestroyAllocation
OpenAllocation CloseAllocation BuildPagingBuffer SubmitCommandVirtual PreemptCommand SetRootPageTable"
overwritten="the driver has overwritten .*, which it may only read; the bench goes on"
lawful=L01-power-status # a driver of which the zoo has nothing to say

# Number and name of each fault, and what the finding says of it: its kind or rule, and a part of what it
# tells. Of nearly all it tells where the driver was: in do_fault().
table=$(cat <<'TABLE'
1 write-through-null crashed bug check 0x(1e|d1) .*0x8
2 loop hung no end within .*: the driver does not return from DxgkDdi
3 stack crashed bug check 0x7f UNEXPECTED_KERNEL_MODE_TRAP.*more than the 24 KiB
4 jump-into-data crashed bug check 0x(fc|d1) .*: the driver executes 0x
5 call-null crashed bug check 0x(1e|d1) .*execut.* 0x0
6 run-the-stack crashed bug check 0x(fc|d1) .*: the driver executes 0x
7 write-to-a-constant crashed bug check 0x(be|d1) .*writes to 0x
8 write-to-code crashed bug check 0x(be|d1) .*writes to 0x
9 bug-check driver bug check 0xdead .0x1, 0x2, 0x3, 0x4.
10 lose-a-register driver does not preserve rsi, .*: 0x5f9d3a6b7c41e820 when it was called, 0x0 when it returned
80 lose-a-vector-register driver does not preserve xmm6,
81 direction-left-set driver does not preserve the direction flag,
82 lose-the-x87-control-word driver does not preserve the x87 control word, .*: 0x[0-9a-f]+ when it was called, 0x27f when
83 leave-mmx-in-use driver does not preserve the tag word of the x87 and MMX registers,
84 lose-the-mxcsr driver does not preserve the control bits of MXCSR, .*, 0x7f80 when it returned
85 lose-the-base-of-gs driver|crashed does not preserve the base of GS,|illegal instruction
86 call-with-a-stack-that-is-not-aligned driver a service is called with rsp 0x[0-9a-f]*8, where .* at .*misaligned
87 call-with-the-direction-set driver a service is called with the direction flag 0x1, where .* at .*backwards
11 level-left-raised PB-030 IRQL
12 lock-kept PB-030 SPIN_LOCK_ALREADY_OWNED|came back at IRQL 2
13 free-twice driver bug check 0xc2 BAD_POOL_CALLER .0x7,
14 use-after-free crashed bug check 0x(50|d1) .*pool block
15 ten-gibibytes driver the driver prints: got (20[0-9][0-9]|[01]) MiB
16 divide-by-zero crashed integer division by zero
17 fail-fast crashed bug check 0x139 KERNEL_SECURITY_CHECK_FAILURE.*code 3 .a corrupt list
18 no-instruction crashed illegal instruction
19 behind-a-block crashed 0 bytes behind pool block
38 behind-the-arguments crashed behind its .* bytes was touched; .* at .*do_fault
88 paged-pool MEM-005|driver at DISPATCH_LEVEL or above.* at .*touch_at_dispatch|bug check 0x(c2|dead)
89 paged-code MEM-005|driver at DISPATCH_LEVEL or above.* at .*count_in_paged_code|bug check 0xdead
20 system-call hostile system call 39
21 stale-mapping crashed bug check 0x(1e|50|d1)
22 large-local crashed bug check 0x7f UNEXPECTED_KERNEL_MODE_TRAP.*more than the 24 KiB
23 wild-buffer crashed RtlCopyUnicodeString writes to 0x4440.*: byte 8 of its DestinationString, at .*, holds 0x4440; the driver calls it at
24 copy-too-far crashed MmCopyMemory writes to .*behind pool block .*: its .* is 0x.*; the driver calls it at
25 wild-argument crashed DxgkCbNotifyInterrupt reads 0x30.*: its pNotifyInterrupt is 0x30; the driver calls it at
26 deadlock driver deadlock: the thread that called the driver waits for the notification event .* in KeWaitForSingleObject, called at .*do_fault|bug check 0x(a|b8)
27 free-a-locked-list driver an MDL is freed while 2 pages are locked by it
28 unlock-twice driver bug check 0x4e PFN_LIST_CORRUPT .0x7,
29 unmap-elsewhere driver bug check 0xda SYSTEM_PTE_MISUSE .0x3,
30 wait-for-nothing crashed bug check 0xa .*KeWaitForSingleObject reads 0x20, which is not there, at IRQL .*: its Object is 0x20; the driver calls it at
32 old-system-call hostile system call 20 at .*do_fault
33 sysenter crashed bug check 0x(7f|1e|d1)
34 call-through-the-library hostile system call 41 .socket. at .*do_fault.*, by a jump into code of the bench or of the C library
35 write-through-the-handle crashed bug check 0x(50|d1|1e) .*the driver writes to 0xffff
36 write-over-the-way-in crashed bug check 0x(50|be|d1) .*the driver writes to
39 write-over-the-bench crashed in code of the bench.*: the driver has probably written over memory that is not its own|runtime error|AddressSanitizer
40 signals-by-fcntl hostile system call 72 .fcntl. at .*do_fault.*, by a jump
41 limits hostile system call 302 .prlimit64. at .*do_fault.*, by a jump
42 file-system hostile system call 430 .fsopen. at .*do_fault.*, by a jump
43 tree hostile system call 428 .open_tree. at .*do_fault.*, by a jump
44 read-a-file hostile system call 257 .openat. at .*do_fault.*, by a jump
45 read-the-environment hostile system call 2 .open. at .*do_fault.*, by a jump
46 memory-that-stays hostile system call 29 .shmget. at .*do_fault.*, by a jump
47 mode-of-a-file hostile system call 452 .* at .*do_fault.*, by a jump
48 mode-of-a-file-by-name hostile system call 90 .chmod. at .*do_fault.*, by a jump
49 attribute-by-name hostile system call 188 .setxattr. at .*do_fault.*, by a jump
50 attribute hostile system call 190 .fsetxattr. at .*do_fault.*, by a jump
51 signal hostile system call 62 .kill. at .*do_fault.*, by a jump
52 unheard hostile system call 13 .rt_sigaction. at .*do_fault.*, by a jump
53 queue hostile system call 425 .io_uring_setup. at .*do_fault.*, by a jump
54 deaf-hang hung no end within
55 hang-up crashed ended by signal 31 .*: a system call that the bench allows no driver
56 half-an-answer hung no end within 5 s after it had stopped telling .*half written
57 print hostile system call 41 .socket. at .*do_fault.*, by a jump
37 lose-the-stack crashed bug check 0x7f .*the driver's stack pointer is 0x1000
58 leave crashed ended with exit status 0
59 send-a-record hostile the record of the run cannot be true: what comes from its process is not what the bench sends
60 clean-the-record hostile the record of the run cannot be true: a finding was told during the run, and the record has none
61 no-work hostile the record of the run cannot be true: .*(lines|submissions)
62 no-rules hostile the record of the run cannot be true: .*rules
63 name-of-a-file hostile system call 41 .socket. at .*do_fault.*, by a jump
64 escapes driver bug check 0xdead
65 into-the-results hostile the record of the run cannot be true: what comes from its process is not what the bench sends
66 over-the-journal crashed bug check 0x(50|be|d1) .*the driver writes to
67 memory-of-another hostile system call 310 .process_vm_readv. at .*do_fault.*, by a jump
68 stop-another hostile system call 101 .ptrace. at .*do_fault.*, by a jump
69 mount hostile system call 165 .mount. at .*do_fault.*, by a jump
70 program hostile system call 59 .execve. at .*do_fault.*, by a jump
71 process hostile system call 56 .clone. at .*do_fault.*, by a jump
72 remove-a-file hostile system call 87 .unlink. at .*do_fault.*, by a jump
73 read-a-file-newly hostile system call 437 .* at .*do_fault.*, by a jump
74 queue-that-stays hostile system call 240 .mq_open. at .*do_fault.*, by a jump
76 fill-the-errors driver bug check 0xdead .0x0,
77 stop-itself hung no end within
78 take-over-the-faults hostile the driver has taken over signal 11 .Segmentation fault
79 take-a-signal hostile system call 13 .rt_sigaction. at .*do_fault.*, by a jump
90 lose-the-thread crashed ended by signal
91 unmap-the-library crashed ended by signal
92 hang-up-and-go-on hostile system call 3 .close. at .*do_fault.*, by a jump
93 hang-up-and-listen hostile system call 3 .close. at .*do_fault.*, by a jump
94 over-the-opened-journal hostile|crashed the record of the run cannot be true|ended with exit status
95 last-words crashed ended with exit status 3
96 spoil-what-is-open hostile system call 77 .ftruncate. at .*do_fault.*, by a jump
97 return-to-nowhere crashed bug check 0x(1e|50|d1|7f)
98 single-steps driver|crashed .
TABLE
)

# ---- One play: a line VERBS NUMBER SLOT KIND TEXT -------------------------------------------------------------

# With the debug information that clang leaves, a frame has its line.
place=
command -v llvm-symbolizer >/dev/null && place='[^"]*faults.c:[0-9]'

fail() {
    echo "FAILED: fault $number in $slot, drydock $verb: $1"
    head -c 600 "$here/log"
    grep -E '"(kind|rule|text|hostile|causes)":' "$here/out" | head -8
    sed -n '/"rules": \[/,/\]/p' "$here/out" | head -8
    echo failure >>"$here/failures"
}
choose() { # FAULT SLOT IMAGE: a copy of the image with this fault in this function
    at=0
    for ddi in Entry $ddis; do
        [ "$ddi" = "$2" ] && break
        at=$((at + 1))
    done
    LC_ALL=C sed "s/chosen fault:00 slot:00/chosen fault:$(printf '%02d' "$1") slot:$(printf '%02d' $at)/" \
        "$work/faults.sys" >"$3"
}
is_attack() { case $1 in [4-7]? | 9?) true ;; *) false ;; esac; }
# What every verb does: status 1, the finding, and no word of the driver as it wrote it.
look() {
    # Who does not say of which model it is, is not played, with words that say so.
    if [ "$status" -eq 2 ] && ! is_attack "$number" &&
        [ "$slot" = QueryAdapterInfo ] &&
        grep -q "no level of the gpummu model\|no defect of that name and model" "$here/log"; then
        return
    fi
    if [ "$status" -ne 1 ]; then
        fail "exit status $status"
    elif [ "$verb" = zoo ]; then
        grep -Eq "\"($kind)\"" "$here/out" || fail "no finding '$kind'"
        [ "$kind" != hostile ] || grep -q '"hostile": *true' "$here/out" || fail "not told as hostile"
    else
        grep -Eq "\"(kind|rule)\": *\"($kind)\"" "$here/out" || fail "no finding '$kind'"
        grep -Eq "\"text\": *\".*($text)" "$here/out" || fail "no finding tells '$text'"
        if [ -n "$frame" ]; then grep -Eq "$frame" "$here/out" || fail "not where"; fi
    fi
    ! LC_ALL=C grep -q "^::error\|$(printf '\033')" "$here/out" "$here/log" || fail "the driver has printed"
}
play_verb() {
    rm -rf results
    case $verb in
    check) # shellcheck disable=SC2086
        timeout 600 "$drydock" check $cases --driver "./$image" -m gpummu --seeds 1 -j 1 --repeat 0 \
            --run-limit $limit --no-shrink --prints findings --out results --json ;;
    run)
        timeout 600 "$drydock" run "$source/cases/evict-and-restore.case" --driver "./$image" -m gpummu \
            --run-limit $limit --no-out --reference never --json ;;
    replay)
        timeout 600 "$drydock" replay --trust-case --seconds $limit hostile.case --json ;;
    zoo)
        timeout 600 "$drydock" zoo --lawful "$lawful" --image "./$image" -m gpummu --seeds 1 --no-shrink \
            --json ;;
    entry) timeout 600 "$drydock" run "$source/cases/main.case" --driver "./$image" --no-out ;;
    esac >out 2>log </dev/null
    status=$?
}
# On a busy machine the time of a run may be up before the driver has come to its fault, or to the end of it.
is_too_early() {
    grep -q '"hung"' out && { [ "$kind" != hung ] || ! grep -Eq "$text" out; }
}
# A kernel that does not let programs write the base of GS does not keep what they write: nobody can see it.
has_gs() { [ $(($(LD_SHOW_AUXV=1 /bin/true | sed -n 's/^AT_HWCAP2: *//p') & 2)) -ne 0 ]; }
play_one() { # VERBS NUMBER SLOT KIND TEXT
    verbs=$1
    number=$2
    slot=$3
    kind=$4
    shift 4
    text=$*
    # AddressSanitizer opens a file where the bench leaves a signal handler. That is refused in the cage, in a handler
    # again, and the run does not end: the rule is told, but not the place.
    [ "$number" != 89 ] || ! grep -aq __asan_init "$drydock" || text='at DISPATCH_LEVEL or above'
    here=$work/$slot-$number
    mkdir "$here"
    if [ "$number" -eq 85 ] && ! has_gs; then
        echo skipped >"$here/played"
        return
    fi
    # Where the kernel has no 32-bit calls, the instruction is a fault of the processor's.
    if [ "$number" -eq 32 ] && [ -z "$has_old_calls" ]; then
        kind=crashed text='access violation'
    fi
    image=$slot-$number.sys
    choose "$number" "$slot" "$here/$image"
    cases=$source/cases/evict-and-restore.case
    limit=4 # of wall time: other tests run beside this one
    if [ "$number" = 75 ]; then # a whole clean run, by the word of the process that has the driver
        limit=20 verb=run
        timeout 120 "$drydock" run "$source/cases/evict-and-restore.case" --driver "$here/$image" -m gpummu \
            --no-out --no-judge --reference never >"$here/out" 2>"$here/log" || fail "it is found without a judge"
    fi
    case $number in # these use up the time of a run
    2 | 54 | 56 | 77) limit=1 ;;
    *) [ "$which" = few ] || cases="$cases $source/cases/preemption.case" ;;
    esac
    case $number in # where it was, for those that nobody could ask
    10 | 8? | 11 | 12 | 15 | 31 | 33 | 38 | 39 | 54 | 55 | 56 | 58 | 59 | 61 | 62 | 65) frame= ;;
    7[567] | 78 | 79 | 9?) frame= ;;
    20 | 32 | 34 | 4? | 5? | 6? | 7?) frame="$image!do_fault[a-z_]*\\+" ;;
    *) frame="$image!do_fault[a-z_]*\\+$place" ;;
    esac
    sed "1s/\$/\noption driver $image/" "$source/cases/evict-and-restore.case" >"$here/hostile.case"
    cd "$here" || exit 1
    for verb in $(echo "$verbs" | tr , ' '); do
        play_verb
        for again in 10 60; do
            is_too_early || break
            limit=$again
            play_verb
        done
        echo "$verb" >>played
        if [ "$verb" = entry ]; then # an error that says the same
            [ "$status" -eq 2 ] && grep -Eq "$text" log || fail "exit status $status"
            continue
        fi
        # A DDI that these cases do not call has nothing to show.
        called=$work/called-evict-and-restore
        [ "$verb" = check ] && [ "$cases" != "${cases% *}" ] && called="$called $work/called-preemption"
        # shellcheck disable=SC2086
        [ "$status" -eq 0 ] && ! cat $called | grep -Eq "^$slot( |\$)" && continue
        look
        if [ "$number-$verb" = 64-check ]; then # the same words in every form that there is
            "$drydock" check "$source/cases/evict-and-restore.case" --driver "./$image" -m gpummu --seeds 1 -j 1 \
                --repeat 0 --no-shrink --junit junit.xml --sarif run.sarif >out 2>log </dev/null
            for form in out log junit.xml run.sarif; do
                ! LC_ALL=C grep -q "^ *::error\|$(printf '\033')" $form || fail "the driver has printed into $form"
            done
            ! grep -q ']]></failure>"' junit.xml || fail "the driver has ended an element of junit.xml"
            [ "$slot" != BuildPagingBuffer ] || { grep -q '\\::error ::forged' out && grep -q '\\x1b\[2J' out; } ||
                fail "its words are not told"
            rm -f junit.xml run.sarif
        fi
        [ "$verb" != check ] || [ "$status" -ne 1 ] || [ "$(wc -l <results/results.jsonl)" -eq "$(echo $cases | wc -w)" ] ||
            fail "the results are not one line a run"
    done
    rm -rf "$image" results out log hostile.case
    left=$(find . -mindepth 1 ! -name played ! -name failures)
    [ -z "$left" ] || fail "left behind: $left"
}

if [ "$which" = one ]; then
    work=$4
    which=$5
    shift 5
    set -f # the text is an expression
    # shellcheck disable=SC2048,SC2086
    play_one $*
    exit 0
fi

# ---- All of them ----------------------------------------------------------------------------------------------

for tool in clang lld-link llvm-dlltool nm; do
    command -v $tool >/dev/null || { echo "skipped: no $tool here"; exit 0; }
done
work=$(mktemp -d) || exit 1
trap 'kill $victim 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/tmp"
export TMPDIR="$work/tmp"

# What no driver may touch.
echo "the user's own" >"$work/victim"
chmod 600 "$work/victim"
sleep 100000 &
victim=$!
limits=$(cat /proc/$victim/limits)
shared=$(ls /dev/shm 2>/dev/null)

cat >"$work/old_call.c" <<'CALL'
int main(void) { int id; __asm__ volatile("int $0x80" : "=a"(id) : "a"(20)); return id <= 0; }
CALL
clang -o "$work/old_call" "$work/old_call.c" || exit 1
has_old_calls=
(exec "$work/old_call") 2>/dev/null && has_old_calls=yes
export has_old_calls

# Where the record of a run lies in this program, for drivers that write over it.
address_of() { # NAME
    nm "$drydock" | sed -n "s/^\([0-9a-f]*\) [bBtT] $1\$/0x\1/p"
}
cat >"$work/layout.c" <<'LAYOUT'
#include "bench/run/run_result.h"
#include <stddef.h>
#define SAY(name, value) __asm__ volatile("\n#SAY -DRESULT_" #name "=%c0" : : "i"(value))
#define PLACE(name, member) SAY(name, offsetof(struct run_result, member))
void layout(void)
{
    PLACE(OUTCOME, outcome);
    PLACE(OPERATIONS, operations_played);
    PLACE(SUBMISSIONS, submissions);
    PLACE(FINDING_COUNT, finding_count);
    PLACE(FINDINGS, findings);
    PLACE(TOTALS, finding_totals);
    SAY(TOTALS_BYTES, sizeof((struct run_result *)0)->finding_totals);
    PLACE(RULES, rules);
    SAY(RULES_BYTES, sizeof((struct run_result *)0)->rules);
}
LAYOUT
# The rules that there are stand in a file that the build makes.
clang -S -o "$work/layout" -I"$source/src" -I"$source/include" -I"$source/include/wdk" \
    -I"$(dirname "$drydock")/generated" "$work/layout.c" || exit 1
layout=$(sed -n 's/.*#SAY //p' "$work/layout")
journal=$(address_of journal)
report=$(address_of check_report)
service=$(address_of IoFreeMdl)
[ -n "$journal" ] && [ -n "$report" ] && [ -n "$service" ] || { echo "FAILED: $drydock has no symbols"; exit 1; }

# The functions, with the bytes of what they may only read.
at=0
for ddi in $ddis; do
    at=$((at + 1))
    case " $(echo $lies) " in
    *" $ddi "*) echo "SLOT($at, $ddi, sizeof(DXGKARG_$(echo "$ddi" | tr '[:lower:]' '[:upper:]')))" ;;
    *) echo "SLOT($at, $ddi, 0)" ;;
    esac
done >"$work/slots.h"

files=$(find "$source/src/refkmd" -name '*.c' | sort | grep -v '_test\.c$\|/test_[a-z_]*\.c$')
objects=
for file in $files; do
    object=$work/$(basename "$file" .c).obj
    "$drydock" cc -c -DDxgkInitialize=FaultsInitialize -I"$source/include" -I"$source/src" "$file" \
        -o "$object" || exit 1
    objects="$objects $object"
done
# shellcheck disable=SC2086
"$drydock" cc -o "$work/faults.sys" --entry RefKmdDriverEntryGpuMmu -Wno-everything \
    -DSLOTS="\"$work/slots.h\"" -DVICTIM="\"$work/victim\"" -DVICTIM_PROCESS=$victim \
    -DJOURNAL_AT="$((journal - service))" -DREPORT_AT="$((report - service))" $layout "$source/tests/images/faults.c" $objects || exit 1

for case in evict-and-restore preemption; do
    "$drydock" run "$source/cases/$case.case" -m gpummu --no-out --calls "$work/called-$case" >/dev/null || exit 1
    printf "InterruptRoutine\nDpcRoutine\n" >>"$work/called-$case" # not in the list of calls
    grep -q ^BuildPagingBuffer "$work/called-$case" || { echo "FAILED: no list of calls"; exit 1; }
done

# The list: what takes its time comes first.
verbs_of() { # FAULT SLOT: all verbs in one function, and two in each other one
    case $1 in
    20 | 32 | 3[4569] | [4-7]? | 9?)
        case $2-$(($1 % 3)) in
        BuildPagingBuffer-*) echo check,run,replay,zoo ;;
        *-0) echo check,run ;;
        *-1) echo check,replay ;;
        *-2) echo check,zoo ;;
        esac
        ;;
    *) echo check ;;
    esac
}
list() {
    echo "entry 54 Entry - in DriverEntry the driver does not return within"
    echo "entry 95 Entry - in DriverEntry the driver ends the process, with exit status 3"
    [ "$which" = few ] || echo "entry 2 Entry - in DriverEntry the driver does not return within"
    for slot in StopDevice InterruptRoutine DpcRoutine; do
        echo "check 54 $slot hung no end within"
    done
    # What only a process without the driver sees.
    echo "check,run,replay,zoo 75 BuildPagingBuffer hostile in one without it.*PB-030"
    echo "$table" | while read -r number name kind text; do
        case $number in
        2) echo "check 2 SubmitCommandVirtual $kind $text" ;;
        62) echo "check,run,replay,zoo 62 StopDevice $kind $text" ;; # behind all that counts
        *) echo "$(verbs_of "$number" BuildPagingBuffer) $number BuildPagingBuffer $kind $text" ;;
        esac
        case $number in
        1 | 3 | 9 | 13 | 16 | 17 | 18 | 26 | 28 | 30) echo "entry $number Entry - in DriverEntry .*($text)" ;;
        esac
    done | awk '$2 ~ /^(5[456]|77)$/ || $2 == 2 { print; next } { rest = rest $0 "\n" } END { printf "%s", rest }'
    echo "$table" | grep '^1 ' | while read -r number name kind text; do
        echo "check 1 StartDevice $kind $text"
        echo "check 1 DpcRoutine $kind $text"
    done
    for slot in CreateAllocation DestroyAllocation BuildPagingBuffer; do
        echo "check 31 $slot driver $overwritten"
    done
}
list_all() {
    list
    for slot in $ddis; do
        echo "$table" | while read -r number name kind text; do
            # To come back at another level breaks a rule of all functions; some are at DISPATCH_LEVEL or above anyway.
            case $kind-$slot in
            PB-030-BuildPagingBuffer) ;;
            PB-030-SubmitCommandVirtual | PB-030-PreemptCommand | PB-030-QueryCurrentFence) continue ;;
            PB-030-InterruptRoutine | PB-030-DpcRoutine | PB-030-Unload) continue ;;
            PB-030-*) kind=CALL-006 ;;
            esac
            # At the device's level memory is not to be asked for: the bug check comes first.
            case $slot-$number in
            # Counts are cleared where there are some.
            BuildPagingBuffer-61 | SubmitCommandVirtual-61 | Destroy*-61 | StopDevice-6[12] | Unload-6[12]) ;;
            *-6[12]) continue ;;
            # What a call is lent is told of those that the list knows the bytes of.
            *-38)
                case " $(echo $lies) " in
                *" $slot "*) ;;
                *) continue ;;
                esac
                kind="crashed|driver"
                text="behind its .* bytes was (touched|written)"
                ;;
            AddDevice-25 | StartDevice-25 | AddDevice-3[56] | StartDevice-3[56]) continue ;; # nobody knows the graphics kernel yet
            QueryAdapterInfo-25 | QueryAdapterInfo-3[56]) continue ;; # nor in the first call, in front of the start
            InterruptRoutine-1[3459] | InterruptRoutine-2[14789] | InterruptRoutine-30)
                kind=driver
                text="bug check"
                ;;
            esac
            echo "$(verbs_of "$number" "$slot") $number $slot $kind $text"
        done
    done
    for slot in $lies; do
        echo "check 31 $slot driver $overwritten"
    done
}
if [ "$which" = all ]; then list_all; else list; fi | awk '!seen[$2, $3]++' | grep -E "${4:-.}" >"$work/list"

# A few at a time: those that use up their time do not use the processor.
xargs -d '\n' -n 1 -P 4 "$0" "$drydock" "$source" one "$work" "$which" <"$work/list"

number=- slot=- verb=- here=$work
: >"$work/out" >"$work/log"
[ "$(stat -c '%a %s' "$work/victim")" = "600 15" ] || fail "a file of the user was changed"
grep -q "the user's own" "$work/victim" || fail "a file of the user was written"
[ "$(cat /proc/$victim/limits 2>/dev/null)" = "$limits" ] || fail "a process of the user was harmed"
! ipcs -m 2>/dev/null | grep -q 0x64727964 || fail "shared memory was left behind"
[ "$(ls /dev/shm 2>/dev/null)" = "$shared" ] || fail "shared memory was left behind"
[ -z "$(ls -A "$work/tmp")" ] || fail "temporary files were left behind"
[ -z "$(find "$work" -name 'escaped*')" ] || fail "a file was written elsewhere"
! readlink /proc/[0-9]*/cwd 2>/dev/null | grep -q "^$work/" || fail "processes were left behind"
# An image that names a library as its GPU.
printf '#include <stdio.h>\n__attribute__((constructor)) static void run(void) { fclose(fopen("escaped", "w")); }\n' >"$work/so.c"
clang -shared -fPIC -o "$work/so" "$work/so.c" || exit 1
LC_ALL=C sed 's/sgpu\x00/.\/so\x00/' "$work/faults.sys" >"$work/gpu.sys"
(cd "$work" && "$drydock" run "$source/cases/evict-and-restore.case" --driver ./gpu.sys --no-out) >"$work/out" 2>"$work/log"
[ $? -eq 2 ] && grep -q "names the GPU './so'" "$work/log" || fail "an image names a library"
[ ! -e "$work/escaped" ] || fail "an image had a library loaded"
# A row of the zoo ends when four of its runs have hung.
choose 2 StartDevice "$work/loops.sys"
"$drydock" zoo D75-level -m gpummu --image "$work/loops.sys" --seeds 6 --no-shrink --json >"$work/out" 2>"$work/log"
[ $? -eq 1 ] && grep -q '"seeds": 4[^0-9]' "$work/out" || fail "the zoo plays a driver that hangs on and on"
# A verb without a process for the run does not play an image at all.
choose 44 BuildPagingBuffer "$work/plain.sys"
sed "1s/\$/\noption driver plain.sys/" "$source/cases/evict-and-restore.case" >"$work/plain.case"
(cd "$work" && "$drydock" ops --trust-case plain.case) >"$work/out" 2>"$work/log" </dev/null
[ $? -eq 2 ] && grep -q "is not linked in, and ops plays no images" "$work/log" || fail "drydock ops plays an image"

plays=$(cat "$work"/*/played | wc -l)
failures=$(cat "$work"/*/failures "$work/failures" 2>/dev/null | wc -l)
echo "$plays plays of $(wc -l <"$work/list") faulty drivers, $failures failures"
[ "$plays" -ge "$(wc -l <"$work/list")" ] && [ "$failures" -eq 0 ]
