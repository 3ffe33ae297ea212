# What `make install` and `cmake --install` put where. The program finds its headers and templates from its own
# place (bin/../include/drydock/wdk, bin/../share/drydock/new), so an installed tree may be moved. The examples of
# docs/gpu-models.md are in share/drydock/examples, to be copied.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# libvidmm, for others: the modules that it consists of, compiled once more. Its names begin with vidmm_
# (src/base/api.h); all that is in no public header is hidden, in the static library too, which is one object.
set(vidmm_sources "")
foreach(module base miniport vidsch vidmm)
    get_target_property(sources drydock_${module} SOURCES)
    list(APPEND vidmm_sources ${sources})
endforeach()
add_library(vidmm_objects OBJECT ${vidmm_sources})
target_include_directories(vidmm_objects PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include
                                                 ${CMAKE_SOURCE_DIR}/include/wdk)
target_compile_options(vidmm_objects PRIVATE $<TARGET_PROPERTY:drydock_flags,INTERFACE_COMPILE_OPTIONS>
                                             ${DRYDOCK_NO_REP})
target_compile_definitions(vidmm_objects PRIVATE DRYDOCK_VERSION="${PROJECT_VERSION}")
set_target_properties(vidmm_objects PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
if(WIN32 OR NOT CMAKE_OBJCOPY)
    add_library(vidmm STATIC $<TARGET_OBJECTS:vidmm_objects>)
else()
    set(whole ${CMAKE_BINARY_DIR}/vidmm.o)
    add_custom_command(OUTPUT ${whole}
        COMMAND ${CMAKE_LINKER} -r -o ${whole} $<TARGET_OBJECTS:vidmm_objects>
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${whole}
        DEPENDS vidmm_objects $<TARGET_OBJECTS:vidmm_objects> COMMAND_EXPAND_LISTS VERBATIM)
    add_library(vidmm STATIC ${whole})
    set_source_files_properties(${whole} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endif()
set_target_properties(vidmm PROPERTIES LINKER_LANGUAGE C)
install(TARGETS vidmm ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libvidmm-dev)

# The ABI is that of a version 0.MINOR: another MINOR is another soname.
if(NOT WIN32)
    add_library(vidmm_shared SHARED $<TARGET_OBJECTS:vidmm_objects>)
    target_link_options(vidmm_shared PRIVATE $<TARGET_PROPERTY:drydock_flags,INTERFACE_LINK_OPTIONS>)
    set_target_properties(vidmm_shared PROPERTIES OUTPUT_NAME vidmm LINKER_LANGUAGE C VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    install(TARGETS vidmm_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libvidmm
            NAMELINK_COMPONENT libvidmm-dev)
endif()
install(DIRECTORY include/vidmm/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vidmm COMPONENT libvidmm-dev)
install(FILES src/base/services.h src/base/api.h src/base/names.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vidmm/base
        COMPONENT libvidmm-dev)
install(FILES src/miniport/miniport.h src/miniport/display_request.h src/miniport/memory_request.h
                  src/miniport/power_request.h src/miniport/raw.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vidmm/miniport COMPONENT libvidmm-dev)
install(DIRECTORY include/wdk/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/drydock/wdk COMPONENT drydock-headers)
install(DIRECTORY include/drydock/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/drydock COMPONENT drydock-headers)

# Relative to itself: the tree may be moved.
file(RELATIVE_PATH DRYDOCK_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" DRYDOCK_PC_PREFIX ${DRYDOCK_PC_PREFIX})
configure_file(cmake/vidmm.pc.in ${CMAKE_BINARY_DIR}/vidmm.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/vidmm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libvidmm-dev)

if(NOT TARGET drydock)
    return() # for Windows: the library alone
endif()

install(TARGETS drydock RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES templates/new/Makefile templates/new/Makefile.rust templates/new/CMakeLists.txt
              templates/new/driver.case templates/new/drydock.yml templates/new/drydock.toml
              tests/images/softcopy/wdk.h
        DESTINATION ${CMAKE_INSTALL_DATADIR}/drydock/new)
install(FILES tests/images/softcopy/softcopy.c DESTINATION ${CMAKE_INSTALL_DATADIR}/drydock/new
        RENAME miniport.c)
install(FILES tests/images/softcopy/softcopy.rs DESTINATION ${CMAKE_INSTALL_DATADIR}/drydock/new
        RENAME miniport.rs)

install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/drydock/examples
        FILES_MATCHING PATTERN "*.c" PATTERN "*.cpp" PATTERN "*.h" PATTERN "*.case" PATTERN "Makefile")
install(DIRECTORY cases/ DESTINATION ${CMAKE_INSTALL_DATADIR}/drydock/cases FILES_MATCHING PATTERN "*.case")
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.png"
        PATTERN "*.svg")
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(DRYDOCK_INSTALLED_PROGRAM ${CMAKE_INSTALL_BINDIR}/drydock)
set(DRYDOCK_INSTALLED_LIBRARY ${CMAKE_INSTALL_LIBDIR}/libvidmm.a)
configure_package_config_file(cmake/DrydockConfig.cmake.in ${CMAKE_BINARY_DIR}/DrydockConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Drydock
    PATH_VARS DRYDOCK_INSTALLED_PROGRAM DRYDOCK_INSTALLED_LIBRARY CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/DrydockConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/DrydockConfig.cmake ${CMAKE_BINARY_DIR}/DrydockConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Drydock)

if(DRYDOCK_TESTS)
    add_test(NAME install/embedding
             COMMAND sh ${CMAKE_SOURCE_DIR}/tests/install/embedding_test.sh ${CMAKE_COMMAND}
                     ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} "${DRYDOCK_SANITIZE}")
    set_tests_properties(install/embedding PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
    add_test(NAME install/action
             COMMAND sh ${CMAKE_SOURCE_DIR}/tests/install/action_test.sh ${CMAKE_COMMAND}
                     ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} "${DRYDOCK_SANITIZE}")
    set_tests_properties(install/action PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
    add_test(NAME install/windows
             COMMAND sh ${CMAKE_SOURCE_DIR}/tests/install/windows_test.sh ${CMAKE_COMMAND}
                     ${CMAKE_SOURCE_DIR})
    set_tests_properties(install/windows PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
    if(TARGET drydock)
        add_test(NAME install/aarch64
                 COMMAND sh ${CMAKE_SOURCE_DIR}/tests/install/aarch64_test.sh ${CMAKE_COMMAND}
                         ${CMAKE_SOURCE_DIR} $<TARGET_FILE:drydock>)
        set_tests_properties(install/aarch64 PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:" TIMEOUT 7200)
        add_test(NAME install/windows-bench
                 COMMAND sh ${CMAKE_SOURCE_DIR}/tests/install/windows_bench_test.sh ${CMAKE_COMMAND}
                         ${CMAKE_SOURCE_DIR} $<TARGET_FILE:drydock>)
        set_tests_properties(install/windows-bench PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:" TIMEOUT 7200)
    endif()
    add_test(NAME install/used
             COMMAND sh ${CMAKE_SOURCE_DIR}/tests/install/install_test.sh ${CMAKE_COMMAND}
                     ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} "${DRYDOCK_SANITIZE}")
    set_tests_properties(install/used PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endif()
