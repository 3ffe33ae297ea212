# Makes the tables of src/check/report/decode.c from the fact tables (after ddi-layout.awk on the command line):
#
#   ENUMERATOR("group", value, "name")
#   FIELD("structure", "name", offset, size, kind, bit, bits, wddm, "enumeration", when,
#         size of when, is_equal, value)
#
# for the structures that calls and callbacks hand over (DXGKARG...), and for elements of the
# arrays that they point at. What lies in them by value is spelled out; a word of bit-fields is a
# row and one for each bit-field behind it. A member that has the word at `when` to decide about it
# (which paging operation, which interrupt, page list or address) is there if that word is_equal,
# or is not, to the value.

function kind_of(t, field) {
    if (t ~ /\*$/ || t ~ /^P(VOID|MDL)$/ || t ~ /^POBJECT/ || t ~ /^PDXGK/)
        return "POINTER"
    if (t == "HANDLE")
        return "HANDLE"
    if (t == "NTSTATUS")
        return "STATUS"
    if (t == "BOOLEAN")
        return "BOOLEAN"
    if (t in is_enum)
        return "ENUM"
    if (t == "LONG")
        return "SIGNED"
    if (t ~ /_ADDRESS$/ || t == "LARGE_INTEGER" || t == "DXGK_PAGE_NUMBER" ||
        field ~ /(Address|Pattern|Protection|Mask|Set|SegmentOffset)$/)
        return "HEX"
    return "NUMBER"
}

function row(s, full, at, bytes, kind, first_bit, bits, wddm, enumeration) {
    printf "FIELD(\"%s\", \"%s\", %d, %d, DECODE_%s, %d, %d, ", s, full, at, bytes, kind, first_bit,
           bits
    printf "%d, \"%s\", %d, %d, %d, %d)\n", wddm, enumeration, when_at, when_size, when_is_equal,
           when_value
}

function is_spelled_out(t) {
    return t in is_struct && t !~ /^(LARGE_INTEGER|PHYSICAL_ADDRESS)$/
}

# Members of structure s, which begins at base in the outer structure root. s lies in the structure
# `outer`, which begins at outer_base, under the names that begin with `inside`.
function emit(root, s, prefix, base, outer_level, outer, inside, outer_base,
              i, full, l, old_at, old_size, old_equal, old_value) {
    for (i = 0; i < count[s]; i++) {
        if (is_left_out(s, i))
            continue
        if (bit[s, i] == "" && has_bits[s, offset[s, i]] && !(type[s, i] in is_struct))
            continue
        full = prefix name[s, i]
        l = max_of(wddm_of(level[s, i]), outer_level)
        old_at = when_at; old_size = when_size; old_equal = when_is_equal; old_value = when_value
        alternative(s, i, base, outer, inside, outer_base)
        if (bit[s, i] != "") {
            if (!((root, prefix, offset[s, i]) in word_told)) {
                word_told[root, prefix, offset[s, i]] = 1
                row(root, prefix == "" ? "Flags" : substr(prefix, 1, length(prefix) - 1),
                    base + offset[s, i], size[s, i], "FLAGS", 0, 0, l, "")
            }
            row(root, name[s, i], base + offset[s, i], size[s, i], "BIT", bit[s, i], width[s, i],
                l, "")
        } else if (is_spelled_out(type[s, i])) {
            emit(root, type[s, i], full ".", base + offset[s, i], l, s, name[s, i] ".", base)
        } else {
            row(root, full, base + offset[s, i], size[s, i], kind_of(type[s, i], full), 0, 0, l,
                type[s, i] in is_enum ? type[s, i] : "")
        }
        condition(old_at, old_size, old_equal, old_value)
    }
}

# What is no member of its own, and all but one of the names for the same bytes.
function is_left_out(s, i) {
    if (name[s, i] == "" || name[s, i] == "(sizeof)" || type[s, i] == "struct" || type[s, i] == "union" ||
        type[s, i] ~ /\[/ || name[s, i] ~ /(^|\.)(Reserved|Padding)[0-9]*$/)
        return 1
    if ((s, name[s, i]) in other_names)
        return 1
    return name[s, i] == "hDevice" && (s, "hContext") in place &&
           offset[s, place[s, "hContext"]] == offset[s, i]
}

# A structure whose union is told by a word of it: the common members, then a group for each value.
function emit_choice(s, groups,    i, parts, g, start, end) {
    start = offset[s, place[s, "Reserved"]] + 0 # a member of the union, as large as it is
    end = start + size[s, place[s, "Reserved"]]
    for (i = 0; i < count[s]; i++) {
        split(name[s, i], parts, ".")
        if (is_left_out(s, i))
            continue
        g = s
        if (offset[s, i] >= start && offset[s, i] < end) {
            if (!(parts[1] in groups))
                continue
            g = s "/" groups[parts[1]]
        }
        condition(0, 0, 1, 0)
        alternative(s, i, 0, "")
        if (is_spelled_out(type[s, i]))
            emit(g, type[s, i], name[s, i] ".", offset[s, i], wddm_of(level[s, i]), s,
                 name[s, i] ".", 0)
        else
            row(g, name[s, i], offset[s, i], size[s, i], kind_of(type[s, i], name[s, i]), 0, 0,
                wddm_of(level[s, i]), type[s, i] in is_enum ? type[s, i] : "")
    }
}

END {
    if (is_failed)
        exit 1
    for (i = 1; i <= enumerators; i++) {
        if (enumerator_group[i] == "NTSTATUS" && enumerator[enumerator_name[i]] in status_seen)
            continue
        if (enumerator_group[i] == "NTSTATUS")
            status_seen[enumerator[enumerator_name[i]]] = 1
        printf "ENUMERATOR(\"%s\", %s, \"%s\")\n", enumerator_group[i],
               enumerator[enumerator_name[i]], enumerator_name[i]
    }
    interrupts["DmaCompleted"] = enumerator["DXGK_INTERRUPT_DMA_COMPLETED"]
    interrupts["DmaPreempted"] = enumerator["DXGK_INTERRUPT_DMA_PREEMPTED"]
    interrupts["DmaFaulted"] = enumerator["DXGK_INTERRUPT_DMA_FAULTED"]
    interrupts["DmaPageFaulted"] = enumerator["DXGK_INTERRUPT_DMA_PAGE_FAULTED"]
    interrupts["MonitoredFenceSignaled"] = enumerator["DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED"]
    callbacks["DXGKARGCB_CREATECONTEXTALLOCATION"]
    callbacks["DXGKARGCB_UPDATECONTEXTALLOCATION"]
    callbacks["DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE"]
    callbacks["DXGKARGCB_GETHANDLEDATA"]
    elements["DXGK_ALLOCATIONINFO"]
    elements["DXGK_ALLOCATIONLIST"]
    elements["DXGK_OPENALLOCATIONINFO"]
    elements["DXGK_PTE"]
    elements["D3DDDI_PATCHLOCATIONLIST"]
    other_names["DXGK_ALLOCATIONINFO", "MinimumPageSize"]
    other_names["DXGK_ALLOCATIONINFO", "RecommendedPageSize"]
    other_names["DXGK_ALLOCATIONINFO", "MmuSet"]
    other_names["DXGK_ALLOCATIONINFO", "PhysicalAdapterIndex"]
    other_names["DXGK_ALLOCATIONINFO", "FlagsWddm2"]
    other_names["DXGK_ALLOCATIONLIST", "VirtualAddress"]
    other_names["DXGK_PTE", "PageTableAddress"]
    for (i in interrupts) {
        if (interrupts[i] == "") {
            print "ddi-fields.awk: no value for the interrupt of " i > "/dev/stderr"
            exit 1
        }
    }
    for (i = 1; i <= structures; i++) {
        condition(0, 0, 1, 0)
        if (structure[i] == "DXGKARG_BUILDPAGINGBUFFER")
            emit_choice(structure[i], operation_of)
        else if (structure[i] == "DXGKARGCB_NOTIFY_INTERRUPT_DATA")
            emit_choice(structure[i], interrupts)
        else if (structure[i] ~ /^DXGKARG_/ || structure[i] in callbacks ||
                 structure[i] in elements)
            emit(structure[i], structure[i], "", 0, 0, "", "", 0)
    }
}
