# When each test is played; `make test` takes under five minutes on two processors.
#
#   all that nothing here names   every day, with sanitizers
#   label `release`               every day, in the release build: commands and scripts that sanitizers
#                                 make many times slower, and what compiles but runs no code of ours
#   label `long`                  by `make test-long` alone, which plays everything with sanitizers
#   label `long-release`          by `make test-long` alone, in the release build: what installs for others, and a
#                                 million moves (`apps/exec` plays a few of them with sanitizers)

set(release_tests
    ^cli/campaign ^cli/documents ^cli/hostile ^cli/json ^cli/lawful ^cli/ops ^cli/parallel ^cli/query ^cli/settings ^cli/watch
    ^docs/ ^wdk/layout ^wdk/source ^apps/ ^viewer/ ^images/samples ^install/used
    ^bench/campaign_case_test ^bench/campaign_test ^bench/client_place_test
    ^bench/driver_image_test ^bench/failure_test ^bench/far_sizes_test ^bench/faults_test ^bench/policy_test
    ^bench/promises_test ^bench/repro_test ^bench/run_test ^image/image_sweep_test)
set(long_tests
    ^cli/baseline ^cli/golden ^cli/interrupt ^cli/long- ^cli/promises ^cli/sentences ^cli/slurm ^cli/terminal
    ^cli/zoo ^docs/headers ^bench/driver_sdma_test
    ^images/faults ^images/intel ^images/memory ^images/models ^images/records ^images/rust ^images/sdma
    ^images/services ^images/softcopy ^images/threads
    ^images/three-ways ^images/writers ^images/zoo ^install/aarch64 ^install/windows ^viewer/browser-long
    ^wdk/layout-mingw ^wdk/layout-msvc-target ^wdk/layout-.*-cxx ^wdk/source-clang ^wdk/source-gcc ^wdk/source-mingw ^wdk/source-.*-cxx)
set(long_release_tests ^apps/moves ^install/action ^install/embedding ^install/packages)

# A pattern that names no test of this build is told: a renamed test would lose its place without a word.
function(label_tests label)
    get_property(tests DIRECTORY PROPERTY TESTS)
    foreach(pattern ${ARGN})
        set(named ${tests})
        list(FILTER named INCLUDE REGEX ${pattern})
        if(NOT named AND DRYDOCK_BENCH)
            message(STATUS "no test here is named ${pattern} (cmake/test-times.cmake)")
        endif()
        foreach(test ${named})
            set_property(TEST ${test} PROPERTY LABELS ${label})
        endforeach()
    endforeach()
endfunction()

if(DRYDOCK_TESTS)
    label_tests(release ${release_tests})
    label_tests(long ${long_tests}) # what both name is long
    label_tests(long-release ${long_release_tests})
endif()
