# Tests of include/wdk: every compiler that can be found lays the interface out as data/ddi says,
# for every interface version, and compiles driver source written as for the WDK.

if(NOT DRYDOCK_TESTS)
    return()
endif()

set(wdk_tests ${CMAKE_SOURCE_DIR}/tests/wdk)
add_executable(wdk_layout_tool ${wdk_tests}/layout_tool.c ${wdk_tests}/ddi_table.c)
target_compile_options(wdk_layout_tool PRIVATE -Wall -Wextra)

# One test that runs a script of tests/wdk with a compiler; skipped, with a word, without it.
function(wdk_compiler_test name script compiler language flags)
    find_program(WDK_COMPILER_${compiler} ${compiler})
    mark_as_advanced(WDK_COMPILER_${compiler})
    if(WDK_COMPILER_${compiler})
        add_test(NAME wdk/${name}
                 COMMAND ${CMAKE_COMMAND} -D TOOL=$<TARGET_FILE:wdk_layout_tool>
                         -D COMPILER=${WDK_COMPILER_${compiler}} -D LANGUAGE=${language}
                         "-D FLAGS=${flags}" -D SOURCE_DIR=${CMAKE_SOURCE_DIR}
                         -D WORK_DIR=${CMAKE_BINARY_DIR}/wdk/${name} ${ARGN}
                         -P ${wdk_tests}/${script}.cmake)
    else()
        add_test(NAME wdk/${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: no ${compiler} here")
        set_tests_properties(wdk/${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
    endif()
endfunction()

set(wdk_msvc --target=x86_64-pc-windows-msvc -ffreestanding)

wdk_compiler_test(layout-gcc layout_test gcc c "-std=gnu11;-w")
wdk_compiler_test(layout-clang layout_test clang c "-std=gnu11;-w")
wdk_compiler_test(layout-mingw layout_test x86_64-w64-mingw32-gcc c "-std=gnu11;-w;-mms-bitfields")
wdk_compiler_test(layout-msvc-target layout_test clang c "${wdk_msvc};-std=gnu11;-w")
wdk_compiler_test(layout-gcc-cxx layout_test g++ cxx "-std=c++17;-w" -D CHECK_ABSENT=ON)
wdk_compiler_test(layout-msvc-target-cxx layout_test clang++ cxx "${wdk_msvc};-std=c++17;-w")

set(wdk_strict -Wall -Wextra -Werror -Wno-unused-parameter -Wno-multichar -Wno-pragma-pack)

wdk_compiler_test(source-gcc source_test gcc c "-std=c11;${wdk_strict}")
wdk_compiler_test(source-clang source_test clang c "-std=c11;${wdk_strict}")
wdk_compiler_test(source-clang-no-convention source_test clang c
                  "-std=c11;${wdk_strict};-DSAMPLE_OMITS_CONVENTION")
wdk_compiler_test(source-mingw source_test x86_64-w64-mingw32-gcc c "-std=c11;${wdk_strict}")
wdk_compiler_test(source-msvc-target source_test clang c "${wdk_msvc};-std=c11;${wdk_strict}")
wdk_compiler_test(source-gcc-cxx source_test g++ c++ "-std=c++17;${wdk_strict}")
wdk_compiler_test(source-clang-cxx source_test clang++ c++ "-std=c++17;${wdk_strict}")
wdk_compiler_test(source-mingw-cxx source_test x86_64-w64-mingw32-g++ c++ "-std=c++17;${wdk_strict}")
wdk_compiler_test(source-msvc-target-cxx source_test clang++ c++ "${wdk_msvc};-std=c++17;${wdk_strict}")

add_executable(wdk_services_test ${wdk_tests}/services_test.c)
target_link_libraries(wdk_services_test PRIVATE drydock_everything cmocka)
add_test(NAME wdk/services COMMAND wdk_services_test)

# The names of the documentation that the headers declare, counted.
if(WDK_COMPILER_clang)
    add_test(NAME docs/ddi-gap
             COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/ddi-gap.sh --check ${CMAKE_SOURCE_DIR}/data/ddi/gap.txt)
endif()
add_test(NAME docs/constants COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/wdk-constants.sh --check)
