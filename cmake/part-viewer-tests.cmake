# The page of reports: its data code by node's test runner, and the page itself in Chromium
# (viewer/test/browser.ts). Skipped with a word where node, its packages or Chromium are not there.

if(DRYDOCK_TESTS AND TARGET drydock AND EXISTS ${CMAKE_SOURCE_DIR}/viewer/test.sh)
    set(viewer_test sh ${CMAKE_SOURCE_DIR}/viewer/test.sh)
    add_test(NAME viewer/unit COMMAND ${viewer_test} unit ${CMAKE_BINARY_DIR})
    add_test(NAME viewer/browser
             COMMAND ${viewer_test} everyday ${CMAKE_BINARY_DIR} $<TARGET_FILE:drydock>
                     --only views,figures,compare,hostile)
    add_test(NAME viewer/browser-long
             COMMAND ${viewer_test} browser ${CMAKE_BINARY_DIR} $<TARGET_FILE:drydock>)
    set_tests_properties(viewer/unit viewer/browser viewer/browser-long PROPERTIES
                         SKIP_RETURN_CODE 77 TIMEOUT 1800 COST 100) # long ones begin first
    set_tests_properties(viewer/browser-long PROPERTIES RUN_SERIAL TRUE) # it measures frames
endif()
