# Makes the table of members that `drydock ops` reports on from data/ddi/layout-x64.tsv:
# MEMBER(group, name, offset, size, first bit or -1, bits) for src/coverage/coverage_table.c.
# Structures that lie in another one by value are spelled out; alternatives that name the same
# bits as a whole (Value) are left out.

BEGIN {
    FS = "\t"
    split("Transfer Fill DiscardContent ReadPhysical WritePhysical MapApertureSegment " \
          "UnmapApertureSegment SpecialLockTransfer TransferVirtual FillVirtual " \
          "InitContextResource UpdatePageTable FlushTlb UpdateContextAllocation " \
          "CopyPageTableEntries NotifyResidency SignalMonitoredFence MapApertureSegment2 " \
          "NotifyFenceResidency MmapMmu UnmapMmu NotifyResidency2 NotifyAllocation", order, " ")
    for (i in order)
        operation[order[i]] = i - 1
    is_leaf["LARGE_INTEGER"] = is_leaf["PHYSICAL_ADDRESS"] = 1
}

NR > 1 {
    n = count[$1]++
    if ($2 == "(sizeof)") {
        is_struct[$1] = 1
        next
    }
    name[$1, n] = $2; type[$1, n] = $3; offset[$1, n] = $4; size[$1, n] = $5
    bit[$1, n] = $6; width[$1, n] = $7
    if ($6 != "")
        has_bits[$1, $4] = 1
}

function emit(group, s, prefix, base,    i, full) {
    for (i = 0; i < count[s]; i++) {
        if (name[s, i] == "" || type[s, i] == "struct" || type[s, i] == "union")
            continue
        if (bit[s, i] == "" && has_bits[s, offset[s, i]])
            continue
        full = prefix name[s, i]
        if (type[s, i] in is_struct && !(type[s, i] in is_leaf)) {
            emit(group, type[s, i], full ".", base + offset[s, i])
        } else {
            printf "MEMBER(%s, \"%s\", %d, %d, %d, %d)\n", group, full, base + offset[s, i],
                   size[s, i], bit[s, i] == "" ? -1 : bit[s, i], bit[s, i] == "" ? 0 : width[s, i]
        }
    }
}

END {
    s = "DXGKARG_BUILDPAGINGBUFFER"
    for (i = 0; i < count[s]; i++) {
        split(name[s, i], parts, ".")
        if (name[s, i] == "" || parts[1] == "Reserved" || type[s, i] == "struct")
            continue
        if (!(parts[1] in operation)) {
            printf "MEMBER(COVERAGE_BUILD, \"%s\", %d, %d, -1, 0)\n", name[s, i], offset[s, i],
                   size[s, i]
            continue
        }
        inner = substr(name[s, i], length(parts[1]) + 2)
        if (type[s, i] in is_struct && !(type[s, i] in is_leaf))
            emit(operation[parts[1]], type[s, i], inner == "" ? "" : inner ".", offset[s, i])
        else
            printf "MEMBER(%d, \"%s\", %d, %d, -1, 0)\n", operation[parts[1]], inner,
                   offset[s, i], size[s, i]
    }
    emit("COVERAGE_PATCH", "DXGKARG_PATCH", "", 0)
    emit("COVERAGE_ALLOCATION_LIST", "DXGK_ALLOCATIONLIST", "", 0)
    emit("COVERAGE_PATCH_LOCATION_LIST", "D3DDDI_PATCHLOCATIONLIST", "", 0)
    emit("COVERAGE_PTE", "DXGK_PTE", "", 0)
    emit("COVERAGE_COPY_RANGE", "DXGK_BUILDPAGINGBUFFER_COPY_RANGE", "", 0)
    emit("COVERAGE_FENCE_RESIDENCY", "DXGK_FENCE_RESIDENCY_INFO", "", 0)
    emit("COVERAGE_SEGMENT", "DXGK_SEGMENTDESCRIPTOR", "", 0)
    emit("COVERAGE_SEGMENT3", "DXGK_SEGMENTDESCRIPTOR3", "", 0)
    emit("COVERAGE_SEGMENT4", "DXGK_SEGMENTDESCRIPTOR4", "", 0)
}
