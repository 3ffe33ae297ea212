# libdxcore.so, which applications load; and a client program of our own for the tests.
if(DRYDOCK_BENCH AND NOT DRYDOCK_FUZZ)
    set_target_properties(drydock_dxcore PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
    add_library(dxcore SHARED ${CMAKE_SOURCE_DIR}/cmake/empty.c)
    target_link_libraries(dxcore PRIVATE -Wl,--whole-archive drydock_dxcore -Wl,--no-whole-archive drydock_thunk
                                         pthread)
    target_link_options(dxcore PRIVATE -Wl,-z,nodelete)
    if(DRYDOCK_TESTS)
        add_executable(app_client ${CMAKE_SOURCE_DIR}/tests/apps/client.c)
        target_include_directories(app_client PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/include/wdk)
        target_link_libraries(app_client PRIVATE drydock_flags dxcore pthread)
        add_executable(app_hostile ${CMAKE_SOURCE_DIR}/tests/apps/hostile.c)
        target_include_directories(app_hostile PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include
                                                       ${CMAKE_SOURCE_DIR}/include/wdk)
        target_link_libraries(app_hostile PRIVATE drydock_flags drydock_thunk pthread)
        add_test(NAME apps/exec COMMAND ${CMAKE_SOURCE_DIR}/tests/apps/exec.sh ${CMAKE_BINARY_DIR})
        add_test(NAME apps/intel COMMAND ${CMAKE_SOURCE_DIR}/tests/apps/intel.sh ${CMAKE_BINARY_DIR})
        set_tests_properties(apps/intel PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
    endif()
    # Gives our libdxcore.so to drivers that open WSL's by its path.
    add_library(drydock_wsl SHARED ${CMAKE_SOURCE_DIR}/src/preload/dlopen.c)
    target_link_libraries(drydock_wsl PRIVATE drydock_flags dl)
    target_compile_options(drydock_wsl PRIVATE -O2 -fno-sanitize=all)
    set_target_properties(drydock_wsl PROPERTIES OUTPUT_NAME drydock-wsl C_VISIBILITY_PRESET hidden
                                                 POSITION_INDEPENDENT_CODE ON)
    add_dependencies(dxcore drydock_wsl)
    install(TARGETS dxcore drydock_wsl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/drydock)
endif()
