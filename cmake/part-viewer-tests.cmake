# The page of reports: its data code by node's test runner, and the page itself in Chromium (viewer/test/browser.ts).
# Skipped with a word where node, its packages or Chromium are not there.
if(DRYDOCK_TESTS AND TARGET drydock AND EXISTS ${CMAKE_SOURCE_DIR}/viewer/test.sh)
    add_test(NAME viewer/unit COMMAND sh ${CMAKE_SOURCE_DIR}/viewer/test.sh unit ${CMAKE_BINARY_DIR})
    add_test(NAME viewer/browser
             COMMAND sh ${CMAKE_SOURCE_DIR}/viewer/test.sh browser ${CMAKE_BINARY_DIR} $<TARGET_FILE:drydock>)
    set_tests_properties(viewer/unit viewer/browser PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE TIMEOUT 1800)
endif()
