# Reads the fact tables of data/ddi that stand on the command line, for the scripts that make tables of C from
# them: awk -f scripts/ddi-layout.awk -f scripts/<what>.awk data/ddi/enums.tsv data/ddi/operations.tsv
# data/ddi/alternatives.tsv data/ddi/layout-x64.tsv
#
#   enumerator[name]                 value; enumerators, enumerator_name[i], enumerator_group[i]: in order
#   operations, operation[value]     how many paging operations there are, and their names: TRANSFER
#   fact[value, column]              a cell of operations.tsv: fact[0, "member"] is Transfer
#   operation_of[member]             the operation whose arguments are this member of the union
#   structures, structure[i]         names in order; is_struct[name]
#   count[s], name[s, i], type[s, i], offset[s, i], size[s, i], bit[s, i], width[s, i], level[s, i]
#   place[s, name]                   the index i of a member
#   has_bits[s, offset]              bit-fields lie there
#
# alternative(s, i) and what it sets say when a member of several that share their bytes is the one
# that is meant.

BEGIN { FS = "\t" }

function fail(text) {
    print "data/ddi: " text > "/dev/stderr"
    is_failed = 1
    exit 1
}

FNR == 1 {
    table = FILENAME
    sub(/.*\//, "", table)
    for (i = 1; i <= NF; i++)
        column[i] = $i
    next
}

table == "enums.tsv" {
    if ($3 !~ /^(0x[0-9A-Fa-f]+|[0-9]+)$/)
        next
    enumerator[$1] = $3
    enumerator_name[++enumerators] = $1
    enumerator_group[enumerators] = $2
    is_enum[$2] = 1
    next
}

table == "operations.tsv" {
    if (!(("DXGK_OPERATION_" $1) in enumerator))
        fail("enums.tsv has no DXGK_OPERATION_" $1)
    value = enumerator["DXGK_OPERATION_" $1] + 0
    operation[value] = $1
    operation_of[$2] = value
    operations++
    for (i = 1; i <= NF; i++)
        fact[value, column[i]] = $i
    next
}

table == "alternatives.tsv" {
    decided_by[$1, $2] = $3
    decided_is[$1, $2] = $4 == "is"
    decided_value[$1, $2] = $5 in enumerator ? enumerator[$5] : $5
    next
}

table == "layout-x64.tsv" {
    n = count[$1]++
    if ($2 == "(sizeof)") {
        is_struct[$1] = 1
        structure[++structures] = $1
    }
    sub(/^DXGK_SEGMENTPREFERENCE$/, "D3DDDI_SEGMENTPREFERENCE", $3)
    name[$1, n] = $2; type[$1, n] = $3; offset[$1, n] = $4 + 0; size[$1, n] = $5 + 0
    bit[$1, n] = $6; width[$1, n] = $7; level[$1, n] = $8
    place[$1, $2] = n
    if ($6 != "")
        has_bits[$1, $4 + 0] = 1
}

function max_of(a, b) {
    return a > b ? a : b
}

# 21 for "2.1"; 0: not known, or always.
function wddm_of(text,    parts) {
    if (text == "")
        return 0
    split(text, parts, ".")
    return parts[1] * 10 + parts[2]
}

# ---- Conditions ----

# The row that is being made is there if the word at when_at is (or is not) the value; no word: always.
function condition(at, bytes, is_equal, value) {
    when_at = at; when_size = bytes; when_is_equal = is_equal; when_value = value
}

# Sets the condition if member `full` of structure s, which begins at base, is one of several alternatives.
function decide(s, full, base,    by) {
    if (!((s, full) in decided_by))
        return 0
    by = decided_by[s, full]
    if (!((s, by) in place))
        fail("alternatives.tsv: " s " has no " by)
    by = place[s, by]
    condition(base + offset[s, by], size[s, by], decided_is[s, full], decided_value[s, full])
    return 1
}

# Member i of structure s, which begins at base; outer, prefix and outer_base tell of what s lies in.
function alternative(s, i, base, outer, prefix, outer_base) {
    if (!decide(s, name[s, i], base) && outer != "")
        decide(outer, prefix name[s, i], outer_base)
}

# ---- Members of an operation ----

# The member `path` of the operation's arguments, wherever it lies: found_struct and found_index name its row,
# found_at is its offset in DXGKARG_BUILDPAGINGBUFFER. Sets the condition under which it is meant. 0: there is
# no such member.
function find_member(value, path,    s, base, outer, prefix, outer_base, head, rest) {
    s = "DXGKARG_BUILDPAGINGBUFFER"
    base = 0
    rest = fact[value, "member"] (path == "" ? "" : "." path)
    while (!((s, rest) in place)) { # it lies in a structure that is a member of this one
        head = rest
        while (!((s, head) in place) && sub(/\.[^.]*$/, "", head))
            ;
        if (!((s, head) in place) || !(type[s, place[s, head]] in is_struct))
            return 0
        rest = substr(rest, length(head) + 2)
        outer = s; prefix = head "."; outer_base = base
        base += offset[s, place[s, head]]
        s = type[s, place[s, head]]
    }
    found_struct = s
    found_index = place[s, rest]
    found_at = base + offset[s, found_index]
    condition(0, 0, 1, 0)
    alternative(s, found_index, base, outer, prefix, outer_base)
    return 1
}

function must_find_member(value, path) {
    if (!find_member(value, path))
        fail("layout-x64.tsv: " fact[value, "member"] " has no " path)
}
