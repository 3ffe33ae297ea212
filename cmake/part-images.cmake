# Drivers as files (tests/images). A test says so when it skips, for want of a compiler.
if(NOT DRYDOCK_BENCH OR NOT DRYDOCK_TESTS OR NOT TARGET drydock)
    return()
endif()

# images/NAME plays tests/images/SCRIPT with the program, the source, and further arguments.
function(add_image_test name script)
    add_test(NAME images/${name}
             COMMAND ${CMAKE_SOURCE_DIR}/tests/images/${script} $<TARGET_FILE:drydock> ${CMAKE_SOURCE_DIR} ${ARGN})
    set_tests_properties(images/${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endfunction()

# One driver, built three ways. All seeds of all models: tests/images/three_ways.sh build/release/drydock . 50
foreach(model physical gpummu iommu)
    add_image_test(three-ways-${model} three_ways.sh 3 ${model})
endforeach()
add_image_test(writers writers.sh)
add_image_test(zoo zoo.sh 10 D10 D17 D27 ALLOC PB) # all of them: tests/images/zoo.sh build/release/drydock . 60
add_image_test(faults faults.sh few) # every fault in every DDI: tests/images/faults.sh build/release/drydock . all
add_image_test(softcopy softcopy.sh)
add_image_test(dod dod.sh)
add_image_test(rust rust.sh)
add_image_test(samples samples.sh) # public ones, where DRYDOCK_SAMPLES says that they are
add_image_test(threads threads.sh)
add_image_test(board board.sh)
add_image_test(services services.sh)
add_image_test(memory memory.sh)
add_image_test(client client.sh ${CMAKE_BINARY_DIR})
add_image_test(sdma example.sh sdma sdma PT-017 VX-003 TLB-002 FENCE-004)
add_image_test(intel example.sh intel intel_blt PT-017 VX-003 TLB-002 FENCE-004 PT-039)
add_image_test(records records.sh)
add_image_test(models models.sh ${CMAKE_BINARY_DIR}/gpu)

# Tests that compile drivers with the program beside them.
foreach(test nt_tests bench_tests)
    if(TARGET ${test})
        add_dependencies(${test} drydock)
    endif()
endforeach()
