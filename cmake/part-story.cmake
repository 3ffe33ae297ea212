# Stories that no run told, for those who work on the page: build/<preset>/story_synthetic EVENTS FILE.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS)
    add_executable(story_synthetic EXCLUDE_FROM_ALL
                   ${CMAKE_SOURCE_DIR}/tests/story/synthetic.c ${CMAKE_SOURCE_DIR}/src/story/test_synthetic.c)
    target_link_libraries(story_synthetic PRIVATE drydock_everything drydock_story drydock_base)
endif()
if(TARGET report_tests)
    target_sources(report_tests PRIVATE ${CMAKE_SOURCE_DIR}/src/story/test_synthetic.c)
endif()
# The rig of records, with which the tests of other modules write records.
foreach(module story report)
    if(TARGET ${module}_tests)
        target_sources(${module}_tests PRIVATE ${CMAKE_SOURCE_DIR}/src/record/rig/test_record.c)
    endif()
endforeach()
