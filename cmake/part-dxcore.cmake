# libdxcore.so, which applications load; and a client program of our own for the tests.
if(DRYDOCK_BENCH)
    set_target_properties(drydock_dxcore PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
    add_library(dxcore SHARED ${CMAKE_SOURCE_DIR}/cmake/empty.c)
    target_link_libraries(dxcore PRIVATE -Wl,--whole-archive drydock_dxcore -Wl,--no-whole-archive drydock_thunk
                                         pthread)
    target_link_options(dxcore PRIVATE -Wl,-z,nodelete)
    install(TARGETS dxcore LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/drydock)
endif()
