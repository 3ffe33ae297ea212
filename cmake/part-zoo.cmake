# A part of the zoo, a few defects of each kind: all found, by as many seeds as the command plays itself, and each told
# as one mistake of the driver's. The whole zoo: drydock zoo --no-shrink --most-causes 3
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    add_test(NAME cli/zoo
             COMMAND drydock zoo --seeds 60 --jobs 2 --no-shrink --most-causes 3 D02 D10 D33 D37 D50 D51-slot D66 D70 D76-fence
                     PB-segment ALLOC TDR MEM-render-b MEM-query-output MEM-create-info MEM-mdl MEM-resources-b LARGE-size FAR-va)
    set_tests_properties(cli/zoo PROPERTIES TIMEOUT 1800)
    # Lawful drivers, of which nothing may be said. All 300 seeds of each model: drydock zoo --lawful
    add_test(NAME cli/lawful COMMAND drydock zoo --lawful --seeds 5 --jobs 2)
    add_test(NAME cli/long-lawful COMMAND drydock zoo --lawful --seeds 30 --jobs 2)
    set_tests_properties(cli/long-lawful PROPERTIES TIMEOUT 1800)
endif()
