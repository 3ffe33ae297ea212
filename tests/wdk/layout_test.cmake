# Compiles the probe of every interface version with one compiler and checks it, and for C++ that
# nothing of a later version shows. Run by ctest:
#
#   cmake -D TOOL=layout_tool -D COMPILER=gcc -D LANGUAGE=c|cxx -D FLAGS=a;b -D SOURCE_DIR=...
#         -D WORK_DIR=... [-D CHECK_ABSENT=ON] -P layout_test.cmake

set(enums ${SOURCE_DIR}/data/ddi/enums.tsv)
file(MAKE_DIRECTORY ${WORK_DIR})

# The types that the bench plays and all others, under one heading.
set(layout ${WORK_DIR}/layout.tsv)
file(READ ${SOURCE_DIR}/data/ddi/layout-x64.tsv rows)
file(WRITE ${layout} "${rows}")
file(READ ${SOURCE_DIR}/data/ddi/types-x64.tsv rows)
string(FIND "${rows}" "\n" heading)
math(EXPR heading "${heading} + 1")
string(SUBSTRING "${rows}" ${heading} -1 rows)
file(APPEND ${layout} "${rows}")

file(STRINGS ${enums} version_rows REGEX "^DXGKDDI_INTERFACE_VERSION_")
set(failed "")

function(compile source object status_variable)
    execute_process(COMMAND ${COMPILER} ${FLAGS} -I${SOURCE_DIR}/include/wdk -c ${source} -o ${object}
                    RESULT_VARIABLE status)
    set(${status_variable} ${status} PARENT_SCOPE)
endfunction()

foreach(row ${version_rows})
    string(REGEX MATCH "^[A-Z0-9_]+" version ${row})
    set(source ${WORK_DIR}/${version}.${LANGUAGE})
    execute_process(COMMAND ${TOOL} probe ${layout} ${enums} ${version} ${LANGUAGE}
                    OUTPUT_FILE ${source} RESULT_VARIABLE status)
    if(status EQUAL 0)
        compile(${source} ${source}.o status)
    endif()
    if(status EQUAL 0)
        execute_process(COMMAND ${TOOL} check ${layout} ${enums} ${version} ${LANGUAGE} ${source}.o
                        RESULT_VARIABLE status)
    endif()
    if(status EQUAL 0 AND CHECK_ABSENT)
        set(source ${WORK_DIR}/${version}.absent.${LANGUAGE})
        execute_process(COMMAND ${TOOL} absent ${layout} ${enums} ${version}
                        OUTPUT_FILE ${source} RESULT_VARIABLE status)
        if(status EQUAL 0)
            compile(${source} ${source}.o status)
        endif()
    endif()
    if(NOT status EQUAL 0)
        list(APPEND failed ${version})
    endif()
endforeach()

if(failed)
    message(FATAL_ERROR "${COMPILER} does not agree with the table for: ${failed}")
endif()
