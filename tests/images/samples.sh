#!/bin/sh
# Microsoft's public sample miniports, unmodified, whose findings docs/your-driver.md lists: compiled, run, a
# campaign of each, and compared with the findings that are expected. They are not part of this repository.
#
# Usage: samples.sh DRYDOCK SOURCE [FOLDER]
# FOLDER (default: $DRYDOCK_SAMPLES) is a clone of github.com/microsoft/graphics-driver-samples.
set -eu
. "$(dirname "$0")/image.sh"
folder=${3:-${DRYDOCK_SAMPLES:-}}

[ -n "$folder" ] || { echo "skipped: DRYDOCK_SAMPLES names no folder with the samples"; exit 0; }
[ -d "$folder/compute-only-sample/coskmd" ] && [ -d "$folder/render-only-sample/roskmd" ] ||
    { echo "skipped: the samples are not in $folder"; exit 0; }

rules() { # of the findings in the log, in one line
    sed -n 's/^error \([^ ]*\).*/\1/p' "$work/log" | sort -u | tr '\n' ' '
}

# NAME, the findings of a run, those that a campaign may have besides; then options of both verbs
judge() {
    name=$1 of_run=$2 more=$3
    shift 3
    "$drydock" run "$source/cases/evict-and-restore.case" --model physical --driver "$work/$name.sys" --no-out "$@" \
        >"$work/log" 2>&1 || true
    grep -q "mismatches  *0$" "$work/log" || fail "$name: evict-and-restore is not played, or not right"
    [ "$(rules)" = "$of_run" ] || fail "$name: a run finds $(rules)(expected: $of_run)"
    "$drydock" check --seeds 40 -j 2 --model physical --driver "$work/$name.sys" -o "$work/$name" "$@" \
        >"$work/log" 2>&1 || true
    grep -q "^40 runs" "$work/log" || fail "$name: the campaign does not end"
    found=$(rules)
    for rule in $of_run MEM-004 XFER-003; do
        case " $found" in *" $rule "*) ;; *) fail "$name: the campaign does not find $rule" ;; esac
    done
    for rule in $found; do
        case " $of_run MEM-004 XFER-003 leak $more " in *" $rule "*) ;; *) fail "$name: $rule is new" ;; esac
    done
}

(cd "$folder/compute-only-sample/coskmd" &&
    "$drydock" cc -o "$work/CosKmd.sys" -std=c++17 -I../coscommon -I../vpucommon Cos*.cpp) >"$work/log" 2>&1 ||
    fail "CosKmd does not compile"
(cd "$folder/render-only-sample/roskmd" &&
    "$drydock" cc -o "$work/RosKmd.sys" -std=c++17 -DVC4=1 -I../roscommon ./*.cpp) >"$work/log" 2>&1 ||
    fail "RosKmd does not compile"

content="content XFER-005 XFER-006 PB-011 XFER-017 crashed digest"
judge CosKmd "SEG-009 SEG-012 SEG-016 " "$content" \
    --allocation-data "0x63616578:u32 1:u32 size:u32 1:u32*2 size:u32 1:u32*2 0:u32*4 0:u32 1:u32 0:u32 1:u32*2 0:u32*13 width:u32 height:u32 size:u32 0x100:u32 size:u64 0:u64" \
    --command-data "0x43534342:u32 0:u32 1:u32 0:u32*5"
judge RosKmd "FENCE-006 SEG-009 SEG-012 " \
    "$content ALLOC-009 submission FENCE-002 FENCE-004 FENCE-007 FENCE-008 RES-001 TDR-001 TDR-005 TDR-007 TDR-008" \
    --surroundings 'id=ACPI\VEN_BCM&DEV_2850 value:RenderOnly=1 device:\DosDevices\RPIQ@4=0x80000000' \
    --allocation-data "1:u32 size:u32 1:u32*2 size:u32 1:u32*2 0:u32*4 28:u32 1:u32 0:u32 1:u32*2 0:u32*13 width:u32 height:u32 size:u32" \
    --command-data "0x52534342:u32 0:u32 1:u32 0:u32*5"
echo "both samples are played, and nothing but the known is found"
