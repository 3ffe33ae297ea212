/*
 * Submissions that cannot be: too many references, commands that no DMA buffer holds, what the
 * driver refuses. Whole runs, and what they say.
 */
#include "bench/whole_runs/test_run.h"

/* The physical model, count pages that one submission of c0 refers to, and nothing else. */
static struct workload *refers_to(unsigned count, const char *options)
{
    size_t room = 256 + strlen(options) + (size_t)count * 64;
    char *text = malloc(room);
    struct workload *workload;
    size_t used;

    assert_non_null(text);
    used = (size_t)snprintf(text, room,
                            "drydock-case 1\noption model physical\noption local-memory 64M\n"
                            "option system-memory 256M\n%scontext c0\n",
                            options);
    for (unsigned i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, room - used, "alloc a%u size=4K segments=local\n", i);
    used += (size_t)snprintf(text + used, room - used, "submit c0");
    for (unsigned i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, room - used, " a%u:w", i);
    used += (size_t)snprintf(text + used, room - used, "\nwait all\n");
    assert_true(used < room);
    workload = test_parse(text);
    free(text);
    return workload;
}

static void assert_only_finding(struct run_result *result, const char *text)
{
    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_int_equal(result->finding_count, 1);
    assert_int_equal(result->finding_totals[RUN_FINDING_SUBMISSION], 1);
    if (!strstr(result->findings[0].text, text))
        fail_msg("'%s' is not in '%s'", text, result->findings[0].text);
    test_finish(result);
}

static void more_references_than_the_list_has_entries_are_refused_by_name(void **state)
{
    assert_only_finding(test_play(refers_to(8192, "")),
                        "they are 8192 allocations, and the driver's allocation list has 4096 "
                        "entries");
    assert_only_finding(test_play(refers_to(4097, "")), "allocation list has 4096 entries");
}

/* Where one buffer must do, references that fit the list may be too long for it. */
static void a_command_that_no_buffer_holds_is_refused_by_name(void **state)
{
    assert_only_finding(test_play(refers_to(4096, "option dma-contract guaranteed\n")),
                        "of 131072 bytes");
    /* Each piece starts aligned, so fewer fit. */
    assert_only_finding(test_play(refers_to(3000, "option dma-contract guaranteed\n"
                                                  "option render-piece 1\n")),
                        "DMA buffer of 131072 bytes");
}

/* PATCH-014: counts what one command becomes, in DMA buffers of the least size. */
struct counter {
    struct miniport layer; /* first: the layer's functions find the counter by it */
    struct miniport_ops ops;
    unsigned renders, presents, patches, amid; /* amid: a call that goes on within a command */
    uint32_t most_bytes;
};

static NTSTATUS count_render(struct miniport *layer, HANDLE object, DXGKARG_RENDER *args)
{
    struct counter *counter = (struct counter *)layer;

    counter->renders++;
    counter->amid += args->MultipassOffset != 0;
    return miniport_render(layer->next, object, args);
}

static NTSTATUS count_present(struct miniport *layer, HANDLE object, DXGKARG_PRESENT *args)
{
    struct counter *counter = (struct counter *)layer;

    counter->presents++;
    return miniport_present(layer->next, object, args);
}

static NTSTATUS count_patch(struct miniport *layer, HANDLE object, const DXGKARG_PATCH *args)
{
    struct counter *counter = (struct counter *)layer;

    counter->patches += !args->Flags.Paging;
    if (!args->Flags.Paging)
        counter->most_bytes = (uint32_t)max_u64(counter->most_bytes, args->DmaBufferSize);
    return miniport_patch(layer->next, object, args);
}

static struct miniport *add_counter(void *context, struct miniport *next)
{
    struct counter *counter = context;

    counter->ops = miniport_forward_ops;
    counter->ops.render = count_render;
    counter->ops.present = count_present;
    counter->ops.patch = count_patch;
    counter->layer = (struct miniport){.ops = &counter->ops, .next = next};
    return &counter->layer;
}

static struct counter play_counted(struct workload *workload)
{
    struct counter counter = {.renders = 0};
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config;

    assert_non_null(result);
    config = test_config(workload);
    config.add_layer = add_counter;
    config.layer_context = &counter;
    run_execute(&config, workload, result);
    test_assert_clean(result);
    workload_free(workload);
    test_finish(result);
    return counter;
}

static void a_command_becomes_as_many_dma_buffers_as_it_takes(void **state)
{
    struct counter counter = play_counted(refers_to(4096, ""));

    assert_in_range(counter.renders, 2, 4);
    assert_int_equal(counter.patches, counter.renders);
    /* Four pieces of one reference are 256 bytes. */
    counter = play_counted(refers_to(20, "option dma-buffer 256\n"));
    assert_int_equal(counter.renders, 5);
    assert_int_equal(counter.amid, 4);
    assert_int_equal(counter.patches, 5);
    assert_int_equal(counter.most_bytes, 256);
    counter = play_counted(refers_to(20, "option dma-buffer 256\noption dma-split always\n"));
    assert_int_equal(counter.renders, 5);
    assert_int_equal(counter.patches, 20);
    counter = play_counted(refers_to(20, "option dma-buffer 256\noption wddm 1.0\n"));
    assert_int_equal(counter.renders, 5); /* the device describes them */
}

/* A piece that no cut makes smaller, as the allocation is on both sides of each, and a present. */
static void what_cannot_be_cut_is_refused_and_rectangles_go_on(void **state)
{
    static const char head[] = "drydock-case 1\noption model physical\noption local-memory 16M\n"
                               "option dma-buffer 256\n"
                               "alloc a size=64K segments=local\nalloc b size=64K segments=local\n";
    struct counter counter;
    char text[1024];

    snprintf(text, sizeof text, "%s%s", head,
             "submit c0 a@0+4K:w b@0+4K:w a@4K+4K:w b@4K+4K:w a@8K+4K:w b@8K+4K:w "
             "a@12K+4K:w b@12K+4K:w\n"
             "wait all\n");
    assert_only_finding(test_play(test_parse(text)), "DMA buffer of 256 bytes");
    snprintf(text, sizeof text, "%s%s", head,
             "submit c0 a:w\nsubmit c0 present=16 a:r b:w\nwait all\nread b\n");
    counter = play_counted(test_parse(text));
    assert_int_equal(counter.presents, 8);
}

static void what_fits_is_played_under_either_contract(void **state)
{
    static const char *const contracts[] = {"multipass", "guaranteed"};

    for (size_t i = 0; i < ARRAY_COUNT(contracts); i++) {
        char option[64];
        struct run_result *result;

        snprintf(option, sizeof option, "option dma-contract %s\n", contracts[i]);
        result = test_play(refers_to(3000, option));
        test_assert_clean(result);
        assert_int_equal(result->submissions, 1);
        test_finish(result);
    }
}

/* A layer that makes the first virtual submission malformed. */
struct bender {
    struct miniport layer; /* first: the layer's functions find the bender by it */
    struct miniport_ops ops;
    unsigned submissions;
    NTSTATUS answer;
};

static NTSTATUS bend_submission(struct miniport *layer, HANDLE object,
                                const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
    struct bender *bender = (struct bender *)layer;
    DXGKARG_SUBMITCOMMANDVIRTUAL bent = *args;

    if (args->Flags.Paging || bender->submissions++)
        return miniport_submit_command_virtual(layer->next, object, args);
    bent.DmaBufferVirtualAddress += 8; /* where no buffer may start */
    bender->answer = miniport_submit_command_virtual(layer->next, object, &bent);
    return bender->answer;
}

static struct miniport *add_bender(void *context, struct miniport *next)
{
    struct bender *bender = context;

    bender->ops = miniport_forward_ops;
    bender->ops.submit_command_virtual = bend_submission;
    bender->layer = (struct miniport){.ops = &bender->ops, .next = next};
    return &bender->layer;
}

/* SUB-011, SUB-012: its device is in error, nobody else's is, and the driver has broken no rule. */
static void a_refused_virtual_submission_fails_its_device_alone(void **state)
{
    struct workload *workload = test_parse("drydock-case 1\n"
                                           "option model gpummu\n"
                                           "option local-memory 16M\n"
                                           "device d0\ndevice d1\n"
                                           "context c0 device=d0\ncontext c1 device=d1\n"
                                           "alloc a device=d0 size=64K segments=local\n"
                                           "alloc b device=d1 size=64K segments=local\n"
                                           "submit c0 a:w\n"
                                           "wait all\n"
                                           "submit c1 b:w\n"
                                           "wait all\n"
                                           "read b\n");
    struct bender bender = {.answer = STATUS_SUCCESS};
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config;

    assert_non_null(result);
    config = test_config(workload);
    config.add_layer = add_bender;
    config.layer_context = &bender;
    run_execute(&config, workload, result);
    assert_int_equal(bender.answer, STATUS_INVALID_PARAMETER);
    assert_int_equal(result->device_errors, 1);
    assert_int_equal(result->submissions, 1);
    assert_int_equal(result->finding_totals[RUN_FINDING_DRIVER], 0);
    assert_int_equal(result->finding_totals[RUN_FINDING_SUBMISSION], 1);
    assert_int_equal(result->mismatches, 0);
    workload_free(workload);
    test_finish(result);
}

/* ---- Patching again -------------------------------------------------------------------------- */

#define LIST_ENTRIES 64

/*
 * A layer that patches every buffer for other addresses first, and compares what Render was told.
 */
struct repatcher {
    struct miniport layer; /* first: the layer's functions find the repatcher by it */
    struct miniport_ops ops;
    DXGK_ALLOCATIONLIST rendered[LIST_ENTRIES]; /* by the last Render into the buffer at key */
    const void *key;
    unsigned patched, moved; /* buffers; and those of which Render was given another address */
};

static NTSTATUS note_render(struct miniport *layer, HANDLE object, DXGKARG_RENDER *args)
{
    struct repatcher *repatcher = (struct repatcher *)layer;

    assert_true(args->AllocationListSize <= LIST_ENTRIES);
    repatcher->key = args->pDmaBuffer;
    memcpy(repatcher->rendered, args->pAllocationList,
           args->AllocationListSize * sizeof *args->pAllocationList);
    return miniport_render(layer->next, object, args);
}

static bool has_moved(const struct repatcher *repatcher, const DXGKARG_PATCH *args)
{
    for (UINT i = 0; i < args->AllocationListSize; i++) {
        const DXGK_ALLOCATIONLIST *before = &repatcher->rendered[i];
        const DXGK_ALLOCATIONLIST *now = &args->pAllocationList[i];

        if (before->SegmentId && now->SegmentId &&
            before->PhysicalAddress.QuadPart != now->PhysicalAddress.QuadPart)
            return true;
    }
    return false;
}

static NTSTATUS patch_twice(struct miniport *layer, HANDLE object, const DXGKARG_PATCH *args)
{
    struct repatcher *repatcher = (struct repatcher *)layer;
    DXGK_ALLOCATIONLIST elsewhere[LIST_ENTRIES];
    DXGKARG_PATCH other = *args;

    if (args->Flags.Paging)
        return miniport_patch(layer->next, object, args);
    for (UINT i = 0; i < args->AllocationListSize; i++) {
        elsewhere[i] = args->pAllocationList[i];
        elsewhere[i].PhysicalAddress.QuadPart ^= 0x10000;
    }
    other.pAllocationList = elsewhere;
    assert_int_equal(miniport_patch(layer->next, object, &other), STATUS_SUCCESS);
    repatcher->patched++;
    repatcher->moved += repatcher->key == args->pDmaBuffer && has_moved(repatcher, args);
    return miniport_patch(layer->next, object, args);
}

static struct miniport *add_repatcher(void *context, struct miniport *next)
{
    struct repatcher *repatcher = context;

    repatcher->ops = miniport_forward_ops;
    repatcher->ops.render = note_render;
    repatcher->ops.patch = patch_twice;
    repatcher->layer = (struct miniport){.ops = &repatcher->ops, .next = next};
    return &repatcher->layer;
}

/*
 * PATCH-006, PATCH-011: what was patched once is patched again as if it never had been, and an
 * address that Render wrote gives way to the one of Patch. The last submission is rendered while a
 * is held where the one before will not leave it.
 */
static void a_buffer_is_patched_again_for_other_addresses(void **state)
{
    static const char *const splitting[] = {"needed", "always"};

    for (size_t i = 0; i < ARRAY_COUNT(splitting); i++) {
        struct workload *workload = test_parse("drydock-case 1\n"
                                               "option model physical\n"
                                               "option local-memory 4M\n"
                                               "option render-piece 1\n"
                                               "alloc pad size=512K segments=local\n"
                                               "alloc a size=1M segments=local\n"
                                               "alloc big size=3840K segments=local\n"
                                               "submit c0 pad:w a:w\n"
                                               "wait all\n"
                                               "submit c0 duration=300000 pad:r a:rw\n"
                                               "submit c0 big:w\n"
                                               "submit c0 a:rw\n"
                                               "wait all\n"
                                               "read pad\nread a\nread big\n");
        struct repatcher repatcher = {.patched = 0};
        struct run_result *result = calloc(1, sizeof *result);
        struct run_config config;

        test_option(workload, "dma-split", splitting[i]);
        assert_non_null(result);
        run_config_defaults(&config);
        run_config_from_workload(&config, workload);
        config.reference = RUN_REFERENCE_NEVER;
        config.checks_rules = false; /* the layer names places where nothing is, on purpose */
        config.add_layer = add_repatcher;
        config.layer_context = &repatcher;
        run_execute(&config, workload, result);
        test_assert_clean(result);
        assert_int_equal(repatcher.patched, i ? 6 : 4);
        assert_int_equal(repatcher.moved, 1);
        workload_free(workload);
        test_finish(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_references_than_the_list_has_entries_are_refused_by_name),
        cmocka_unit_test(a_command_that_no_buffer_holds_is_refused_by_name),
        cmocka_unit_test(a_command_becomes_as_many_dma_buffers_as_it_takes),
        cmocka_unit_test(what_cannot_be_cut_is_refused_and_rectangles_go_on),
        cmocka_unit_test(what_fits_is_played_under_either_contract),
        cmocka_unit_test(a_refused_virtual_submission_fails_its_device_alone),
        cmocka_unit_test(a_buffer_is_patched_again_for_other_addresses),
    };

    return cmocka_run_group_tests_name("bench/submission", tests, NULL, NULL);
}
