# The call sequences of the contract: one case each, with the order of its calls.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    file(GLOB sequences CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cases/sequences/*.case)
    foreach(sequence ${sequences})
        get_filename_component(stem ${sequence} NAME_WE)
        add_test(NAME sequences/${stem}
                 COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/sequences.sh $<TARGET_FILE:drydock> ${sequence})
    endforeach()
endif()

# What the documents promise is there: every sequence, every contradiction and unknown of the contract; each header
# compiles alone, the manager keeps to its layers, watchers name the calls that they look at, and images can import each
# service.
if(DRYDOCK_TESTS)
    add_test(NAME docs/sequences COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/check-sequences.sh)
    add_test(NAME docs/choices COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/check-choices.sh)
    add_test(NAME docs/headers COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/check-headers.sh ${CMAKE_BINARY_DIR})
    add_test(NAME docs/circles COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/circles.sh ${CMAKE_BINARY_DIR})
    add_test(NAME docs/layers COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/check-layers.sh ${CMAKE_BINARY_DIR})
    add_test(NAME docs/watchers COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/check-watchers.sh)
    add_test(NAME docs/services COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/check-services.sh)
endif()
