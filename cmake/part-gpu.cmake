# GPU models and policies that are examples of plug-ins (docs/gpu-models.md, docs/policy.md), and their tests.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS)
    foreach(model tutorial sdma virtio_gpu intel_blt)
        # One file, or a folder of them.
        file(GLOB model_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/gpu/${model}.c
                                                  ${CMAKE_SOURCE_DIR}/examples/gpu/${model}/*.c)
        add_library(gpu_${model} MODULE ${model_sources})
        target_link_libraries(gpu_${model} PRIVATE drydock_everything)
        set_target_properties(gpu_${model} PROPERTIES PREFIX "" OUTPUT_NAME ${model}
                                                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/gpu)
        add_dependencies(bench_tests gpu_${model})
    endforeach()

    # Models that are refused, or that a run has to survive.
    foreach(kind PLAIN OLD NEW LYING HOLES POOR NONE ENTERING CLOSING PRINTING CRASHING LATE HANGING STORMING BUSY)
        string(TOLOWER ${kind} name)
        add_library(gpu_odd_${name} MODULE ${CMAKE_SOURCE_DIR}/tests/gpu/odd.c)
        target_link_libraries(gpu_odd_${name} PRIVATE drydock_everything)
        target_compile_definitions(gpu_odd_${name} PRIVATE ODD_${kind})
        set_target_properties(gpu_odd_${name} PROPERTIES PREFIX "" OUTPUT_NAME odd-${name}
                                                         LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/gpu)
        add_dependencies(bench_tests gpu_odd_${name})
    endforeach()
    target_compile_definitions(bench_tests PRIVATE GPU_FOLDER="${CMAKE_BINARY_DIR}/gpu")

    # Policies: the example of docs/policy.md, an object that has none, and some that end badly.
    add_library(policy_largest MODULE ${CMAKE_SOURCE_DIR}/examples/policy/largest.c)
    target_include_directories(policy_largest PRIVATE ${CMAKE_SOURCE_DIR}/include)
    set_target_properties(policy_largest PROPERTIES PREFIX "" OUTPUT_NAME largest
                                                    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/policy)
    add_dependencies(bench_tests policy_largest)
    foreach(kind NAMELESS CRASHING HANGING LEAVING STARTING FORKING CLOSING)
        string(TOLOWER ${kind} name)
        add_library(policy_odd_${name} MODULE ${CMAKE_SOURCE_DIR}/tests/policy/odd.c)
        target_include_directories(policy_odd_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
        target_compile_definitions(policy_odd_${name} PRIVATE ODD_${kind})
        set_target_properties(policy_odd_${name} PROPERTIES PREFIX "" OUTPUT_NAME odd-${name}
                                                            LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/policy)
        add_dependencies(bench_tests policy_odd_${name})
    endforeach()
    target_compile_definitions(bench_tests PRIVATE POLICY_FOLDER="${CMAKE_BINARY_DIR}/policy")

    # Clients: the example of docs/clients.md, and some that are refused, or that a run has to survive.
    add_library(client_sdma MODULE ${CMAKE_SOURCE_DIR}/examples/client/sdma_client.c)
    target_include_directories(client_sdma PRIVATE ${CMAKE_SOURCE_DIR}/include)
    set_target_properties(client_sdma PROPERTIES PREFIX "" OUTPUT_NAME sdma_client
                                                 LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/client)
    add_dependencies(bench_tests client_sdma)
    foreach(kind OLD NAMELESS POOR NONE LYING CRASHING HANGING TAKEN TALKING)
        string(TOLOWER ${kind} name)
        add_library(client_odd_${name} MODULE ${CMAKE_SOURCE_DIR}/tests/client/odd.c)
        target_include_directories(client_odd_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
        target_compile_definitions(client_odd_${name} PRIVATE ODD_${kind})
        target_compile_options(client_odd_${name} PRIVATE -Wno-unused-function -Wno-unused-parameter)
        set_target_properties(client_odd_${name} PROPERTIES PREFIX "" OUTPUT_NAME odd-${name}
                                                            LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/client)
        add_dependencies(bench_tests client_odd_${name})
    endforeach()
    target_compile_definitions(bench_tests PRIVATE CLIENT_FOLDER="${CMAKE_BINARY_DIR}/client")
endif()
