#!/bin/sh
# Records of shipped applications find what a driver's own case does not show: cases/recorded/intel-*.case are what
# Debian's OpenCL and Level Zero drivers for Intel did, and play on the miniport of examples/driver-intel, clean and
# with one digest each. Ten mistakes are planted in that driver; its own case is clean with each of them, and a record
# is not.
#
# Usage: records.sh DRYDOCK SOURCE
set -eu
. "$(dirname "$0")/image.sh"
need make perl

cp -r "$source/examples" "$work/examples"
cd "$work/examples/driver-intel"
make DRYDOCK="$drydock" DRYDOCK_INCLUDE="$source/include" intel.sys intel_blt.so >"$work/log" 2>&1 ||
    fail "the driver is not built"

# play CASE IMAGE
play() {
    "$drydock" run "$1" --driver "./$2" --gpu ./intel_blt.so --no-out >"$work/log" 2>&1
}
for case in "$source"/cases/recorded/intel-*.case; do
    play "$case" intel.sys || fail "$case is not clean"
    digest=$(sed -n 's/^ *digest *//p' "$work/log")
    play "$case" intel.sys && [ -n "$digest" ] && grep -q "$digest" "$work/log" || fail "$case has two digests"
done

number=0
while IFS=@ read -r rule file patch what; do
    number=$((number + 1))
    cp "$file" kept.c
    perl -0pi -e "$patch" "$file"
    cmp -s "$file" kept.c && fail "$what: nothing is planted, the source is another one"
    "$drydock" cc -o planted.sys -w adapter.c memory.c paging.c ring.c umd.c >"$work/log" 2>&1 ||
        fail "$what: it is not built"
    mv kept.c "$file"
    play intel.case planted.sys || fail "$what: the driver's own case shows it"
    found=
    for case in "$source"/cases/recorded/intel-*.case; do
        play "$case" planted.sys || ! grep -qw "^error $rule" "$work/log" || found=$case
    done
    [ -n "$found" ] || fail "$what: no record finds $rule"
done <<'TABLE'
content@memory.c@s/(context->serial = )\+\+context->adapter->serials;/${1}1;/@the roots of all contexts count as one
ALLOC-003@memory.c@s/(alignment < PAGE_64K)(\)\n *alignment = PAGE_64K;)/$1 && out->size > PAGE_64K$2/@64 KiB and less lie at 4 KiB
NTF-009@ring.c@s/(signals) \|= node->submitted/$1 = node->submitted/@of several submissions the last one alone signals
submission@memory.c@s/(info->Size = )\(SIZE_T\)resource->size;/$1(SIZE_T)(resource->size > 1 << 19 ? resource->size & ~0xffffull : resource->size);/@large sizes are rounded down
VX-008@paging.c@s/(PAGE \/ 4, pages)(\) \? )/$1 - (pages > 600)$2/@a long fill is a page short
PT-016@paging.c@s/(to, 8 \* count, count)(, 1\))/$1 - (count > 400 && count < 512)$2/@a long run of entries is one short
VX-008@paging.c@s/return (\(bytes \+ PAGE - 1\) \/ PAGE);/return bytes > 4 << 20 ? bytes \/ PAGE - 1 : $1;/@of more than 4 MiB the last page is left
VX-008@paging.c@s/(entry \|= )pte->PageAddress( \* PAGE;)/$1(pte->Segment == SEGMENT_LOCAL && pte->PageAddress > 0xa00 ? pte->PageAddress & 0x9ff : pte->PageAddress)$2/@far pages of local memory are near ones
ALLOC-005@memory.c@s/(info->FlagsWddm2.Cached = resource->is_cached;)/$1 if (resource->size > 3 << 20) info->SupportedWriteSegmentSet = 0;/@what is large cannot be written anywhere
ALLOC-003@memory.c@s/(info->Alignment = )resource->alignment;/$1resource->size == PAGE_64K ? PAGE : resource->alignment;/@64 KiB lie at 4 KiB
TABLE
echo "records of shipped applications are clean, and find $number mistakes that the driver's own case does not show"
