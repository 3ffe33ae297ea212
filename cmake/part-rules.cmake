# The rule table of src/check/rules/rules.c, from the catalogue of the contract, the list of rules whose pair
# of tests exists, from the tests.
if(DRYDOCK_BENCH AND TARGET drydock_check)
    find_program(DRYDOCK_AWK NAMES mawk gawk awk REQUIRED)
    set(rule_table ${CMAKE_BINARY_DIR}/generated/rule_table.inc)
    set(rule_tests ${CMAKE_BINARY_DIR}/generated/rule_tests.inc)
    file(GLOB_RECURSE rule_test_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*_test.c)
    add_custom_command(OUTPUT ${rule_table}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
        COMMAND ${DRYDOCK_AWK} -f ${CMAKE_SOURCE_DIR}/scripts/rule-table.awk
                ${CMAKE_SOURCE_DIR}/data/ddi/contract.md > ${rule_table}
        DEPENDS ${CMAKE_SOURCE_DIR}/scripts/rule-table.awk ${CMAKE_SOURCE_DIR}/data/ddi/contract.md
        VERBATIM)
    add_custom_command(OUTPUT ${rule_tests}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
        COMMAND ${DRYDOCK_AWK} -f ${CMAKE_SOURCE_DIR}/scripts/rule-tests.awk
                ${rule_test_files} > ${rule_tests}
        DEPENDS ${CMAKE_SOURCE_DIR}/scripts/rule-tests.awk ${rule_test_files}
        VERBATIM)
    set(rule_areas ${CMAKE_BINARY_DIR}/generated/rule_areas.inc)
    add_custom_command(OUTPUT ${rule_areas}
        COMMAND ${DRYDOCK_AWK} -f ${CMAKE_SOURCE_DIR}/scripts/rule-areas.awk
                ${CMAKE_SOURCE_DIR}/data/ddi/contract.md > ${rule_areas}
        DEPENDS ${CMAKE_SOURCE_DIR}/scripts/rule-areas.awk ${CMAKE_SOURCE_DIR}/data/ddi/contract.md
                ${rule_table}
        VERBATIM)
    # ... and that of rules for clients, of src/report/client_catalogue.c.
    set(client_rule_table ${CMAKE_BINARY_DIR}/generated/client_rule_table.inc)
    add_custom_command(OUTPUT ${client_rule_table}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
        COMMAND ${DRYDOCK_AWK} -f ${CMAKE_SOURCE_DIR}/scripts/client-rule-table.awk
                ${CMAKE_SOURCE_DIR}/data/d3dkmt/contract.md > ${client_rule_table}
        DEPENDS ${CMAKE_SOURCE_DIR}/scripts/client-rule-table.awk ${CMAKE_SOURCE_DIR}/data/d3dkmt/contract.md
        VERBATIM)
    target_sources(drydock_report PRIVATE ${client_rule_table})
    target_sources(drydock_check PRIVATE ${rule_table} ${rule_tests} ${rule_areas})
    target_include_directories(drydock_check PUBLIC ${CMAKE_BINARY_DIR}/generated)
endif()
