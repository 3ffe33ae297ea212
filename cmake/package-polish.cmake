# What Debian wants of the trees before they are packed: a copyright and a changelog in each, pages compressed, no
# second copy of the licence. CPack runs it for each generator.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()
find_program(GZIP gzip REQUIRED)
file(READ ${CPACK_DRYDOCK_SOURCE}/LICENSE licence)
string(REGEX REPLACE "^MIT License\n+" "" licence "${licence}")
string(REGEX MATCH "Copyright[^\n]*" holder "${licence}")
string(REGEX REPLACE "Copyright \\(c\\) " "" holder "${holder}")
string(REGEX REPLACE "^Copyright[^\n]*\n+" "" licence "${licence}")
string(REGEX REPLACE "\n+$" "" licence "${licence}")
string(REPLACE "\n\n" "\n.\n" licence "${licence}")
string(REPLACE "\n" "\n " licence "${licence}")
execute_process(COMMAND date -R -u -d ${CPACK_DRYDOCK_DATE} OUTPUT_VARIABLE day OUTPUT_STRIP_TRAILING_WHITESPACE)

file(GLOB trees ${CPACK_TEMPORARY_DIRECTORY}/*)
foreach(tree ${trees})
    get_filename_component(component ${tree} NAME)
    string(TOUPPER ${component} upper)
    set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
    if(NOT package OR NOT IS_DIRECTORY ${tree}/usr)
        continue()
    endif()
    set(doc ${tree}/usr/share/doc/${package})
    file(REMOVE ${doc}/LICENSE)
    file(WRITE ${doc}/copyright
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: drydock\n\n"
        "Files: *\nCopyright: ${holder}\nLicense: Expat\n ${licence}\n")
    file(WRITE ${doc}/changelog
        "drydock (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
        "  * Release ${CPACK_PACKAGE_VERSION}; see CHANGELOG.md of the package drydock.\n\n"
        " -- ${CPACK_PACKAGE_CONTACT}  ${day}\n")
    file(GLOB_RECURSE pages ${tree}/usr/share/man/*.[1-9])
    execute_process(COMMAND ${GZIP} -9n ${doc}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
    file(GLOB_RECURSE all LIST_DIRECTORIES true ${tree}/usr/*)
    foreach(one ${tree}/usr ${all})
        if(IS_SYMLINK ${one})
        elseif(IS_DIRECTORY ${one})
            file(CHMOD ${one} DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                 WORLD_READ WORLD_EXECUTE)
        elseif(NOT one MATCHES "/bin/[^/]+$")
            file(CHMOD ${one} FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
        endif()
    endforeach()
endforeach()
