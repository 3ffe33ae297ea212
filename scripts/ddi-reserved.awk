# Makes the table of src/check/watchers/work/check_reserved.c from the fact tables (after ddi-layout.awk on the
# command line): the members of structures that are reserved, in the order of the structures.
#
#   RESERVED("structure", "member", offset, size, bit, bits)
#   SLOT("member", offset): a function's, of DRIVER_INITIALIZATION_DATA
#
# bits 0: the whole member. What lies in a structure by value is part of it. Of the union of
# DXGKARG_BUILDPAGINGBUFFER each member is a structure of its own, "DXGKARG_BUILDPAGINGBUFFER/0" for
# operation 0. Left out are arrays, padding, and bits that have a name in another version (so
# those of DXGK_GAMMARAMPCAPS, which lies where DXGK_COLORTRANSFORMCAPS does). EngineOrdinal of
# DXGKARG_PATCH has another name, and its page calls it reserved.

function is_reserved(s, i) {
    if (s == "DXGKARG_PATCH" && name[s, i] == "EngineOrdinal")
        return 1
    return name[s, i] ~ /(^|\.)Reserved[0-9]*$/ && type[s, i] ~ /^(UINT|UINT16|UINT32|ULONG|ULONGLONG|SIZE_T)$/
}

function emit(root, s, prefix, base,    i) {
    for (i = 0; i < count[s]; i++) {
        if (name[s, i] == "(sizeof)" || name[s, i] == "")
            continue
        if (is_reserved(s, i))
            row(root, s, i, prefix, base)
        else if (type[s, i] in is_struct && type[s, i] !~ /^(LARGE_INTEGER|PHYSICAL_ADDRESS|DXGK_GAMMARAMPCAPS)$/)
            emit(root, type[s, i], prefix name[s, i] ".", base + offset[s, i])
    }
}

# Of the table that a driver registers, in which a reserved member has the place of a pointer.
function emit_registered(s,    i) {
    for (i = 0; i < count[s]; i++) {
        if (name[s, i] ~ /^Reserved[0-9]*$/)
            row(s, s, i, "", 0)
        else if (name[s, i] ~ /^DxgkDdi/) {
            printf "SLOT(\"%s\", %d)\n", name[s, i], offset[s, i]
            slots++
        }
    }
}

# The first reserved bit: a named one may lie in the same word of a union (NOTIFYRESIDENCY).
function first_bit(s, i,    j, first) {
    first = bit[s, i] + 0
    for (j = 0; j < count[s]; j++) {
        if (j != i && bit[s, j] != "" && offset[s, j] == offset[s, i] && !is_reserved(s, j) &&
            bit[s, j] + 0 >= bit[s, i] + 0 && bit[s, j] + width[s, j] > first && bit[s, j] + 0 <= first)
            first = bit[s, j] + width[s, j]
    }
    return first
}

function row(root, s, i, prefix, base,    first) {
    first = bit[s, i] == "" ? 0 : first_bit(s, i)
    printf "RESERVED(\"%s\", \"%s%s\", %d, %d, %d, %d)\n", root, prefix, name[s, i], base + offset[s, i],
           size[s, i], first, bit[s, i] == "" ? 0 : bit[s, i] + width[s, i] - first
    rows++
}

# The common members first, then a structure for each operation.
function emit_operations(s,    i, op, parts) {
    for (op = 0; op < operations; op++) {
        for (i = 0; i < count[s]; i++) {
            split(name[s, i], parts, ".")
            if (!(parts[1] in operation_of) || operation_of[parts[1]] != op)
                continue
            if (is_reserved(s, i))
                row(s "/" op, s, i, "", 0)
            else if (type[s, i] in is_struct)
                emit(s "/" op, type[s, i], name[s, i] ".", offset[s, i])
        }
    }
}

END {
    if (is_failed)
        exit 1
    answers["DXGK_SEGMENTDESCRIPTOR"]
    answers["DXGK_SEGMENTDESCRIPTOR3"]
    answers["DXGK_SEGMENTDESCRIPTOR4"]
    answers["DXGK_DRIVERCAPS"]
    answers["DXGK_GPUMMUCAPS"]
    answers["DXGK_PHYSICALADAPTERCAPS"]
    answers["DXGK_DEVICEINFO"]
    for (n = 1; n <= structures; n++) {
        if (structure[n] == "DXGKARG_BUILDPAGINGBUFFER")
            emit_operations(structure[n])
        else if (structure[n] == "DRIVER_INITIALIZATION_DATA")
            emit_registered(structure[n])
        else if (structure[n] ~ /^DXGKARG(CB)?_/ || structure[n] in answers)
            emit(structure[n], structure[n], "", 0)
    }
    if (rows < 70 || slots < 100) {
        print "ddi-reserved.awk: " rows " reserved members and " slots " slots, expected at least 70 and 100" > "/dev/stderr"
        exit 1
    }
}
