# Compiles driver source for every interface version, with warnings as errors. Run by ctest with
# the definitions that layout_test.cmake names.

file(MAKE_DIRECTORY ${WORK_DIR})
file(STRINGS ${SOURCE_DIR}/data/ddi/enums.tsv version_rows REGEX "^DXGKDDI_INTERFACE_VERSION_")
set(failed "")

foreach(row ${version_rows})
    string(REGEX MATCH "^[A-Z0-9_]+" version ${row})
    foreach(source driver_source display_source)
        execute_process(COMMAND ${COMPILER} ${FLAGS} -I${SOURCE_DIR}/include/wdk
                                -DDXGKDDI_INTERFACE_VERSION=${version} -x ${LANGUAGE}
                                -c ${SOURCE_DIR}/tests/wdk/${source}.c -o ${WORK_DIR}/${version}.o
                        RESULT_VARIABLE status)
        if(NOT status EQUAL 0)
            list(APPEND failed ${source}:${version})
        endif()
    endforeach()
endforeach()

if(failed)
    message(FATAL_ERROR "${COMPILER} does not compile driver source for: ${failed}")
endif()
