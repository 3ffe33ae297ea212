# The viewer, which `drydock report` puts into each page: viewer/ is TypeScript, made by node, and embedded by
# src/report/page/viewer_assets.c.
#
#     -DDRYDOCK_VIEWER=AUTO    where node and npm are found and npm gets the packages; else reports are left out
#     -DDRYDOCK_VIEWER=ON      an error where that fails
#     -DDRYDOCK_VIEWER=OFF     reports are left out
#
# It is built in the build tree, from copies: nothing is written into viewer/.
set(DRYDOCK_VIEWER AUTO CACHE STRING "Build the viewer of reports, which needs node and npm: AUTO, ON or OFF")
set_property(CACHE DRYDOCK_VIEWER PROPERTY STRINGS AUTO ON OFF)
if(NOT DRYDOCK_BENCH OR NOT DRYDOCK_VIEWER OR NOT EXISTS ${CMAKE_SOURCE_DIR}/viewer/build.mjs)
    return()
endif()
find_program(DRYDOCK_NODE node)
find_program(DRYDOCK_NPM npm)
if(NOT DRYDOCK_NODE OR NOT DRYDOCK_NPM)
    if(NOT DRYDOCK_VIEWER STREQUAL "AUTO")
        message(FATAL_ERROR "DRYDOCK_VIEWER=ON needs node and npm, which were not found")
    endif()
    message(STATUS "No node and npm: drydock report is left out of this build")
    return()
endif()

set(DRYDOCK_VIEWER_DIR ${CMAKE_BINARY_DIR}/viewer)
file(GLOB viewer_sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/viewer
     ${CMAKE_SOURCE_DIR}/viewer/*.json ${CMAKE_SOURCE_DIR}/viewer/*.mjs ${CMAKE_SOURCE_DIR}/viewer/.npmrc
     ${CMAKE_SOURCE_DIR}/viewer/src/*)
list(TRANSFORM viewer_sources PREPEND ${CMAKE_SOURCE_DIR}/viewer/ OUTPUT_VARIABLE viewer_depends)
add_custom_command(
    OUTPUT ${DRYDOCK_VIEWER_DIR}/viewer.html ${DRYDOCK_VIEWER_DIR}/viewer_hash.h
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR}/viewer -DBUILD=${DRYDOCK_VIEWER_DIR}
            -DNPM=${DRYDOCK_NPM} -DMODE=${DRYDOCK_VIEWER} "-DSOURCES=${viewer_sources}"
            -P ${CMAKE_SOURCE_DIR}/cmake/build-viewer.cmake
    DEPENDS ${viewer_depends} ${CMAKE_SOURCE_DIR}/cmake/build-viewer.cmake
    COMMENT "Building the viewer of reports"
    VERBATIM)
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/report/page/viewer_assets.c PROPERTIES
    COMPILE_DEFINITIONS DRYDOCK_VIEWER_DIR="${DRYDOCK_VIEWER_DIR}"
    INCLUDE_DIRECTORIES ${DRYDOCK_VIEWER_DIR}
    OBJECT_DEPENDS "${DRYDOCK_VIEWER_DIR}/viewer.html;${DRYDOCK_VIEWER_DIR}/viewer_hash.h")
