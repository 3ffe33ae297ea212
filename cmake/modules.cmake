# A module is a folder of src/ (and zoo/): a static library of its sources, and its tests, which stand beside
# them. What a module may include is its row in the table of docs/architecture.md, which is read here: a module
# is compiled with the include paths of that row and no others, and its library links what the row names.

add_library(drydock_flags INTERFACE)
target_compile_options(drydock_flags INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-unknown-pragmas
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes -Werror=implicit-function-declaration>
    -fno-strict-aliasing $<$<CONFIG:Debug>:-DDRYDOCK_DEBUG=1>)
target_compile_definitions(drydock_flags INTERFACE DRYDOCK_VERSION="${PROJECT_VERSION}" DRYDOCK_INSIDE=1)
if(DRYDOCK_SANITIZE)
    target_compile_options(drydock_flags INTERFACE -fsanitize=${DRYDOCK_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
    target_link_options(drydock_flags INTERFACE -fsanitize=${DRYDOCK_SANITIZE})
endif()

# The program as a whole: a call that the checker looks at crosses seven modules, and a seed of the campaign takes a
# tenth less. It builds twice as long, and is for packages (Makefile, scripts/release.sh). Tests, plug-ins and
# libraries link the same objects one by one.
option(DRYDOCK_WHOLE_PROGRAM "Optimise drydock as a whole when it is linked (GCC)" OFF)
define_property(TARGET PROPERTY DRYDOCK_IS_WHOLE BRIEF_DOCS "Is optimised as a whole" FULL_DOCS "Is the program")
if(DRYDOCK_WHOLE_PROGRAM)
    if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU" OR DRYDOCK_SANITIZE)
        message(FATAL_ERROR "DRYDOCK_WHOLE_PROGRAM needs GCC, and no sanitizer")
    endif()
    set(DRYDOCK_OBJECTS_OF_WHOLE -flto=auto -ffat-lto-objects)
    target_link_options(drydock_flags INTERFACE
        $<IF:$<BOOL:$<TARGET_PROPERTY:DRYDOCK_IS_WHOLE>>,-flto=auto,-fno-lto>)
endif()

# Tests may include everything.
add_library(drydock_everything INTERFACE)
target_include_directories(drydock_everything INTERFACE
    ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/include/wdk ${CMAKE_SOURCE_DIR}
    ${CMAKE_BINARY_DIR}/generated)
target_link_libraries(drydock_everything INTERFACE drydock_flags)

# The table: DRYDOCK_MAY_INCLUDE_<module> for each row. A folder NAME is seen as build/modules/NAME/..., where
# nothing else is, so that an include of another module does not compile.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/architecture.md)
file(STRINGS ${CMAKE_SOURCE_DIR}/docs/architecture.md rows REGEX "^\\| `[a-z0-9/]+/` \\|")
foreach(row ${rows})
    string(REGEX MATCH "^\\| `([a-z0-9/]+)/` \\|.*\\| ([^|]*) \\|$" row "${row}")
    set(folder ${CMAKE_MATCH_1})
    string(REGEX REPLACE ", *" ";" may "${CMAKE_MATCH_2}")
    string(REGEX REPLACE "^src/" "" module ${folder})
    get_filename_component(name ${folder} NAME)
    set(DRYDOCK_MAY_INCLUDE_${module} ${may})
    set(DRYDOCK_FOLDER_${module} ${CMAKE_SOURCE_DIR}/${folder})
    if(module STREQUAL "include/wdk")
        set(DRYDOCK_INCLUDES_wdk ${CMAKE_SOURCE_DIR}/include/wdk)
    else()
        set(DRYDOCK_INCLUDES_${module} ${CMAKE_BINARY_DIR}/modules/${module})
        file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/modules/${module})
        file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${folder} ${CMAKE_BINARY_DIR}/modules/${module}/${name} SYMBOLIC)
    endif()
endforeach()

# NAME_windows.c stands in for NAME.c on Windows, and is not compiled elsewhere. What is left out there besides:
# applications in processes of their own, processes that play runs, and verbs (src/cli/verbs/left_out_windows.c).
set(DRYDOCK_NOT_ON_WINDOWS "/bench/(exec/.*|measure/scaling_bench|board/client_memory)\\.c$"
    "/bench/child/(child_end|journal_reader|validate|validate_value)\\.c$"
    "/cli/verbs/(exec|bench|cc|watch|zoo|doctor)_[a-z]+\\.c$")

function(drydock_sources_of_system list)
    set(sources ${${list}})
    set(windows ${sources})
    list(FILTER windows INCLUDE REGEX "_windows\\.c$")
    if(WIN32)
        foreach(left_out ${DRYDOCK_NOT_ON_WINDOWS})
            list(FILTER sources EXCLUDE REGEX "${left_out}")
        endforeach()
        list(TRANSFORM windows REPLACE "_windows\\.c$" ".c")
    endif()
    list(REMOVE_ITEM sources ${windows} "")
    set(${list} ${sources} PARENT_SCOPE)
endfunction()

# LIBS: what it needs beyond the modules of its row.
function(drydock_module name)
    cmake_parse_arguments(M "" "" "LIBS" ${ARGN})
    if(NOT DEFINED DRYDOCK_MAY_INCLUDE_${name})
        message(FATAL_ERROR "module '${name}' has no row in the table of docs/architecture.md")
    endif()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${DRYDOCK_FOLDER_${name}}/*.c)
    list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|/test_[a-z_]+)\\.c$")
    drydock_sources_of_system(sources)
    add_library(drydock_${name} STATIC ${sources})
    target_compile_options(drydock_${name} PRIVATE ${DRYDOCK_OBJECTS_OF_WHOLE})
    foreach(source ${sources})
        file(STRINGS ${source} assembly REGEX "^__asm__" LIMIT_COUNT 1)
        if(assembly AND DRYDOCK_WHOLE_PROGRAM) # whose names the optimiser does not see
            set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -fno-lto)
        endif()
    endforeach()
    target_include_directories(drydock_${name} PRIVATE ${DRYDOCK_INCLUDES_${name}})
    target_link_libraries(drydock_${name} PUBLIC drydock_flags ${M_LIBS} ${DRYDOCK_SYSTEM})
    foreach(other ${DRYDOCK_MAY_INCLUDE_${name}})
        if(NOT other MATCHES "^(nothing|C library)$")
            if(NOT DEFINED DRYDOCK_INCLUDES_${other})
                message(FATAL_ERROR "docs/architecture.md: '${name}' may include '${other}', which is no module")
            endif()
            target_include_directories(drydock_${name} PRIVATE ${DRYDOCK_INCLUDES_${other}})
            string(REGEX REPLACE "^include/vidmm$" "vidmm" other ${other})
            if(NOT other MATCHES "^(wdk|include/.*|${name})$")
                target_link_libraries(drydock_${name} PRIVATE drydock_${other})
            endif()
        endif()
    endforeach()
endfunction()

# One program of the tests of a module, <module>_tests, of its files *_test.c and of what they share, test_*.c. It plays one file at a time (tests/runner.c).
# DEPS names what the tests link beyond the module itself.
function(drydock_module_tests name)
    if(NOT DRYDOCK_TESTS)
        return()
    endif()
    cmake_parse_arguments(M "" "" "DEPS;LIBS" ${ARGN})
    list(TRANSFORM M_DEPS PREPEND drydock_ OUTPUT_VARIABLE deps)
    file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${DRYDOCK_FOLDER_${name}}/*_test.c)
    if(NOT tests)
        return()
    endif()
    file(GLOB_RECURSE rigs CONFIGURE_DEPENDS ${DRYDOCK_FOLDER_${name}}/test_*.c)
    set(list "")
    foreach(test ${tests})
        get_filename_component(stem ${test} NAME_WE)
        set_source_files_properties(${test} PROPERTIES COMPILE_DEFINITIONS main=${stem}_main
                                                       COMPILE_OPTIONS -Wno-missing-prototypes)
        string(APPEND list "FILE_OF_TESTS(${stem})\n")
        add_test(NAME ${name}/${stem} COMMAND ${name}_tests ${stem})
    endforeach()
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/${name}_tests.inc CONTENT "${list}")
    add_executable(${name}_tests ${CMAKE_SOURCE_DIR}/tests/runner.c
                                 ${CMAKE_SOURCE_DIR}/tests/told.c ${tests} ${rigs})
    target_compile_definitions(${name}_tests PRIVATE DRYDOCK_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                                     RUNNER_FILES="${name}_tests.inc")
    target_link_libraries(${name}_tests PRIVATE drydock_everything drydock_${name} ${deps} drydock_base ${M_LIBS}
                                                cmocka)
endfunction()

if(DRYDOCK_TESTS)
    enable_testing()
endif()

set(modules base miniport vidsch vidmm)
foreach(module ${modules})
    drydock_module(${module})
endforeach()
foreach(module base miniport vidsch)
    drydock_module_tests(${module})
endforeach()

# GCC for x86 copies and clears structures of some hundred bytes with `rep movs` and `rep stos`, which take long to
# begin. A paging operation has 320 bytes, and is cleared and copied each time: with the library's functions, one
# allocation in for another, which is twelve operations, takes a fifth less of the manager's time.
include(CheckCCompilerFlag)
set(DRYDOCK_NO_REP -mmemcpy-strategy=unrolled_loop:64:noalign,libcall:-1:noalign
                   -mmemset-strategy=unrolled_loop:64:noalign,libcall:-1:noalign)
check_c_compiler_flag("${DRYDOCK_NO_REP}" DRYDOCK_HAS_NO_REP)
if(DRYDOCK_HAS_NO_REP)
    target_compile_options(drydock_vidmm PRIVATE ${DRYDOCK_NO_REP})
else()
    set(DRYDOCK_NO_REP "")
endif()

set(DRYDOCK_DISASSEMBLER Zydis) # of driver images
set(DRYDOCK_DATABASE sqlite3)
if(DRYDOCK_BENCH AND WIN32) # POSIX, of which the bench is made, over Windows (src/windows)
    set(DRYDOCK_WINDOWS_LIBRARIES ${CMAKE_SOURCE_DIR}/build/windows-libraries CACHE PATH
        "Where scripts/windows-libraries.sh has put jansson, zstd and zlib")
    if(NOT EXISTS ${DRYDOCK_WINDOWS_LIBRARIES}/lib/libjansson.a)
        message(FATAL_ERROR "no libraries in ${DRYDOCK_WINDOWS_LIBRARIES}: scripts/windows-libraries.sh makes them")
    endif()
    include_directories(SYSTEM ${DRYDOCK_WINDOWS_LIBRARIES}/include)
    link_directories(${DRYDOCK_WINDOWS_LIBRARIES}/lib)
    drydock_module(windows LIBS pthread)
    set(DRYDOCK_SYSTEM drydock_windows)
    target_link_options(drydock_flags INTERFACE -static)
    target_include_directories(drydock_flags BEFORE INTERFACE ${CMAKE_SOURCE_DIR}/src/windows/posix)
    target_compile_definitions(drydock_flags INTERFACE __USE_MINGW_ANSI_STDIO=1 _FILE_OFFSET_BITS=64)
    target_compile_options(drydock_flags INTERFACE -Wno-format)
    set(DRYDOCK_DISASSEMBLER "")
    set(DRYDOCK_DATABASE "")
endif()
if(DRYDOCK_BENCH)
    drydock_module(thunk)
    set_target_properties(drydock_thunk PROPERTIES POSITION_INDEPENDENT_CODE ON # of libdxcore.so
                                                   C_VISIBILITY_PRESET hidden)
    drydock_module(clients)
    drydock_module(dxcore)
    drydock_module(d3dkmt)
    drydock_module(record LIBS zstd)
    drydock_module(machine)
    drydock_module(sgpu)
    drydock_module(image)
    drydock_module(nt LIBS ${DRYDOCK_DISASSEMBLER})
    drydock_module(display)
    drydock_module(refkmd)
    drydock_module(refdod)
    foreach(driver refkmd refdod)
        target_link_libraries(drydock_${driver} PRIVATE drydock_nt) # the services that it imports
    endforeach()
    drydock_module(trace)
    drydock_module(layers)
    drydock_module(check)
    drydock_module(coverage)
    drydock_module(workload LIBS zstd m)
    drydock_module(bench LIBS m ${CMAKE_DL_LIBS})
    drydock_module(story LIBS z jansson)
    drydock_module(report LIBS jansson ${DRYDOCK_DATABASE})
    include(cmake/schemas.cmake)
    drydock_module(zoo)
    drydock_module(cli LIBS jansson)
    # What the documentation says of names (src/cli/verbs/cc_names.c).
    find_program(DRYDOCK_AWK NAMES mawk gawk awk REQUIRED)
    set(documented ${CMAKE_BINARY_DIR}/generated/documented.inc)
    add_custom_command(OUTPUT ${documented}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
        COMMAND ${DRYDOCK_AWK} -F "\t" -f ${CMAKE_SOURCE_DIR}/scripts/documented-table.awk
                ${CMAKE_SOURCE_DIR}/data/ddi/documented.tsv > ${documented}
        DEPENDS ${CMAKE_SOURCE_DIR}/scripts/documented-table.awk ${CMAKE_SOURCE_DIR}/data/ddi/documented.tsv
        VERBATIM)
    target_sources(drydock_cli PRIVATE ${documented})
    target_include_directories(drydock_cli PRIVATE ${CMAKE_BINARY_DIR}/generated)
    target_compile_definitions(drydock_cli PRIVATE DRYDOCK_SOURCE_DIR="${CMAKE_SOURCE_DIR}")

    foreach(module thunk clients d3dkmt record machine sgpu nt image display trace layers check coverage workload bench report)
        drydock_module_tests(${module} DEPS miniport base)
    endforeach()
    drydock_module_tests(story DEPS record)
    drydock_module_tests(refkmd DEPS sgpu machine base)
    drydock_module_tests(vidmm DEPS trace miniport base)

    add_executable(drydock ${CMAKE_SOURCE_DIR}/src/cli/main.c)
    set_target_properties(drydock PROPERTIES ENABLE_EXPORTS ON # names in backtraces
                                           DRYDOCK_IS_WHOLE ON)
    target_link_libraries(drydock PRIVATE drydock_everything drydock_cli)
endif()

file(GLOB extra CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/part-*.cmake)
foreach(part ${extra})
    include(${part})
endforeach()
include(cmake/test-times.cmake)
