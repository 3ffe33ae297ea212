# The tests of vidmm count the calls of each public function of vidmm.h: the linker leads them through a few
# instructions (ld --wrap), so that what is counted is a call and not a name in a list.
# Of a processor that is not named here vidmm_tests does not link.
set(call_x86_64 "incq vidmm_calls+PLACE(%rip)\\njmp __real_NAME")
string(CONCAT call_aarch64 "adrp x16, vidmm_calls+PLACE\\nadd x16, x16, :lo12:vidmm_calls+PLACE\\n"
                           "ldr x17, [x16]\\nadd x17, x17, 1\\nstr x17, [x16]\\nb __real_NAME")
string(REPLACE AMD64 x86_64 processor "${CMAKE_SYSTEM_PROCESSOR}")
if(TARGET vidmm_tests AND DEFINED call_${processor})
    set(public_header ${CMAKE_SOURCE_DIR}/include/vidmm/vidmm.h)
    set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${public_header})
    # Declarations begin in the first column, and comments and the rest of a declaration do not.
    file(STRINGS ${public_header} declarations REGEX "^[a-z_A-Z].*vidmm_[a-z_]+\\(")
    set(names "")
    set(jumps "")
    set(count 0)
    foreach(declaration IN LISTS declarations)
        string(REGEX MATCH "(vidmm_[a-z_]+)\\(" ignored "${declaration}")
        set(name ${CMAKE_MATCH_1})
        string(APPEND names "    \"${name}\",\n")
        math(EXPR place "8 * ${count}")
        string(REPLACE PLACE ${place} jump "${call_${processor}}")
        string(REPLACE NAME ${name} jump "${jump}")
        string(APPEND jumps "        \".globl __wrap_${name}\\n__wrap_${name}:\\n\"\n"
                            "        \"${jump}\\n\"\n")
        target_link_options(vidmm_tests PRIVATE -Wl,--wrap=${name})
        math(EXPR count "${count} + 1")
    endforeach()
    set(made ${CMAKE_BINARY_DIR}/generated/vidmm_calls.c)
    file(CONFIGURE OUTPUT ${made} @ONLY CONTENT "#include <stdint.h>

const char *const vidmm_call_names[] = {
@names@};
const unsigned vidmm_call_count = @count@;
uint64_t vidmm_calls[@count@];

__asm__(\".text\\n\"
@jumps@);
")
    target_sources(vidmm_tests PRIVATE ${made})
endif()
