# The tables that are made from the fact tables of data/ddi when building: for lines of the trace, the members that
# `drydock ops` reports on, and the arguments in findings. The table of
# src/miniport/operation.c is kept in the tree, and a test compares it.
set(DDI_TABLES ${CMAKE_SOURCE_DIR}/data/ddi/enums.tsv ${CMAKE_SOURCE_DIR}/data/ddi/operations.tsv
               ${CMAKE_SOURCE_DIR}/data/ddi/alternatives.tsv ${CMAKE_SOURCE_DIR}/data/ddi/layout-x64.tsv)

# Makes build/generated/<output> by scripts/<script>.awk, for a target.
function(drydock_make_from_ddi target output script)
    find_program(DRYDOCK_AWK NAMES mawk gawk awk REQUIRED)
    set(made ${CMAKE_BINARY_DIR}/generated/${output})
    set(scripts ${CMAKE_SOURCE_DIR}/scripts/ddi-layout.awk ${CMAKE_SOURCE_DIR}/scripts/${script}.awk)
    list(TRANSFORM scripts PREPEND "-f;" OUTPUT_VARIABLE options)
    add_custom_command(OUTPUT ${made}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
        COMMAND ${DRYDOCK_AWK} ${options} ${DDI_TABLES} > ${made}
        DEPENDS ${scripts} ${DDI_TABLES}
        VERBATIM)
    target_sources(${target} PRIVATE ${made})
    target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/generated)
endfunction()

if(DRYDOCK_BENCH)
    drydock_make_from_ddi(drydock_trace ddi_text.inc ddi-text)
    drydock_make_from_ddi(drydock_trace ddi_names.inc ddi-names)
    drydock_make_from_ddi(drydock_coverage ddi_members.inc ddi-members)
    drydock_make_from_ddi(drydock_check ddi_fields.inc ddi-fields)
    drydock_make_from_ddi(drydock_check ddi_reserved.inc ddi-reserved)

    # The arms of the operations stand in a table of their own.
    set(arms ${CMAKE_BINARY_DIR}/generated/ddi_arms.inc)
    add_custom_command(OUTPUT ${arms}
        COMMAND ${DRYDOCK_AWK} -f ${CMAKE_SOURCE_DIR}/scripts/ddi-arms.awk ${CMAKE_SOURCE_DIR}/data/ddi/arms.tsv > ${arms}
        DEPENDS ${CMAKE_SOURCE_DIR}/scripts/ddi-arms.awk ${CMAKE_SOURCE_DIR}/data/ddi/arms.tsv
        VERBATIM)
    target_sources(drydock_coverage PRIVATE ${arms})
endif()

if(DRYDOCK_TESTS)
    find_program(DRYDOCK_AWK NAMES mawk gawk awk REQUIRED)
    add_test(NAME docs/operation-table COMMAND ${CMAKE_SOURCE_DIR}/scripts/operation-table.sh --check)
    set_tests_properties(docs/operation-table PROPERTIES ENVIRONMENT AWK=${DRYDOCK_AWK})
endif()
