# The names of the parameters of kernel services and callbacks, from the headers that declare them.
if(DRYDOCK_BENCH AND TARGET drydock_nt)
    find_program(DRYDOCK_AWK NAMES mawk gawk awk REQUIRED)
    set(service_parameters ${CMAKE_BINARY_DIR}/generated/service_parameters.inc)
    file(GLOB service_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/wdk/*.h
         ${CMAKE_SOURCE_DIR}/include/wdk/wdm/*.h ${CMAKE_SOURCE_DIR}/include/wdk/crt/*.h)
    list(APPEND service_headers ${CMAKE_SOURCE_DIR}/include/wdk/d3dkmddi/callbacks.h)
    add_custom_command(OUTPUT ${service_parameters}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
        COMMAND ${DRYDOCK_AWK} -f ${CMAKE_SOURCE_DIR}/scripts/service-parameters.awk
                ${service_headers} > ${service_parameters}
        DEPENDS ${CMAKE_SOURCE_DIR}/scripts/service-parameters.awk ${service_headers}
        VERBATIM)
    target_sources(drydock_nt PRIVATE ${service_parameters})
    target_include_directories(drydock_nt PRIVATE ${CMAKE_BINARY_DIR}/generated)
endif()
