# A campaign of random cases in random configurations over the reference driver: no findings.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    add_test(NAME cli/campaign COMMAND drydock check --seeds 200 --jobs 2 --repeat 8)
    if(DRYDOCK_SANITIZE)
        set(golden_options --rules)
    endif()
    add_test(NAME cli/golden
        COMMAND ${CMAKE_SOURCE_DIR}/scripts/golden.sh $<TARGET_FILE:drydock> ${golden_options})
endif()
