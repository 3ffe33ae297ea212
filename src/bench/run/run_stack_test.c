/*
 * The table of layers: what documents say of it, and what stands in a run.
 */
#include "bench/run/run_stack.h"

#include "bench/whole_runs/test_run.h"

#define PAGE_OF_DOCS  DRYDOCK_SOURCE_DIR "/docs/architecture.md"
#define HEAD_OF_TABLE "| layer | in a run | what it does |\n| --- | --- | --- |\n"

static char *load_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);

    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static void the_docs_show_the_table(void **state)
{
    char *docs = load_text(PAGE_OF_DOCS);
    char table[8192] = HEAD_OF_TABLE;
    size_t used = strlen(table);

    for (unsigned i = 0; run_layer_at(i); i++) {
        const struct run_layer *row = run_layer_at(i);

        used += (size_t)snprintf(table + used, sizeof table - used, "| %s | %s | %s |\n", row->name,
                                 row->when, row->sentence);
        assert_true(used < sizeof table);
    }
    if (!strstr(docs, table))
        fail_msg("the table of layers in docs/architecture.md should be:\n%s", table);
    free(docs);
}

/* Each name of the stack below a layer that the test adds is found in the rows, in their order. */
static struct miniport *look_down(void *context, struct miniport *next)
{
    unsigned *count = context, row = 0;

    while (run_layer_at(row))
        row++;
    for (struct miniport *layer = next; layer->next; layer = layer->next) {
        do {
            if (row-- == 0) {
                fail_msg("layer '%s' stands elsewhere than its row", layer->ops->name);
                return NULL;
            }
        } while (strcmp(run_layer_at(row)->name, layer->ops->name) != 0);
        ++*count;
    }
    return next;
}

static unsigned count_layers(const char *model, const char *options[][2], size_t option_count)
{
    struct workload *workload = test_load("evict-and-restore.case");
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config;
    unsigned count = 0;

    assert_non_null(result);
    test_option(workload, "model", model);
    for (size_t i = 0; i < option_count; i++)
        test_option(workload, options[i][0], options[i][1]);
    config = test_config(workload);
    config.add_layer = look_down;
    config.layer_context = &count;
    run_execute(&config, workload, result);
    workload_free(workload);
    test_finish(result);
    return count;
}

static void the_stack_stands_as_the_table_says(void **state)
{
    const char *options[][2] = {
        {"faults", "probes,start"}, {"busy", "yes"},   {"lowers-dma-size", "yes"},
        {"private-data", "64"},     {"rename", "yes"},
    };

    const char *memory[][2] = {{"device-memory", "yes"}};

    /* guard, lend, check, irql, oracle, trace */
    assert_int_equal(count_layers("gpummu", NULL, 0), 6);
    assert_int_equal(count_layers("gpummu", memory, 1), 7);
    assert_int_equal(count_layers("physical", options, ARRAY_COUNT(options)), 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_docs_show_the_table),
        cmocka_unit_test(the_stack_stands_as_the_table_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
