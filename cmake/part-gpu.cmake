# GPU models that are examples of plug-ins (docs/gpu-models.md), and the tests that drive them.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS)
    foreach(model tutorial sdma)
        add_library(gpu_${model} MODULE ${CMAKE_SOURCE_DIR}/examples/gpu/${model}.c)
        target_link_libraries(gpu_${model} PRIVATE drydock_flags)
        set_target_properties(gpu_${model} PROPERTIES PREFIX "" OUTPUT_NAME ${model}
                                                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/gpu)
        add_dependencies(bench_gpu_plugin_test gpu_${model})
    endforeach()
    target_compile_definitions(bench_gpu_plugin_test PRIVATE GPU_FOLDER="${CMAKE_BINARY_DIR}/gpu")
endif()
