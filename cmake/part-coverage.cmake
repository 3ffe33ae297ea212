# The members that `drydock ops` reports on, from the fact tables.
if(DRYDOCK_BENCH AND TARGET drydock_bench)
    find_program(DRYDOCK_AWK NAMES mawk gawk awk REQUIRED)
    set(members ${CMAKE_BINARY_DIR}/generated/ddi_members.inc)
    add_custom_command(OUTPUT ${members}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
        COMMAND ${DRYDOCK_AWK} -f ${CMAKE_SOURCE_DIR}/scripts/ddi-members.awk
                ${CMAKE_SOURCE_DIR}/data/ddi/layout-x64.tsv > ${members}
        DEPENDS ${CMAKE_SOURCE_DIR}/scripts/ddi-members.awk
                ${CMAKE_SOURCE_DIR}/data/ddi/layout-x64.tsv
        VERBATIM)
    target_sources(drydock_bench PRIVATE ${members})
    target_include_directories(drydock_bench PRIVATE ${CMAKE_BINARY_DIR}/generated)
endif()
