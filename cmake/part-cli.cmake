# The command line as its users see it.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    drydock_module_tests(cli DEPS base)
    add_test(NAME cli/promises
             COMMAND sh ${CMAKE_SOURCE_DIR}/src/cli/tests/cli_test.sh $<TARGET_FILE:drydock> ${CMAKE_SOURCE_DIR})
    add_test(NAME cli/terminal
             COMMAND sh ${CMAKE_SOURCE_DIR}/src/cli/tests/terminal_test.sh $<TARGET_FILE:drydock> ${CMAKE_SOURCE_DIR})
    add_test(NAME cli/baseline
             COMMAND sh ${CMAKE_SOURCE_DIR}/src/cli/tests/baseline_test.sh $<TARGET_FILE:drydock> ${CMAKE_SOURCE_DIR})
    add_test(NAME cli/hostile
             COMMAND sh ${CMAKE_SOURCE_DIR}/src/cli/tests/hostile_test.sh $<TARGET_FILE:drydock> ${CMAKE_SOURCE_DIR})
    add_test(NAME cli/settings
             COMMAND sh ${CMAKE_SOURCE_DIR}/src/cli/tests/settings_test.sh $<TARGET_FILE:drydock> ${CMAKE_SOURCE_DIR})
    # Shards of a campaign, under two that know many machines; the long ones have 4,000 seeds.
    foreach(manager parallel slurm)
        set(shards_test sh ${CMAKE_SOURCE_DIR}/src/cli/tests/shards_test.sh ${manager} $<TARGET_FILE:drydock>)
        add_test(NAME cli/${manager} COMMAND ${shards_test})
        add_test(NAME cli/long-${manager} COMMAND ${shards_test} 4000)
        set_tests_properties(cli/${manager} cli/long-${manager} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:"
                             TIMEOUT 1800)
    endforeach()
    find_program(DRYDOCK_PYTHON python3)
    if(DRYDOCK_PYTHON)
        add_test(NAME docs/commands
                 COMMAND ${DRYDOCK_PYTHON} ${CMAKE_SOURCE_DIR}/scripts/docs-commands.py $<TARGET_FILE:drydock>)
        add_test(NAME docs/figures
                 COMMAND ${DRYDOCK_PYTHON} ${CMAKE_SOURCE_DIR}/scripts/docs-figures.py $<TARGET_FILE:drydock>)
    endif()
    add_test(NAME cli/query COMMAND sh ${CMAKE_SOURCE_DIR}/src/cli/tests/query_test.sh $<TARGET_FILE:drydock>)
    add_test(NAME cli/watch COMMAND sh ${CMAKE_SOURCE_DIR}/src/cli/tests/watch_test.sh $<TARGET_FILE:drydock>)
    add_test(NAME cli/json
             COMMAND sh ${CMAKE_SOURCE_DIR}/src/cli/tests/json_test.sh $<TARGET_FILE:drydock> ${CMAKE_SOURCE_DIR})
    set_tests_properties(cli/json PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
    add_test(NAME cli/interrupt
             COMMAND sh ${CMAKE_SOURCE_DIR}/src/cli/tests/interrupt_test.sh $<TARGET_FILE:drydock>)
    add_test(NAME docs/options COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/options.sh $<TARGET_FILE:drydock>)
    add_test(NAME docs/rule-needs COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/rule-needs.sh)
    add_test(NAME docs/sentences COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/sentences.sh)
    add_test(NAME cli/sentences COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/sentences.sh $<TARGET_FILE:drydock>)
endif()
