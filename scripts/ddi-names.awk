# Makes the names of enumerators in trace lines from the fact tables (after ddi-layout.awk on the command line):
# INTERRUPT(value, "DMA_COMPLETED") and QUERY(value, "DRIVERCAPS") for src/trace/trace_format.c.

END {
    if (is_failed)
        exit 1
    for (i = 1; i <= enumerators; i++) {
        short = enumerator_name[i]
        if (enumerator_group[i] == "DXGK_INTERRUPT_TYPE" && sub(/^DXGK_INTERRUPT_/, "", short))
            print "INTERRUPT(" enumerator[enumerator_name[i]] ", \"" short "\")"
        if (enumerator_group[i] == "DXGK_QUERYADAPTERINFOTYPE" && sub(/^DXGKQAITYPE_/, "", short))
            print "QUERY(" enumerator[enumerator_name[i]] ", \"" short "\")"
    }
}
