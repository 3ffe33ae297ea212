# The JSON Schemas of what Drydock prints (src/report/schemas/NAME.json) are part of the program: each becomes an
# array SCHEMA_NAME and its length in generated/report_schemas.inc.

file(GLOB schemas CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/report/schemas/*.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${schemas})
set(text "/* Made of src/report/schemas by cmake/schemas.cmake. */\n")
foreach(schema ${schemas})
    get_filename_component(name ${schema} NAME_WE)
    file(READ ${schema} bytes HEX)
    string(LENGTH "${bytes}" length)
    math(EXPR length "${length} / 2")
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND text "static const char SCHEMA_${name}[] = {${bytes}0};\n"
                       "#define SCHEMA_${name}_LENGTH ${length}\n")
endforeach()
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/report_schemas.inc CONTENT "${text}")
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/report/document.c PROPERTIES
    INCLUDE_DIRECTORIES ${CMAKE_BINARY_DIR}/generated
    OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/generated/report_schemas.inc)
