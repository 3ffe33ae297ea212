#!/bin/sh
# Whatever a driver does, it is a finding, and the campaign ends as campaigns end.
#
# The reference driver as an image, with a fault in one DDI (tests/images/faults.c): each is played for a few
# seeds by `drydock check`, which has to say so and exit with 1.
#
# Usage: faults.sh DRYDOCK SOURCE few|all
set -u
drydock=$1
source=$2
which=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

for tool in clang lld-link llvm-dlltool; do
    command -v $tool >/dev/null || { echo "skipped: no $tool here"; exit 0; }
done

# Number and name of each fault, and what the finding says of it: its kind, or its rule.
cat >"$work/faults" <<'TABLE'
1 write-through-null crashed
2 loop hung
3 stack crashed
4 jump-into-data crashed
5 call-null crashed
6 run-the-stack crashed
7 write-to-a-constant crashed
8 write-to-code crashed
9 bug-check driver
10 lose-a-register driver|crashed
11 level-left-raised PB-030
12 lock-kept PB-030
13 free-twice driver
14 use-after-free crashed
16 divide-by-zero crashed
17 fail-fast driver
18 no-instruction crashed
19 behind-a-block crashed
20 system-call driver
21 stale-mapping crashed
22 large-local crashed
TABLE
ddis="AddDevice StartDevice StopDevice RemoveDevice QueryAdapterInfo CreateProcess DestroyProcess
CreateDevice DestroyDevice CreateContext DestroyContext CreateAllocation DestroyAllocation
OpenAllocation CloseAllocation BuildPagingBuffer SubmitCommandVirtual PreemptCommand
QueryCurrentFence ResetEngine SetRootPageTable GetRootPageTableSize InterruptRoutine DpcRoutine
SetPowerState DescribeAllocation"

objects=
for file in "$source"/src/refkmd/*.c; do
    case $file in *_test.c) continue ;; esac
    object=$work/$(basename "$file" .c).obj
    "$drydock" cc -c -DDxgkInitialize=FaultsInitialize -I"$source/include" -I"$source/src" "$file" \
        -o "$object" || exit 1
    objects="$objects $object"
done

failures=0
played=0
play() { # FAULT-NUMBER DDI KIND
    image=$work/$2-$1.sys
    # shellcheck disable=SC2086
    "$drydock" cc -o "$image" --entry RefKmdDriverEntryGpuMmu -Wno-everything -DSLOT=DxgkDdi"$2" \
        -DFAULT="$1" "$source/tests/images/faults.c" $objects || exit 1
    "$drydock" check "$source/cases/evict-and-restore.case" "$source/cases/preemption.case" \
        --driver "$image" -m gpummu --seeds 1 -j 1 --repeat 0 --run-limit 2 --no-shrink --json \
        >"$work/out" 2>"$work/log" </dev/null
    status=$?
    played=$((played + 1))
    # A DDI that these cases do not call has nothing to show.
    if [ "$status" -eq 0 ] && ! grep -Eq "^$2( |\$)" "$work/called"; then
        return
    fi
    if [ "$status" -ne 1 ] || ! grep -Eq "\"(kind|rule)\": *\"($3)\"" "$work/out"; then
        echo "FAILED: fault $1 in DxgkDdi$2: exit status $status, no finding '$3'"
        grep -o '"kind": *"[^"]*"\|"rule": *"[^"]*"' "$work/out" | sort | uniq -c
        head -c 400 "$work/log"
        failures=$((failures + 1))
    fi
    rm -f "$image"
}

printf "InterruptRoutine\nDpcRoutine\n" >"$work/called" # not in the list of calls
for case in evict-and-restore preemption; do
    "$drydock" run "$source/cases/$case.case" -m gpummu --no-out --calls "$work/calls" >/dev/null || exit 1
    cat "$work/calls" >>"$work/called"
done
grep -q ^BuildPagingBuffer "$work/called" || { echo "FAILED: no list of calls"; exit 1; }

if [ "$which" = all ]; then
    for ddi in $ddis; do
        while read -r number name kind; do
            # What it means to come back at another level is a rule of paging alone.
            [ "$kind" = PB-030 ] && [ "$ddi" != BuildPagingBuffer ] && continue
            # At the device's level memory is not to be asked for: the bug check comes first.
            case $ddi-$number in InterruptRoutine-14 | InterruptRoutine-19 | InterruptRoutine-21) kind=driver ;; esac
            play "$number" "$ddi" "$kind" || exit 1
        done <"$work/faults"
    done
else
    while read -r number name kind; do
        [ "$number" -eq 2 ] || play "$number" BuildPagingBuffer "$kind"
    done <"$work/faults"
    play 2 SubmitCommandVirtual hung
    play 1 StartDevice crashed
    play 1 DpcRoutine crashed
fi
echo "$played faults played, $failures failures"
[ "$failures" -eq 0 ]
