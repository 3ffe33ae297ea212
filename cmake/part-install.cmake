# What `make install` and `cmake --install` put where. The program finds its headers and templates from its own
# place (bin/../include/drydock/wdk, bin/../share/drydock/new), so an installed tree may be moved. The examples of
# docs/gpu-models.md are in share/drydock/examples, to be copied.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# libvidmm is one file: the modules that it consists of, from the objects that they are made of.
add_library(vidmm STATIC $<TARGET_OBJECTS:drydock_base> $<TARGET_OBJECTS:drydock_miniport>
                         $<TARGET_OBJECTS:drydock_vidsch> $<TARGET_OBJECTS:drydock_vidmm>)
set_target_properties(vidmm PROPERTIES LINKER_LANGUAGE C)

install(TARGETS vidmm ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/vidmm/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vidmm)
install(FILES src/base/services.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vidmm/base)
install(FILES src/miniport/miniport.h src/miniport/raw.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vidmm/miniport)
install(DIRECTORY include/wdk/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/drydock/wdk)
install(DIRECTORY include/drydock/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/drydock)

# The prefix of the installation, which `cmake --install --prefix` may say only then.
install(CODE "set(DRYDOCK_PC_IN \"${CMAKE_SOURCE_DIR}/cmake/vidmm.pc.in\")
set(PROJECT_VERSION \"${PROJECT_VERSION}\")
set(CMAKE_INSTALL_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
set(CMAKE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
get_filename_component(CMAKE_INSTALL_PREFIX \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
configure_file(\"\${DRYDOCK_PC_IN}\"
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/vidmm.pc\" @ONLY)
list(APPEND CMAKE_INSTALL_MANIFEST_FILES
    \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/vidmm.pc\")")

if(NOT TARGET drydock)
    return() # for Windows: the library alone
endif()

install(TARGETS drydock RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES templates/new/Makefile templates/new/CMakeLists.txt templates/new/driver.case
              templates/new/drydock.yml templates/new/drydock.toml
        DESTINATION ${CMAKE_INSTALL_DATADIR}/drydock/new)
install(FILES tests/images/softcopy/softcopy.c DESTINATION ${CMAKE_INSTALL_DATADIR}/drydock/new
        RENAME miniport.c)

install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/drydock/examples
        FILES_MATCHING PATTERN "*.c" PATTERN "*.h" PATTERN "*.case" PATTERN "Makefile")

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
    add_test(NAME install/used
             COMMAND sh ${CMAKE_SOURCE_DIR}/tests/install/install_test.sh ${CMAKE_COMMAND}
                     ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} "${DRYDOCK_SANITIZE}")
    set_tests_properties(install/used PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endif()
