# One function makes a module: a static library of src/<name>/*.c, and one test
# executable for each src/<name>/*_test.c. The dependency list of a module is the
# list of modules it may include; scripts/check-includes.sh enforces the same list.

add_library(drydock_flags INTERFACE)
target_include_directories(drydock_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include
                                                   ${CMAKE_SOURCE_DIR}/include/wdk)
target_compile_options(drydock_flags INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-unknown-pragmas
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
    -fno-strict-aliasing $<$<CONFIG:Debug>:-DDRYDOCK_DEBUG=1>)
target_compile_definitions(drydock_flags INTERFACE DRYDOCK_VERSION="${PROJECT_VERSION}")
if(DRYDOCK_SANITIZE)
    target_compile_options(drydock_flags INTERFACE -fsanitize=${DRYDOCK_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
    target_link_options(drydock_flags INTERFACE -fsanitize=${DRYDOCK_SANITIZE})
endif()

function(drydock_module name)
    cmake_parse_arguments(M "" "" "DEPS;LIBS" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
    list(FILTER sources EXCLUDE REGEX "_test\\.c$")
    list(FILTER sources EXCLUDE REGEX "_fuzz\\.c$")
    list(TRANSFORM M_DEPS PREPEND drydock_ OUTPUT_VARIABLE deps)
    if(sources)
        add_library(drydock_${name} STATIC ${sources})
        target_link_libraries(drydock_${name} PUBLIC drydock_flags ${deps} ${M_LIBS})
    else()
        add_library(drydock_${name} INTERFACE)
        target_link_libraries(drydock_${name} INTERFACE drydock_flags ${deps} ${M_LIBS})
    endif()
endfunction()

# Tests stand beside the code but may use more of the tree than the code may:
# DEPS names what the tests of this module link, beyond the module itself.
function(drydock_module_tests name)
    if(NOT DRYDOCK_TESTS)
        return()
    endif()
    cmake_parse_arguments(M "" "" "DEPS;LIBS" ${ARGN})
    list(TRANSFORM M_DEPS PREPEND drydock_ OUTPUT_VARIABLE deps)
    file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*_test.c)
    foreach(test ${tests})
        get_filename_component(stem ${test} NAME_WE)
        add_executable(${name}_${stem} ${test})
        target_link_libraries(${name}_${stem} PRIVATE drydock_${name} ${deps} ${M_LIBS} cmocka)
        target_compile_definitions(${name}_${stem} PRIVATE DRYDOCK_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
        add_test(NAME ${name}/${stem} COMMAND ${name}_${stem})
    endforeach()
endfunction()

if(DRYDOCK_TESTS)
    enable_testing()
endif()

drydock_module(base)
drydock_module(miniport DEPS base)
drydock_module(vidsch DEPS base miniport)
drydock_module(vidmm DEPS base miniport vidsch)

drydock_module_tests(base)
drydock_module_tests(miniport)
drydock_module_tests(vidsch)
drydock_module_tests(vidmm)

if(DRYDOCK_BENCH)
    drydock_module(machine DEPS base)
    drydock_module(sgpu DEPS base machine)
    drydock_module(image DEPS base)
    drydock_module(nt DEPS base machine image LIBS Zydis)
    drydock_module(refkmd DEPS nt)
    drydock_module(check DEPS base miniport machine)
    drydock_module(workload DEPS base vidmm LIBS zstd m)
    drydock_module(bench DEPS base miniport vidmm vidsch machine sgpu image nt refkmd check workload LIBS m ${CMAKE_DL_LIBS})
    drydock_module(report DEPS base bench LIBS jansson)

    # The planted defects stand beside the sources: nothing but the command line knows them.
    file(GLOB zoo_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/zoo/*.c)
    add_library(drydock_zoo STATIC ${zoo_sources})
    target_include_directories(drydock_zoo PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(drydock_zoo PUBLIC drydock_flags drydock_base drydock_miniport drydock_nt)

    drydock_module(cli DEPS bench report zoo)
    target_compile_definitions(drydock_cli PRIVATE DRYDOCK_SOURCE_DIR="${CMAKE_SOURCE_DIR}")

    drydock_module_tests(machine)
    drydock_module_tests(sgpu)
    drydock_module_tests(nt)
    drydock_module_tests(image)
    drydock_module_tests(refkmd DEPS sgpu machine base)
    drydock_module_tests(check)
    drydock_module_tests(workload)
    drydock_module_tests(bench)
    drydock_module_tests(report)

    if(EXISTS ${CMAKE_SOURCE_DIR}/src/cli/main.c)
        add_executable(drydock ${CMAKE_SOURCE_DIR}/src/cli/main.c)
        set_target_properties(drydock PROPERTIES ENABLE_EXPORTS ON) # names in backtraces
        target_link_libraries(drydock PRIVATE drydock_cli)
    endif()
endif()

file(GLOB extra CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/part-*.cmake)
foreach(part ${extra})
    include(${part})
endforeach()
