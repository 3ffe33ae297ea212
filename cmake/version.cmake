# Which version this is. Included: sets DRYDOCK_RELEASE ("0.1.0") from the nearest tag v0.1.0 of git, or from the
# file VERSION that a source archive has. As a script (cmake -DSOURCE=... -DOUT=... -P): writes OUT, with the
# whole description and the day, when they have changed; the build calls it each time.
#
#     VERSION    0.1.0                     release: the tag
#                0.1.0-12-g0123abc         description: commits behind it, and which one
#                2026-11-28                day of the commit

if(NOT DEFINED SOURCE)
    set(SOURCE ${CMAKE_CURRENT_SOURCE_DIR})
endif()
set(DRYDOCK_RELEASE "0.1.0") # before the first tag
set(DRYDOCK_DESCRIPTION "")
set(DRYDOCK_DATE "")
if(EXISTS ${SOURCE}/VERSION)
    file(STRINGS ${SOURCE}/VERSION lines)
    list(GET lines 0 DRYDOCK_RELEASE)
    list(GET lines 1 DRYDOCK_DESCRIPTION)
    list(GET lines 2 DRYDOCK_DATE)
elseif(EXISTS ${SOURCE}/.git)
    find_program(DRYDOCK_GIT git)
    if(DRYDOCK_GIT)
        execute_process(COMMAND ${DRYDOCK_GIT} -C ${SOURCE} describe --tags --match "v[0-9]*" --always --abbrev=10
                        OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
        execute_process(COMMAND ${DRYDOCK_GIT} -C ${SOURCE} log -1 --format=%cd --date=format:%Y-%m-%d
                        OUTPUT_VARIABLE DRYDOCK_DATE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
        if(described MATCHES "^v([0-9]+(\\.[0-9]+)*)(.*)$")
            set(DRYDOCK_RELEASE ${CMAKE_MATCH_1})
            set(DRYDOCK_DESCRIPTION ${CMAKE_MATCH_1}${CMAKE_MATCH_3})
        elseif(described)
            set(DRYDOCK_DESCRIPTION ${DRYDOCK_RELEASE}-g${described})
        endif()
    endif()
endif()
if(NOT DRYDOCK_RELEASE MATCHES "^[0-9]+(\\.[0-9]+)*$")
    message(FATAL_ERROR "VERSION: '${DRYDOCK_RELEASE}' is no version (expected one as 0.1.0)")
endif()
if(NOT DRYDOCK_DESCRIPTION)
    set(DRYDOCK_DESCRIPTION ${DRYDOCK_RELEASE})
endif()
if(NOT DRYDOCK_DATE)
    set(DRYDOCK_DATE "2026-11-28")
endif()

if(DEFINED OUT)
    set(text "#define DRYDOCK_DESCRIPTION \"${DRYDOCK_DESCRIPTION}\"\n#define DRYDOCK_DATE \"${DRYDOCK_DATE}\"\n")
    set(before "")
    if(EXISTS ${OUT})
        file(READ ${OUT} before)
    endif()
    if(NOT text STREQUAL before)
        file(WRITE ${OUT} "${text}")
    endif()
endif()
