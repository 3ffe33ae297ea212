/*
 * Options: every member of a configuration has a row, and what is written is read again.
 */
#include "bench/campaign/campaign.h"
#include "bench/config/run_options.h"
#include "bench/whole_runs/test_run.h"

#include <ctype.h>

#define MAX_TEXT 65536

static char *load_header(const char *name)
{
    char path[512], *text = calloc(1, MAX_TEXT);
    FILE *file;

    snprintf(path, sizeof path, "%s/src/bench/%s", DRYDOCK_SOURCE_DIR, name);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, MAX_TEXT - 1, file) > 0);
    fclose(file);
    return text;
}

/* Comments become blanks. */
static void blank_comments(char *text)
{
    for (char *at; (at = strstr(text, "/*")) != NULL;) {
        char *end = strstr(at, "*/");

        assert_non_null(end);
        memset(at, ' ', (size_t)(end + 2 - at));
    }
}

static bool has_row(const char *prefix, const char *name, size_t length)
{
    const struct run_option *row;

    for (unsigned i = 0; (row = run_option_at(i)) != NULL; i++) {
        size_t skip = strlen(prefix);

        if (strncmp(row->member, prefix, skip) == 0 && strlen(row->member) == skip + length &&
            memcmp(row->member + skip, name, length) == 0)
            return true;
    }
    return false;
}

/* A declarator's name: the last word before its end, or what follows "(*". */
static void expect_declarator(const char *prefix, const char *start, const char *end)
{
    const char *pointer = NULL, *name = end;
    size_t length;

    for (const char *at = start; at + 1 < end; at++) {
        if (at[0] == '(' && at[1] == '*' && !pointer)
            pointer = at + 2;
    }
    if (pointer) {
        name = pointer;
        for (length = 0; isalnum((unsigned char)name[length]) || name[length] == '_'; length++)
            ;
    } else {
        while (end > start && isspace((unsigned char)end[-1]))
            end--;
        for (name = end; name > start && (isalnum((unsigned char)name[-1]) || name[-1] == '_');)
            name--;
        length = (size_t)(end - name);
    }
    assert_true(length > 0);
    if (strncmp(name, "mmu", length) == 0 && length == 3)
        return; /* its members have rows */
    if (!has_row(prefix, name, length))
        fail_msg("member %s%.*s has no row in src/bench/config/run_options.c", prefix, (int)length,
                 name);
}

static void expect_members(const char *header, const char *structure, const char *prefix,
                           unsigned least)
{
    char *text = load_header(header), *at, *end;
    unsigned count = 0;

    blank_comments(text);
    at = strstr(text, structure);
    assert_non_null(at);
    at = strchr(at, '{') + 1;
    end = strstr(at, "\n};");
    assert_non_null(end);
    while (at < end) {
        char *stop = strchr(at, ';');

        if (!stop || stop > end)
            break;
        for (char *part = at; part < stop;) {
            char *comma = memchr(part, '(', (size_t)(stop - part))
                              ? stop /* a function: its commas are its own */
                              : memchr(part, ',', (size_t)(stop - part));

            if (!comma)
                comma = stop;
            expect_declarator(prefix, part, comma);
            count++;
            part = comma + 1;
        }
        at = stop + 1;
    }
    assert_true(count >= least);
    free(text);
}

static void every_member_has_an_option_or_a_reason(void **state)
{
    expect_members("config/run_config.h", "struct run_config {", "", 60);
    expect_members("config/run_mmu.h", "struct run_mmu {", "mmu.", 7);
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Members that have options are equal, as far as a run can tell. */
static void expect_same(uint64_t seed, const struct run_config *a, const struct run_config *b)
{
    const struct run_option *row;

    for (unsigned i = 0; (row = run_option_at(i)) != NULL; i++) {
        const char *x = (const char *)a + row->offset, *y = (const char *)b + row->offset;
        bool is_same = memcmp(x, y, row->size) == 0;

        if (row->kind == RUN_OPTION_NAME || row->kind == RUN_OPTION_TEMPLATE ||
            row->kind == RUN_OPTION_SURROUNDINGS)
            is_same = is_same_text(*(const char *const *)x, *(const char *const *)y);
        else if (row->kind == RUN_OPTION_NONE && strcmp(row->member, "visible_bytes") != 0)
            is_same = true;
        if (!is_same)
            fail_msg("seed %llu: %s is another", (unsigned long long)seed, row->member);
    }
}

static void round_trip(uint64_t seed, const struct run_config *config, struct workload *workload)
{
    struct run_config defaults, again;
    struct workload_error error;

    if (!run_config_to_options(config, workload, &error))
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
    run_config_defaults(&again);
    run_config_from_workload(&again, workload);
    expect_same(seed, config, &again);
    /* Nothing that is as by default is written: a word less gives another configuration. */
    run_config_defaults(&defaults);
    for (uint32_t i = 0; i < workload->option_count; i++) {
        struct workload *one = test_parse("drydock-case 1\nalloc a size=4K\n");
        const char *key = workload_string(workload, workload->options[i].key);

        if (strcmp(key, "local-invisible") != 0) {
            test_option(one, key, workload_option(workload, key));
            again = defaults;
            run_config_from_workload(&again, one);
            if (memcmp(&again, &defaults, sizeof again) == 0)
                fail_msg("seed %llu: option %s says nothing", (unsigned long long)seed, key);
        }
        workload_free(one);
    }
}

static void what_a_seed_draws_is_written_and_read_again(void **state)
{
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct campaign_setup setup;
        struct workload_error error;
        struct workload *workload;

        assert_true(campaign_draw_workload(seed, &workload, &error));
        campaign_draw_setup(
            &(struct campaign_options){.driver = "ref", .model = CAMPAIGN_ALL_MODELS}, seed,
            workload, &setup);
        setup.config.driver = seed % 2 ? "ref" : "zoo:D1";
        round_trip(seed, &setup.config, workload);
        workload_free(workload);
    }
}

/* The least value that the case format takes and that is not the default. */
static void set_least(const struct run_option *row, char *member)
{
    const struct workload_option_info *info = workload_options;
    uint64_t value;

    while (info->key && strcmp(info->key, row->key) != 0)
        info++;
    assert_non_null(info->key);
    value = info->min > 1 ? info->min : 2;
    assert_true(value <= info->max);
    if (row->size == sizeof(uint32_t))
        *(uint32_t *)member = (uint32_t)value;
    else
        *(uint64_t *)member = value;
}

/* Members one by one, at values that no seed draws. */
static void every_option_is_written_and_read_again(void **state)
{
    const struct run_option *row;

    for (unsigned i = 0; (row = run_option_at(i)) != NULL; i++) {
        struct workload *workload = test_parse("drydock-case 1\nalloc a size=4K\n");
        struct run_config config;
        char *member = (char *)&config + row->offset;

        run_config_defaults(&config);
        switch (row->kind) {
        case RUN_OPTION_NUMBER:
            set_least(row, member);
            if (row->offset == offsetof(struct run_config, private_data_bytes))
                config.has_private_data = true;
            break;
        case RUN_OPTION_CHOICE:
            *(uint8_t *)member ^= 1;
            break;
        case RUN_OPTION_NAME:
            *(const char **)member = "zoo:some-defect";
            break;
        case RUN_OPTION_TEMPLATE:
            *(const char **)member = "size:u64,0x1:u32*3";
            break;
        case RUN_OPTION_SURROUNDINGS:
            *(const char **)member = "id=ACPI\\X&Y,value:A=3,device:\\Device\\B@4=5";
            break;
        case RUN_OPTION_LEVEL:
            *(unsigned *)member = 31;
            break;
        case RUN_OPTION_SET:
            *(unsigned *)member = 3;
            break;
        case RUN_OPTION_LOCAL:
            config.local_bytes = 8 * MiB;
            config.visible_bytes = 3 * MiB;
            break;
        case RUN_OPTION_OF_NUMBER:
            config.has_private_data = true;
            break;
        case RUN_OPTION_NONE:
            break;
        }
        if (row->offset == offsetof(struct run_config, remaps_dma))
            config.wddm = 30;
        round_trip(i, &config, workload);
        if (row->kind == RUN_OPTION_NONE)
            assert_int_equal(workload->option_count, 0);
        else
            assert_true(workload->option_count > 0);
        workload_free(workload);
    }
}

/* A seed's case with its setup as options plays what the seed plays. */
static void a_case_with_its_options_stands_alone(void **state)
{
    for (uint64_t seed = 20; seed < 26; seed++) {
        const struct campaign_options options = {.driver = "ref", .model = CAMPAIGN_ALL_MODELS};
        struct campaign_record *record = calloc(1, sizeof *record);
        struct campaign_setup setup;
        struct workload_error error;
        struct workload *drawn, *alone;
        struct run_result *result;
        size_t size;
        char *text;

        assert_non_null(record);
        campaign_play(&options, seed, 0, record);
        assert_true(campaign_draw_workload(seed, &drawn, &error));
        campaign_draw_setup(
            &(struct campaign_options){.driver = "ref", .model = CAMPAIGN_ALL_MODELS}, seed, drawn,
            &setup);
        assert_true(run_config_to_options(&setup.config, drawn, &error));
        assert_true(workload_print(drawn, &text, &size, &error));
        alone = test_parse(text);
        result = test_play(alone);
        assert_int_equal(result->outcome, RUN_CLEAN);
        assert_true(result->digest == record->digest);
        test_finish(result);
        free(text);
        free(record);
        workload_free(drawn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_has_an_option_or_a_reason),
        cmocka_unit_test(what_a_seed_draws_is_written_and_read_again),
        cmocka_unit_test(every_option_is_written_and_read_again),
        cmocka_unit_test(a_case_with_its_options_stands_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
