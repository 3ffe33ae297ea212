# The call sequences of the contract: one case each, with the order of its calls.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    file(GLOB sequences CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cases/sequences/*.case)
    foreach(sequence ${sequences})
        get_filename_component(stem ${sequence} NAME_WE)
        add_test(NAME sequences/${stem}
                 COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/sequences.sh $<TARGET_FILE:drydock> ${sequence})
    endforeach()
endif()
