# Drivers as files: one driver, built three ways, is one driver. The test says so when it skips, for
# want of a compiler; all seeds of all models: tests/images/three_ways.sh build/release/drydock . 50
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    foreach(model physical gpummu iommu)
        add_test(NAME images/three-ways-${model}
                 COMMAND ${CMAKE_SOURCE_DIR}/tests/images/three_ways.sh $<TARGET_FILE:drydock>
                         ${CMAKE_SOURCE_DIR} 3 ${model})
        set_tests_properties(images/three-ways-${model} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
    endforeach()
endif()

if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    add_test(NAME images/writers COMMAND ${CMAKE_SOURCE_DIR}/tests/images/writers.sh $<TARGET_FILE:drydock>
                                         ${CMAKE_SOURCE_DIR})
    set_tests_properties(images/writers PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endif()

# All of them: tests/images/zoo.sh build/release/drydock . 60
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    add_test(NAME images/zoo COMMAND ${CMAKE_SOURCE_DIR}/tests/images/zoo.sh $<TARGET_FILE:drydock>
                                     ${CMAKE_SOURCE_DIR} 10 D10 D17 D27 ALLOC PB)
    set_tests_properties(images/zoo PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endif()

# Every fault in every DDI: tests/images/faults.sh build/release/drydock . all
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    add_test(NAME images/faults COMMAND ${CMAKE_SOURCE_DIR}/tests/images/faults.sh
                                        $<TARGET_FILE:drydock> ${CMAKE_SOURCE_DIR} few)
    set_tests_properties(images/faults PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endif()

# A driver without packets, without a GPU model.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    add_test(NAME images/softcopy COMMAND ${CMAKE_SOURCE_DIR}/tests/images/softcopy.sh $<TARGET_FILE:drydock>
                                          ${CMAKE_SOURCE_DIR})
    set_tests_properties(images/softcopy PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endif()

# A driver in Rust.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    add_test(NAME images/rust COMMAND ${CMAKE_SOURCE_DIR}/tests/images/rust.sh $<TARGET_FILE:drydock>
                                      ${CMAKE_SOURCE_DIR})
    set_tests_properties(images/rust PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endif()

# Public samples, where DRYDOCK_SAMPLES says that they are.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    add_test(NAME images/samples COMMAND ${CMAKE_SOURCE_DIR}/tests/images/samples.sh $<TARGET_FILE:drydock>
                                         ${CMAKE_SOURCE_DIR})
    set_tests_properties(images/samples PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endif()

# A driver that works on a thread of its own.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    add_test(NAME images/threads COMMAND ${CMAKE_SOURCE_DIR}/tests/images/threads.sh $<TARGET_FILE:drydock>
                                         ${CMAKE_SOURCE_DIR})
    set_tests_properties(images/threads PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endif()

# A driver that looks at its registry, its PCI function and its registers before it starts.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    add_test(NAME images/board COMMAND ${CMAKE_SOURCE_DIR}/tests/images/board.sh $<TARGET_FILE:drydock>
                                       ${CMAKE_SOURCE_DIR})
    set_tests_properties(images/board PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endif()

# A driver that uses services which call it back, and its driver object.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    add_test(NAME images/services COMMAND ${CMAKE_SOURCE_DIR}/tests/images/services.sh $<TARGET_FILE:drydock>
                                          ${CMAKE_SOURCE_DIR})
    set_tests_properties(images/services PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endif()

# Tests that compile drivers with the program beside them.
foreach(test nt_tests bench_tests)
    if(TARGET ${test} AND TARGET drydock)
        add_dependencies(${test} drydock)
    endif()
endforeach()
