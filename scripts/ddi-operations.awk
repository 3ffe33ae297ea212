# Makes src/miniport/operation_table.inc from the fact tables (after ddi-layout.awk on the command line): a row
# OPERATION(name, initializers of struct miniport_operation) for each paging operation, in the order of their
# values, and behind them BUSY(name, rule of the contract about ALLOCATION_BUSY). Offsets are those in
# DXGKARG_BUILDPAGINGBUFFER. scripts/operation-table.sh writes or compares it.

function put(text) {
    if (length(line) + length(text) + 2 > 98) {
        print line ","
        line = "         "
    } else if (line !~ /^ *$/) {
        line = line ","
    }
    line = line " " text
}

function member_text(value, path) {
    must_find_member(value, path)
    return "{\"" path "\", " found_at ", " size[found_struct, found_index] "}"
}

function put_member(value, field) {
    if (fact[value, field] != "")
        put("." field " = " member_text(value, fact[value, field]))
}

function put_bit(value, field, path) {
    if (find_member(value, path))
        put("." field " = {" found_at ", UINT32_C(1) << " bit[found_struct, found_index] "}")
}

# "TransferSize:bytes"
function put_extent(value, field,    parts) {
    if (fact[value, field] == "")
        return
    split(fact[value, field], parts, ":")
    if (parts[2] !~ /^(bytes|pages|entries|ranges|fences)$/)
        fail("operations.tsv: no unit in " fact[value, field])
    put("." field " = {" member_text(value, parts[1]) ", MINIPORT_UNIT_" toupper(parts[2]) "}")
}

# The type of a member that says where something is says in which terms. Where the operation has a SegmentId beside an
# address with one, the operation's counts: the address may be an MDL.
function put_place(value, field,    path, text, segment, t) {
    path = fact[value, field]
    if (path == "")
        return
    text = member_text(value, path)
    t = type[found_struct, found_index]
    segment = path
    if (!sub(/\.[^.]*$/, ".SegmentId", segment))
        segment = "SegmentId"
    if (t == "D3DGPU_VIRTUAL_ADDRESS" || t == "UINT64")
        text = "{MINIPORT_PLACE_VIRTUAL, {NULL, 0, 0}, " text "}"
    else if (t == "D3DGPU_PHYSICAL_ADDRESS")
        text = "{MINIPORT_PLACE_OFFSET, " \
               member_text(value, find_member(value, segment) ? segment : path ".SegmentId") ", " \
               member_text(value, path ".SegmentOffset") "}"
    else
        text = "{MINIPORT_PLACE_" (t == "SIZE_T" ? "SLOT" : "ADDRESS") ", " \
               member_text(value, segment) ", " text "}"
    put("." field " = " text)
}

# "pRanges:NumRanges": elements and how many they are
function put_arrays(value,    parts, i, n, pair, text, element) {
    n = split(fact[value, "arrays"], parts, " ")
    for (i = 1; i <= n; i++) {
        split(parts[i], pair, ":")
        text = member_text(value, pair[1])
        element = type[found_struct, found_index]
        if (!sub(/\*$/, "", element) || !((element, "(sizeof)") in place))
            fail("layout-x64.tsv: " pair[1] " points at no structure")
        put(".arrays[" i - 1 "] = {" text ", " member_text(value, pair[2]) ", \"" element "\", " \
            size[element, place[element, "(sizeof)"]] "}")
    }
}

END {
    if (is_failed)
        exit 1
    print "/* Made from data/ddi by scripts/operation-table.sh; see miniport/operation.h. */"
    for (v = 0; v < operations; v++) {
        if (!(v in operation))
            fail("operations.tsv: no operation has the value " v)
        line = "OPERATION(" operation[v]
        must_find_member(v, "")
        put(".member = {\"" fact[v, "member"] "\", " found_at ", " size[found_struct, found_index] "}")
        put(".kind = MINIPORT_KIND_" toupper(fact[v, "kind"]))
        put_member(v, "allocation")
        put_member(v, "process")
        put_extent(v, "offset")
        put_extent(v, "size")
        put_place(v, "source")
        put_place(v, "destination")
        put_member(v, "list_offset")
        put_arrays(v)
        put_bit(v, "is_idle", "Flags.AllocationIsIdle")
        put_bit(v, "is_end", "Flags.TransferEnd")
        print line ")"
    }
    for (v = 0; v < operations; v++) {
        rule = fact[v, "busy"]
        sub(/-/, "_", rule)
        if (rule != "")
            print "BUSY(" operation[v] ", " rule ")"
    }
}
