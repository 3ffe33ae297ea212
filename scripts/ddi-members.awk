# Makes the table of members that `drydock ops` reports on from the fact tables (after ddi-layout.awk on the
# command line): MEMBER(group, name, offset, size, first bit or -1, bits, is_address, when, size of when,
# is_equal, value) for src/coverage/coverage_table.c. Structures that lie in another one by value are spelled
# out; alternatives that name the same bits as a whole (Value) are left out. A member that shares its
# bytes with others is meant if the word at `when` is_equal, or is not, to the value.

function member(group, full, at, bytes, first_bit, bits, t) {
    printf "MEMBER(%s, \"%s\", %d, %d, %d, %d, %d, %d, %d, %d, %d)\n", group, full, at, bytes,
           first_bit == "" ? -1 : first_bit, first_bit == "" ? 0 : bits,
           t ~ /\*$|^(HANDLE|PVOID|PMDL)$/, when_at, when_size, when_is_equal, when_value
}

function is_leaf(t) {
    return !(t in is_struct) || t ~ /^(LARGE_INTEGER|PHYSICAL_ADDRESS)$/
}

# Members of structure s, which begins at base; s lies in `outer`, which begins at outer_base, under
# the names that begin with `inside`.
function emit(group, s, prefix, base, outer, inside, outer_base,
              i, old_at, old_size, old_equal, old_value) {
    for (i = 0; i < count[s]; i++) {
        if (name[s, i] == "" || name[s, i] == "(sizeof)" || type[s, i] == "struct" ||
            type[s, i] == "union" || (bit[s, i] == "" && has_bits[s, offset[s, i]]))
            continue
        old_at = when_at; old_size = when_size; old_equal = when_is_equal; old_value = when_value
        alternative(s, i, base, outer, inside, outer_base)
        if (is_leaf(type[s, i]))
            member(group, prefix name[s, i], base + offset[s, i], size[s, i], bit[s, i],
                   width[s, i], type[s, i])
        else
            emit(group, type[s, i], prefix name[s, i] ".", base + offset[s, i], s,
                 name[s, i] ".", base)
        condition(old_at, old_size, old_equal, old_value)
    }
}

function emit_structure(group, s) {
    condition(0, 0, 1, 0)
    emit(group, s, "", 0, "", "", 0)
}

END {
    if (is_failed)
        exit 1
    s = "DXGKARG_BUILDPAGINGBUFFER"
    for (i = 0; i < count[s]; i++) {
        split(name[s, i], parts, ".")
        if (name[s, i] == "" || name[s, i] == "(sizeof)" || parts[1] == "Reserved" ||
            type[s, i] == "struct")
            continue
        condition(0, 0, 1, 0)
        alternative(s, i, 0, "")
        inner = substr(name[s, i], length(parts[1]) + 2)
        if (!(parts[1] in operation_of))
            member("COVERAGE_BUILD", name[s, i], offset[s, i], size[s, i], "", 0, type[s, i])
        else if (is_leaf(type[s, i]))
            member(operation_of[parts[1]], inner, offset[s, i], size[s, i], "", 0, type[s, i])
        else
            emit(operation_of[parts[1]], type[s, i], inner == "" ? "" : inner ".", offset[s, i], s,
                 name[s, i] ".", 0)
    }
    emit_structure("COVERAGE_RENDER", "DXGKARG_RENDER")
    emit_structure("COVERAGE_RENDER_KM", "DXGKARG_RENDER")
    emit_structure("COVERAGE_RENDER_GDI", "DXGKARG_RENDERGDI")
    emit_structure("COVERAGE_DRAWING", "DXGK_RENDERKM_COMMAND")
    emit_structure("COVERAGE_PATCH", "DXGKARG_PATCH")
    emit_structure("COVERAGE_ALLOCATION_LIST", "DXGK_ALLOCATIONLIST")
    emit_structure("COVERAGE_PATCH_LOCATION_LIST", "D3DDDI_PATCHLOCATIONLIST")
    emit_structure("COVERAGE_PTE", "DXGK_PTE")
    emit_structure("COVERAGE_COPY_RANGE", "DXGK_BUILDPAGINGBUFFER_COPY_RANGE")
    emit_structure("COVERAGE_FENCE_RESIDENCY", "DXGK_FENCE_RESIDENCY_INFO")
    emit_structure("COVERAGE_SEGMENT", "DXGK_SEGMENTDESCRIPTOR")
    emit_structure("COVERAGE_SEGMENT3", "DXGK_SEGMENTDESCRIPTOR3")
    emit_structure("COVERAGE_SEGMENT4", "DXGK_SEGMENTDESCRIPTOR4")
    emit_structure("COVERAGE_MEMORY_OBJECT", "DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT")
    emit_structure("COVERAGE_MEMORY_END", "DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT")
    emit_structure("COVERAGE_MEMORY_VIEW", "DXGKARGCB_MAP_PHYSICAL_MEMORY")
    emit_structure("COVERAGE_ADL", "DXGKARGCB_ALLOCATE_ADL")
    emit_structure("COVERAGE_MDL_PAGES", "DXGKARGCB_ALLOCATEPAGESFORMDL")
    emit_structure("COVERAGE_CONTIGUOUS", "DXGKARGCB_ALLOCATECONTIGUOUSMEMORY")
    emit_structure("COVERAGE_COLLECT", "DXGKARG_COLLECTDBGINFO")
    emit_structure("COVERAGE_COLLECT2", "DXGKARG_COLLECTDBGINFO2")
    # DxgkDdiControlInterrupt takes two words: struct miniport_interrupt.
    condition(0, 0, 1, 0)
    member("COVERAGE_INTERRUPT", "InterruptType", 0, 4, "", 0, "DXGK_INTERRUPT_TYPE")
    member("COVERAGE_INTERRUPT", "EnableInterrupt", 4, 1, "", 0, "BOOLEAN")
    emit_structure("COVERAGE_INTERRUPT2", "DXGKARG_CONTROLINTERRUPT2")
    emit_structure("COVERAGE_INTERRUPT3", "DXGKARG_CONTROLINTERRUPT3")
    emit_structure("COVERAGE_QUERY", "DXGKARG_QUERYADAPTERINFO")
    emit_structure("COVERAGE_SUBMIT", "DXGKARG_SUBMITCOMMAND")
    emit_structure("COVERAGE_SUBMIT_VIRTUAL", "DXGKARG_SUBMITCOMMANDVIRTUAL")
    emit_structure("COVERAGE_SUBMIT_QUEUE", "DXGKARG_SUBMITCOMMANDTOHWQUEUE")
    emit_structure("COVERAGE_PRESENT", "DXGKARG_PRESENT")
    emit_structure("COVERAGE_PRESENT_QUEUE", "DXGKARG_PRESENT")
    emit_structure("COVERAGE_PROCESS", "DXGKARG_CREATEPROCESS")
    emit_structure("COVERAGE_DEVICE", "DXGKARG_CREATEDEVICE")
    emit_structure("COVERAGE_CONTEXT", "DXGKARG_CREATECONTEXT")
    emit_structure("COVERAGE_CREATION", "DXGKARG_CREATEALLOCATION")
    emit_structure("COVERAGE_OPENING", "DXGKARG_OPENALLOCATION")
    emit_structure("COVERAGE_DESTRUCTION", "DXGKARG_DESTROYALLOCATION")
    emit_structure("COVERAGE_ALLOCATION", "DXGK_ALLOCATIONINFO")
}
