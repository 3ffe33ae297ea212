# Man pages and completions: made by the program that was built (src/cli/documents.h), and of docs/.
if(NOT TARGET drydock)
    return()
endif()
add_custom_target(drydock_version
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${CMAKE_BINARY_DIR}/generated/version.inc
            -P ${CMAKE_SOURCE_DIR}/cmake/version.cmake
    BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/version.inc VERBATIM)
add_dependencies(drydock_cli drydock_version)
add_dependencies(drydock drydock_version)

set(documents ${CMAKE_BINARY_DIR}/documents)
set(format_sources ${CMAKE_SOURCE_DIR}/docs/case-format.md ${CMAKE_SOURCE_DIR}/docs/record.md
                   ${CMAKE_SOURCE_DIR}/docs/command-line.md ${CMAKE_SOURCE_DIR}/docs/findings.md)
add_custom_command(OUTPUT ${documents}/drydock.1
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${documents}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${documents}
    COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/man-formats.sh ${DRYDOCK_AWK} ${CMAKE_SOURCE_DIR}
            ${CMAKE_BINARY_DIR}/generated/version.inc ${PROJECT_VERSION} ${documents}
    COMMAND drydock __documents ${documents}
    DEPENDS drydock ${CMAKE_SOURCE_DIR}/scripts/man-formats.sh ${CMAKE_SOURCE_DIR}/scripts/man-of-markdown.awk
            ${format_sources}
    VERBATIM)
add_custom_target(drydock_documents ALL DEPENDS ${documents}/drydock.1)

install(DIRECTORY ${documents}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
install(DIRECTORY ${documents}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 FILES_MATCHING PATTERN "*.5")
install(FILES ${documents}/drydock.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME drydock)
install(FILES ${documents}/_drydock DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${documents}/drydock.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
if(DRYDOCK_TESTS)
    add_test(NAME cli/documents
             COMMAND sh ${CMAKE_SOURCE_DIR}/src/cli/tests/documents_test.sh $<TARGET_FILE:drydock> ${documents})
endif()
