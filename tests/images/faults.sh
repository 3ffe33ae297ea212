#!/bin/sh
# Whatever a driver does, it is a finding, and the campaign ends as campaigns end.
#
# The reference driver as an image, with a fault in one DDI (tests/images/faults.c): each is played for a few
# seeds by `drydock check`, which has to say so and exit with 1.
#
# Usage: faults.sh DRYDOCK SOURCE few|all
set -u
drydock=$(realpath "$1")
source=$2
which=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

for tool in clang lld-link llvm-dlltool; do
    command -v $tool >/dev/null || { echo "skipped: no $tool here"; exit 0; }
done

# Number and name of each fault, and what the finding says of it: its kind or rule, and a part of what it
# tells. Of nearly all it tells where the driver was: in do_fault().
cat >"$work/faults" <<'TABLE'
1 write-through-null crashed bug check 0x(1e|d1) .*0x8
2 loop hung no end within .*: the driver does not return from DxgkDdi
3 stack crashed bug check 0x7f UNEXPECTED_KERNEL_MODE_TRAP.*more than the 24 KiB
4 jump-into-data crashed bug check 0x(fc|d1) .*: the driver executes 0x
5 call-null crashed bug check 0x(1e|d1) .*execut.* 0x0
6 run-the-stack crashed bug check 0x(fc|d1) .*: the driver executes 0x
7 write-to-a-constant crashed bug check 0x(be|d1) .*writes to 0x
8 write-to-code crashed bug check 0x(be|d1) .*writes to 0x
9 bug-check driver bug check 0xdead .0x1, 0x2, 0x3, 0x4.
10 lose-a-register driver|crashed rsi
11 level-left-raised PB-030 IRQL
12 lock-kept PB-030 SPIN_LOCK_ALREADY_OWNED|came back at IRQL 2
13 free-twice driver bug check 0xc2 BAD_POOL_CALLER .0x7,
14 use-after-free crashed bug check 0x(50|d1) .*pool block
15 ten-gibibytes driver the driver prints: got (20[0-9][0-9]|[01]) MiB
16 divide-by-zero crashed integer division by zero
17 fail-fast crashed bug check 0x139 KERNEL_SECURITY_CHECK_FAILURE.*code 3 .a corrupt list
18 no-instruction crashed illegal instruction
19 behind-a-block crashed 0 bytes behind pool block
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
35 write-over-the-bench crashed|driver in code of the bench: a mistake of it, or the driver has written over its memory|the driver|runtime error|AddressSanitizer
36 write-over-the-way-in crashed bug check 0x(50|be|d1) .*the driver writes to
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
55 hang-up hung no end within
56 half-an-answer hung no end within
57 print hostile system call 41 .socket. at .*do_fault.*, by a jump
37 lose-the-stack crashed bug check 0x7f .*the driver's stack pointer is 0x1000
TABLE
ddis="AddDevice StartDevice StopDevice RemoveDevice QueryAdapterInfo CreateProcess DestroyProcess
CreateDevice DestroyDevice CreateContext DestroyContext CreateAllocation DestroyAllocation
OpenAllocation CloseAllocation BuildPagingBuffer SubmitCommandVirtual PreemptCommand
QueryCurrentFence ResetEngine SetRootPageTable GetRootPageTableSize InterruptRoutine DpcRoutine
SetPowerState DescribeAllocation Unload"

objects=
for file in $(find "$source/src/refkmd" -name '*.c' | sort); do
    case $file in *_test.c | */test_*.c) continue ;; esac
    object=$work/$(basename "$file" .c).obj
    "$drydock" cc -c -DDxgkInitialize=FaultsInitialize -I"$source/include" -I"$source/src" "$file" \
        -o "$object" || exit 1
    objects="$objects $object"
done

# With the debug information that clang leaves, a frame has its line.
place=
command -v llvm-symbolizer >/dev/null && place='[^"]*faults.c:[0-9]'

failures=0
played=0
build() { # IMAGE FAULT-NUMBER OPTION...
    image=$1
    number=$2
    shift 2
    # shellcheck disable=SC2086
    "$drydock" cc -o "$image" -DVICTIM="\"$work/victim\"" --entry RefKmdDriverEntryGpuMmu -Wno-everything "$@" -DFAULT="$number" \
        "$source/tests/images/faults.c" $objects || exit 1
}
fail() {
    echo "FAILED: $1"
    head -c 600 "$work/log"
    failures=$((failures + 1))
}
play() { # FAULT-NUMBER DDI KIND TEXT
    image=$work/$2-$1.sys
    build "$image" "$1" -DSLOT=DxgkDdi"$2" \
        -DARGUMENT=DXGKARG_"$(echo "$2" | tr '[:lower:]' '[:upper:]')"
    "$drydock" check "$source/cases/evict-and-restore.case" "$source/cases/preemption.case" \
        --driver "$image" -m gpummu --seeds 1 -j 1 --repeat 0 --run-limit 2 --no-shrink --prints findings --json \
        >"$work/out" 2>"$work/log" </dev/null
    status=$?
    played=$((played + 1))
    # A DDI that these cases do not call has nothing to show.
    if [ "$status" -eq 0 ] && ! grep -Eq "^$2( |\$)" "$work/called"; then
        return
    fi
    if [ "$status" -ne 1 ] || ! grep -Eq "\"(kind|rule)\": *\"($3)\"" "$work/out"; then
        fail "fault $1 in DxgkDdi$2: exit status $status, no finding '$3'"
        grep -o '"kind": *"[^"]*"\|"rule": *"[^"]*"' "$work/out" | sort | uniq -c
    elif ! grep -Eq "\"text\": *\".*($4)" "$work/out"; then
        fail "fault $1 in DxgkDdi$2: no finding tells '$4'"
        grep '"text":' "$work/out"
    fi
    # Printed words of a driver are escaped, and nothing comes past the bench.
    ! grep -q "^::error" "$work/out" "$work/log" || fail "fault $1 in DxgkDdi$2: the driver has printed"
    case $1 in
    10 | 11 | 12 | 15 | 31 | 33 | 35 | 54 | 55 | 56) ;; # the last ones are deaf
    20 | 32 | 34 | 4? | 5?) grep -q "$2-$1.sys!do_fault+" "$work/out" || fail "fault $1 in DxgkDdi$2: not where" ;;
    *) grep -q "$2-$1.sys!do_fault+$place" "$work/out" || fail "fault $1 in DxgkDdi$2: not where" ;;
    esac
    rm -f "$image"
}
enter() { # FAULT-NUMBER NAME TEXT
    image=$work/entry-$1.sys
    build "$image" "$1" -DIN_ENTRY
    "$drydock" run "$source/cases/main.case" --driver "$image" --no-out >"$work/out" 2>"$work/log" \
        </dev/null
    status=$?
    played=$((played + 1))
    if [ "$status" -ne 2 ] || ! grep -Eq "$3" "$work/log" || ! grep -q "entry-$1.sys!do_fault+" "$work/log"; then
        fail "fault $1 in DriverEntry: exit status $status"
    fi
    rm -f "$image"
}

printf "InterruptRoutine\nDpcRoutine\n" >"$work/called" # not in the list of calls
for case in evict-and-restore preemption; do
    "$drydock" run "$source/cases/$case.case" -m gpummu --no-out --calls "$work/calls" >/dev/null || exit 1
    cat "$work/calls" >>"$work/called"
done
grep -q ^BuildPagingBuffer "$work/called" || { echo "FAILED: no list of calls"; exit 1; }

# What no driver may touch.
echo "the user's own" >"$work/victim"
chmod 600 "$work/victim"
unharmed() {
    [ "$(stat -c '%a %s' "$work/victim")" = "600 15" ] || fail "a file of the user was changed"
    ! grep -q 'user.drydock' "$work/victim" || fail "a file of the user was written"
    ! ipcs -m 2>/dev/null | grep -q 0x64727964 || fail "shared memory was left behind"
}
# What ends in `check` ends in `run` and `replay`: the same finding, in its time.
limited() { # FAULT-NUMBER DDI TEXT
    image=$work/$2-$1.sys
    build "$image" "$1" -DSLOT=DxgkDdi"$2" -DARGUMENT=ULONG
    sed "1s/\$/\noption driver $2-$1.sys/" "$source/cases/evict-and-restore.case" >"$work/hostile.case"
    for verb in "run --run-limit 2 --no-out --driver $image" "replay --trust-case --seconds 2"; do
        # shellcheck disable=SC2086
        (cd "$work" && timeout 60 "$drydock" $verb hostile.case) >"$work/out" 2>"$work/log" </dev/null
        status=$?
        played=$((played + 1))
        if [ "$status" -ne 1 ] || ! cat "$work/out" "$work/log" | grep -Eq "$3"; then
            fail "fault $1 in DxgkDdi$2: drydock $verb: exit status $status"
            head -c 600 "$work/out"
        fi
    done
    rm -f "$image"
}
# In DriverEntry: no answer, and no finding, but an error, in its time.
deaf_entry() {
    build "$work/deaf.sys" 54 -DIN_ENTRY
    timeout 60 "$drydock" run "$source/cases/main.case" --driver "$work/deaf.sys" --no-out \
        >"$work/out" 2>"$work/log" </dev/null
    status=$?
    played=$((played + 1))
    if [ "$status" -ne 2 ] || ! grep -q "in DriverEntry the driver does not return within" "$work/log"; then
        fail "signals blocked in DriverEntry: exit status $status"
    fi
}

lies="QueryAdapterInfo CreateProcess CreateDevice CreateContext CreateAllocation DestroyAllocation
OpenAllocation CloseAllocation BuildPagingBuffer SubmitCommandVirtual PreemptCommand SetRootPageTable"
overwritten="the driver has overwritten .*, which it may only read; the bench goes on"

# Before there is anything to play, it is an error that says the same.
while read -r number name kind text; do
    case $number in
    1 | 3 | 9 | 13 | 16 | 17 | 18 | 26 | 28 | 30) enter "$number" "$name" "in DriverEntry .*($text)" ;;
    esac
done <"$work/faults"

limited 54 BuildPagingBuffer "no end within"
limited 44 BuildPagingBuffer "system call 257 .openat."
limited 57 BuildPagingBuffer "system call 41 .socket."
# A verb without a process for the run does not play an image at all.
(cd "$work" && "$drydock" ops --trust-case hostile.case) >"$work/out" 2>"$work/log" </dev/null
[ $? -eq 2 ] && grep -q "is not linked in, and ops plays no images" "$work/log" || fail "drydock ops plays an image"
deaf_entry

if [ "$which" = all ]; then
    enter 2 loop "in DriverEntry the driver does not return within"
    for ddi in $ddis; do
        while read -r number name kind text; do
            # What it means to come back at another level is a rule of paging alone.
            [ "$kind" = PB-030 ] && [ "$ddi" != BuildPagingBuffer ] && continue
            # At the device's level memory is not to be asked for: the bug check comes first.
            case $ddi-$number in
            AddDevice-25 | StartDevice-25 | AddDevice-3[56] | StartDevice-3[56]) continue ;; # nobody knows the graphics kernel yet
            InterruptRoutine-1[3459] | InterruptRoutine-2[14789] | InterruptRoutine-30)
                kind=driver
                text="bug check"
                ;;
            esac
            play "$number" "$ddi" "$kind" "$text"
        done <"$work/faults"
    done
    for ddi in $lies; do
        play 31 "$ddi" driver "$overwritten"
    done
else
    for ddi in CreateAllocation DestroyAllocation BuildPagingBuffer; do
        play 31 "$ddi" driver "$overwritten"
    done
    while read -r number name kind text; do
        if [ "$number" -eq 2 ]; then
            play 2 SubmitCommandVirtual hung "$text"
        else
            play "$number" BuildPagingBuffer "$kind" "$text"
        fi
        case $number in 1) play 1 StartDevice "$kind" "$text" && play 1 DpcRoutine "$kind" "$text" ;; esac
    done <"$work/faults"
fi
unharmed
echo "$played faults played, $failures failures"
[ "$failures" -eq 0 ]
