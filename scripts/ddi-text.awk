# Makes the table of what a trace line shows of a paging operation from the fact tables (after ddi-layout.awk on
# the command line): TEXT(operation, "name", form, beside, offset, bytes, first bit, bits, when, size of when,
# is_equal, value) for src/trace/trace_paging.c, in the order of the line; and behind all rows
# LINE(operation, index of the first one, how many).
#
# A line shows the members in their order, each in the form that its type has; or what the column `text` of
# operations.tsv lists: name=member:form, where the name is the member's and the form its type's unless they
# are written. A segment and an address in it are one field, PLACE: `beside` is the offset of the segment. Of
# a handle `beside` is the kind of object.

function form_of(t, path) {
    if (t == "HANDLE")
        return "HANDLE"
    if (t == "PMDL" || t == "MDL*")
        return "MDL"
    if (t == "DXGK_ADL")
        return "ADL"
    if (t == "D3DGPU_PHYSICAL_ADDRESS")
        return "GPU_PHYSICAL"
    if (t == "PVOID" || t == "VOID*")
        return "CPU_ADDRESS"
    if (path ~ /(^|\.)SegmentAddress$/)
        return "PLACE"
    if (t ~ /^(LARGE_INTEGER|PHYSICAL_ADDRESS|D3DGPU_VIRTUAL_ADDRESS)$/ || t ~ /FLAGS$/ ||
        path ~ /(Pattern|Protection)$/)
        return "HEX"
    if (t in is_struct || t ~ /\*$/)
        fail("operations.tsv: how a trace line shows " path " must stand in `text`")
    return "NUMBER"
}

function handle_kind(path) {
    if (path ~ /hAllocation$/)
        return "ALLOCATION"
    if (path ~ /hDevice$/)
        return "DEVICE"
    if (path ~ /hProcess$|hKmdProcessHandle$/)
        return "PROCESS"
    fail("ddi-text.awk: what kind of object is " path "?")
}

function segment_of(path) {
    return sub(/\.[^.]*$/, ".SegmentId", path) ? path : "SegmentId"
}

function put(v, shown, path, form,    beside, s, i) {
    beside = 0
    must_find_member(v, path)
    s = found_struct; i = found_index
    if (form == "")
        form = form_of(type[s, i], path)
    if (shown == "") {
        shown = path
        if (form == "PLACE" && !sub(/\.[^.]*$/, "", shown))
            shown = "Segment"
    }
    printf "TEXT(%d, \"%s\", %s, ", v, shown, toupper(form)
    at = found_at
    text = sprintf("%d, %d, %d, %d, %d, %d, %d, %d)", found_at, size[s, i], bit[s, i], width[s, i],
                   when_at, when_size, when_is_equal, when_value)
    if (form == "HANDLE")
        beside = "TRACE_HANDLE_" handle_kind(path)
    if (form == "PLACE") {
        must_find_member(v, segment_of(path))
        beside = found_at
    }
    print beside ", " text
    rows++
}

function put_listed(v, list,    words, n, i, shown, path, form) {
    n = split(list, words, " ")
    for (i = 1; i <= n; i++) {
        shown = form = ""
        path = words[i]
        if (path ~ /=/) {
            shown = path
            sub(/=.*/, "", shown)
            sub(/.*=/, "", path)
        }
        if (path ~ /:/) {
            form = path
            sub(/.*:/, "", form)
            sub(/:.*/, "", path)
        }
        put(v, shown, path, form)
    }
}

# Whether a line shows the member by itself.
function is_shown(v, s, i, path) {
    if (name[s, i] == "(sizeof)" || type[s, i] == "struct" || type[s, i] == "union" ||
        path ~ /(^|\.)(Reserved|Padding)[0-9]*$/)
        return 0
    if (path ~ /(^|\.)SegmentId$/) {
        sub(/SegmentId$/, "SegmentAddress", path)
        return !find_member(v, path)
    }
    return 1
}

function put_all(v,    s, prefix, i, path) {
    must_find_member(v, "")
    s = found_struct
    prefix = fact[v, "member"] "."
    if (type[s, found_index] in is_struct) {
        s = type[s, found_index]
        prefix = ""
    }
    for (i = 0; i < count[s]; i++) {
        if (index(name[s, i], prefix) != 1)
            continue
        path = substr(name[s, i], length(prefix) + 1)
        if (is_shown(v, s, i, path))
            put(v, "", path, "")
    }
}

END {
    if (is_failed)
        exit 1
    for (v = 0; v < operations; v++) {
        first[v] = rows + 0
        if (fact[v, "text"] != "")
            put_listed(v, fact[v, "text"])
        else
            put_all(v)
    }
    first[v] = rows
    for (v = 0; v < operations; v++)
        printf "LINE(%d, %d, %d)\n", v, first[v], first[v + 1] - first[v]
}
