# Packages: `make package` writes them to build/packages. Debian packages and one archive of an installed tree.
#
#     drydock          the program, its templates, cases, pages
#     drydock-headers  the headers of the driver interface, which drydock cc and the library's users take
#     libvidmm0.1      the shared library, by its soname
#     libvidmm-dev     headers, the static library, pkg-config
if(NOT TARGET drydock)
    return()
endif()
set(CPACK_PACKAGE_NAME drydock)
set(CPACK_PACKAGE_VENDOR "The Drydock authors")
set(CPACK_PACKAGE_CONTACT "The Drydock authors <drydock@users.noreply.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "bench for the memory code of WDDM display drivers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/../packages)
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_STRIP_FILES ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL drydock drydock-headers libvidmm libvidmm-dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(same "(= ${PROJECT_VERSION})")
set(soname "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")

# Libraries in /usr/lib are told to the linker, by a trigger.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")

set(CPACK_COMPONENT_DRYDOCK_DESCRIPTION "Puts a display miniport under a memory manager on a modelled machine, plays
cases and campaigns of drawn runs, and checks every byte and every rule of
the documented contract.")
set(CPACK_DEBIAN_DRYDOCK_PACKAGE_NAME drydock)
set(CPACK_DEBIAN_DRYDOCK_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DRYDOCK_PACKAGE_DEPENDS "drydock-headers ${same}")
set(CPACK_DEBIAN_DRYDOCK_PACKAGE_RECOMMENDS "clang, lld, llvm, make")
set(CPACK_DEBIAN_DRYDOCK_PACKAGE_SUGGESTS "libvidmm-dev ${same}, cmake")

set(CPACK_COMPONENT_DRYDOCK-HEADERS_DESCRIPTION "headers of the WDDM display driver interface
Written from the public documentation; for drivers that drydock cc builds,
for models of GPUs, and for programs that embed libvidmm.")
set(CPACK_DEBIAN_DRYDOCK-HEADERS_PACKAGE_NAME drydock-headers)
set(CPACK_DEBIAN_DRYDOCK-HEADERS_PACKAGE_ARCHITECTURE all)

set(CPACK_COMPONENT_LIBVIDMM_DESCRIPTION "operating-system half of the WDDM memory contract
The memory manager of Drydock as a shared library, which depends on nothing
but the C library.")
set(CPACK_DEBIAN_LIBVIDMM_PACKAGE_NAME libvidmm${soname})
set(CPACK_DEBIAN_LIBVIDMM_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBVIDMM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBVIDMM_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/cmake/package-triggers/triggers)

set(CPACK_COMPONENT_LIBVIDMM-DEV_DESCRIPTION "operating-system half of the WDDM memory contract (development)
Headers, the static library and what pkg-config needs to embed the memory
manager of Drydock.")
set(CPACK_DEBIAN_LIBVIDMM-DEV_PACKAGE_NAME libvidmm-dev)
set(CPACK_DEBIAN_LIBVIDMM-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBVIDMM-DEV_PACKAGE_DEPENDS "libvidmm${soname} ${same}, drydock-headers ${same}")

set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/package-polish.cmake)
set(CPACK_DRYDOCK_SOURCE ${CMAKE_SOURCE_DIR})
set(CPACK_DRYDOCK_DATE ${DRYDOCK_DATE})
include(CPack)

if(DRYDOCK_TESTS)
    add_test(NAME install/packages
             COMMAND sh ${CMAKE_SOURCE_DIR}/tests/install/packages_test.sh ${CMAKE_CPACK_COMMAND}
                     ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} "${DRYDOCK_SANITIZE}")
    set_tests_properties(install/packages PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
endif()
