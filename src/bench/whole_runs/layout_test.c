/*
 * Where and in which order allocations lie, by the flags that they were created with, in whole
 * runs.
 */
#include "bench/whole_runs/test_run.h"

static void finish_clean(struct run_result *result)
{
    test_assert_clean(result);
    test_finish(result);
}

/* ---- Tiles ----------------------------------------------------------------------------------- */

enum { KEEPS_FLAGS, DROPS_SWIZZLE, DROPS_UNSWIZZLE };

/* Counts the transfers that change the order; may drop their flags. */
struct order_layer {
    struct miniport miniport;
    struct miniport_ops ops;
    unsigned drops;
    uint64_t swizzled, unswizzled, plain;
};

static NTSTATUS order_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct order_layer *layer = (struct order_layer *)self;
    DXGK_TRANSFERFLAGS *flags = NULL;

    if (arg->Operation == DXGK_OPERATION_TRANSFER)
        flags = &arg->Transfer.Flags;
    else if (arg->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER)
        flags = &arg->SpecialLockTransfer.Flags;
    if (flags) {
        assert_false(flags->Swizzle && flags->Unswizzle); /* XFER-015 */
        layer->swizzled += flags->Swizzle;
        layer->unswizzled += flags->Unswizzle;
        layer->plain += !flags->Swizzle && !flags->Unswizzle;
        if (layer->drops == DROPS_SWIZZLE)
            flags->Swizzle = 0;
        if (layer->drops == DROPS_UNSWIZZLE)
            flags->Unswizzle = 0;
    }
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static struct miniport *add_order_layer(void *context, struct miniport *next)
{
    struct order_layer *layer = context;

    layer->ops = miniport_forward_ops;
    layer->ops.build_paging_buffer = order_build;
    layer->miniport = (struct miniport){.ops = &layer->ops, .next = next};
    return &layer->miniport;
}

/* Takes the workload. */
static struct run_result *play_in_order(struct workload *workload, struct order_layer *layer)
{
    struct run_result *result;
    struct run_config config;

    config = test_config(workload);
    config.add_layer = add_order_layer;
    config.layer_context = layer;
    result = test_execute(&config, workload);
    return result;
}

static struct workload *load_tiles(const char *buffer, const char *piece, const char *ranges)
{
    struct workload *workload = test_load("tiles.case");

    test_option(workload, "paging-buffer", buffer);
    test_option(workload, "transfer-piece", piece);
    test_option(workload, "swizzling-ranges", ranges);
    return workload;
}

static void tiles_keep_their_content_in_pieces_of_any_size(void **state)
{
    static const char *const buffers[] = {"256", "4K", "64K"};
    static const char *const pieces[] = {"4K", "20K", "1G"};

    for (size_t i = 0; i < ARRAY_COUNT(buffers); i++) {
        for (size_t j = 0; j < ARRAY_COUNT(pieces); j++) {
            finish_clean(test_play(load_tiles(buffers[i], pieces[j], "yes")));
            finish_clean(test_play(load_tiles(buffers[i], pieces[j], "no")));
        }
    }
}

static void the_cpu_sees_tiles_through_ranges(void **state)
{
    struct order_layer layer = {.drops = KEEPS_FLAGS};
    struct run_result *result = play_in_order(load_tiles("64K", "1G", "yes"), &layer);

    test_assert_clean(result);
    assert_int_equal(layer.unswizzled, 0); /* nothing had to leave for the CPU */
    assert_int_equal(layer.swizzled, 0);
    assert_true(layer.plain > 0);
    test_finish(result);
}

static void without_ranges_the_cpu_gets_tiles_unswizzled(void **state)
{
    struct order_layer layer = {.drops = KEEPS_FLAGS};
    struct run_result *result = play_in_order(load_tiles("64K", "1G", "no"), &layer);

    test_assert_clean(result);
    assert_true(layer.unswizzled > 0);
    assert_true(layer.swizzled > 0 && layer.swizzled <= layer.unswizzled);
    assert_true(layer.plain > 0);
    test_finish(result);
}

static void a_flag_that_is_lost_is_found_in_the_bytes(void **state)
{
    static const unsigned drops[] = {DROPS_SWIZZLE, DROPS_UNSWIZZLE};

    for (size_t i = 0; i < ARRAY_COUNT(drops); i++) {
        struct order_layer layer = {.drops = drops[i]};
        struct run_result *result = play_in_order(load_tiles("64K", "1G", "no"), &layer);

        assert_true(result->mismatches > 0);
        test_finish(result);
    }
}

static const char sleeping[] = "drydock-case 1\n"
                               "option model physical\n"
                               "option local-memory 4M\n"
                               "option preserve standby\n"
                               "alloc a size=1M segments=local flags=cpu-visible,tiled\n"
                               "alloc b size=1M segments=local flags=cpu-visible,swizzled\n"
                               "submit c0 a:w b:w\nwait all\n"
                               "read a\nread b\n"
                               "power standby\npower on\n"
                               "read a\nread b\n"
                               "submit c0 a:rw b:rw\nwait all\n"
                               "power hibernate\npower on\n"
                               "read a\nread b\n"
                               "submit c0 a:r b:r\nwait all\n";

static void tiles_and_their_ranges_outlive_a_sleep(void **state)
{
    finish_clean(test_play(test_parse(sleeping)));
}

static const char both[] = "drydock-case 1\n"
                           "option model physical\n"
                           "option local-memory 2M\n"
                           "alloc a size=1M segments=local "
                           "flags=cpu-visible,use-alternate-va,primary,swizzled\n"
                           "alloc b size=2M segments=local\n"
                           "submit c0 a:w\nwait all\n"
                           "read a\nwrite a size=64K\n"
                           "submit c0 b:w\nwait all\n"
                           "read a\nwrite a offset=64K\n"
                           "submit c0 a:rw\nwait all\n"
                           "read a\n";

/* SLT-004: what the CPU goes on seeing is what it saw. */
static void a_swizzled_one_with_an_alternate_address_leaves_in_order(void **state)
{
    struct order_layer layer = {.drops = KEEPS_FLAGS};
    struct run_result *result = play_in_order(test_parse(both), &layer);

    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER), 2);
    assert_int_equal(layer.unswizzled, 1);
    assert_int_equal(layer.swizzled, 1);
    test_finish(result);
}

static void lack_of_memory_is_survived_with_tiles(void **state)
{
    bool has_failed = true;

    for (uint64_t n = 1; has_failed; n++) {
        struct workload *workload = load_tiles("4K", "1G", n % 2 ? "no" : "yes");
        struct run_config config;
        struct run_result result;

        run_config_defaults(&config);
        run_config_from_workload(&config, workload);
        config.reference = RUN_REFERENCE_NEVER;
        config.fail_allocation = n;
        run_execute(&config, workload, &result);
        assert_int_not_equal(result.outcome, RUN_BROKEN);
        assert_int_equal(result.mismatches, 0);
        assert_int_equal(result.finding_totals[RUN_FINDING_LEAK], 0);
        has_failed = result.has_failed_allocation;
        run_result_fini(&result);
        workload_free(workload);
    }
}

/* ---- Pinned ones ----------------------------------------------------------------------------- */

/* ALLOC-014: each is filled where it is once, and no transfer ever has to do with it. */
struct pin_layer {
    struct miniport miniport;
    struct miniport_ops ops;
    HANDLE pinned[2];
    unsigned fills;
};

#define PINNED_BYTES(i) ((i) ? 256 * KiB : 512 * KiB) /* as in the case, and no other one */
#define LAST_FIFTH      (8 * MiB)

static NTSTATUS pin_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct pin_layer *layer = (struct pin_layer *)self;

    if (arg->Operation == DXGK_OPERATION_FILL && !arg->MultipassOffset) {
        for (unsigned i = 0; i < ARRAY_COUNT(layer->pinned); i++) {
            if (arg->Fill.FillSize != PINNED_BYTES(i))
                continue;
            assert_true(arg->Fill.Destination.SegmentAddress.QuadPart >= (LONGLONG)LAST_FIFTH);
            layer->pinned[i] = arg->Fill.hAllocation;
            layer->fills++;
        }
    }
    if (arg->Operation == DXGK_OPERATION_TRANSFER) {
        for (unsigned i = 0; i < ARRAY_COUNT(layer->pinned); i++)
            assert_ptr_not_equal(arg->Transfer.hAllocation, layer->pinned[i]);
    }
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static struct miniport *add_pin_layer(void *context, struct miniport *next)
{
    struct pin_layer *layer = context;

    layer->ops = miniport_forward_ops;
    layer->ops.build_paging_buffer = pin_build;
    layer->miniport = (struct miniport){.ops = &layer->ops, .next = next};
    return &layer->miniport;
}

static void pinned_ones_stay_in_the_last_fifth(void **state)
{
    struct workload *workload = test_load("pinned.case");
    struct pin_layer layer = {.fills = 0};
    struct run_config config;
    struct run_result result;

    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.model = RUN_PHYSICAL;
    config.reference = RUN_REFERENCE_NEVER;
    config.add_layer = add_pin_layer;
    config.layer_context = &layer;
    run_execute(&config, workload, &result);
    test_assert_clean(&result);
    assert_int_equal(layer.fills, 2);
    run_result_fini(&result);
    workload_free(workload);
}

/* ---- Primaries ------------------------------------------------------------------------------- */

static NTSTATUS owner_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct order_layer *layer = (struct order_layer *)self;
    const HANDLE *owner = NULL;
    SIZE_T pages = 0;

    if (arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT) {
        owner = &arg->MapApertureSegment.hDevice;
        pages = arg->MapApertureSegment.NumberOfPages;
    } else if (arg->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT) {
        owner = &arg->UnmapApertureSegment.hDevice;
        pages = arg->UnmapApertureSegment.NumberOfPages;
    }
    if (owner) {
        assert_int_equal(*owner == NULL, pages == 3); /* the primary is as large as that */
        layer->plain++;
    }
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static struct miniport *add_owner_layer(void *context, struct miniport *next)
{
    struct miniport *layer = add_order_layer(context, next);

    ((struct order_layer *)layer)->ops.build_paging_buffer = owner_build;
    return layer;
}

static const char a_primary[] = "drydock-case 1\n"
                                "option model physical\n"
                                "alloc shown size=12K segments=aperture flags=primary\n"
                                "alloc other size=8K segments=aperture\n"
                                "submit c0 shown:w other:w\nwait all\n"
                                "free shown\nfree other\n";

/* APER-006 */
static void a_primary_is_nobodys_in_an_aperture(void **state)
{
    struct workload *workload = test_parse(a_primary);
    struct order_layer layer = {.plain = 0};
    struct run_config config;
    struct run_result result;

    config = test_config(workload);
    config.add_layer = add_owner_layer;
    config.layer_context = &layer;
    run_execute(&config, workload, &result);
    test_assert_clean(&result);
    assert_int_equal(layer.plain, 4);
    run_result_fini(&result);
    workload_free(workload);
}

/* ---- Flags of later drivers ------------------------------------------------------------------ */

/* Looks at what the driver answers to DxgkDdiCreateAllocation. */
static NTSTATUS protected_create(struct miniport *self, HANDLE adapter,
                                 DXGKARG_CREATEALLOCATION *args)
{
    struct order_layer *layer = (struct order_layer *)self;
    NTSTATUS status = miniport_forward_create_allocation(self, adapter, args);

    layer->plain += NT_SUCCESS(status) && args->pAllocationInfo->FlagsWddm2.HardwareProtected;
    return status;
}

static struct miniport *add_protected_layer(void *context, struct miniport *next)
{
    struct miniport *layer = add_order_layer(context, next);

    ((struct order_layer *)layer)->ops.create_allocation = protected_create;
    return layer;
}

static const char protected_by_hardware[] =
    "drydock-case 1\n"
    "option model gpummu\noption local-memory 4M\n"
    "alloc a size=3M segments=local flags=hardware-protected\n"
    "alloc b size=1M segments=local flags=hardware-protected,cpu-visible\n"
    "alloc c size=1M segments=local\n"
    "write b\n"
    "submit c0 a:w\nsubmit c0 b:rw c:w\nsubmit c0 a:r\nwait all\n"
    "read b\n";

static void what_hardware_protects_is_paged_and_keeps_its_content(void **state)
{
    struct workload *workload = test_parse(protected_by_hardware);
    struct order_layer layer = {.plain = 0};
    struct run_config config = test_config(workload);
    struct run_result *result;

    config.add_layer = add_protected_layer;
    config.layer_context = &layer;
    result = test_execute(&config, workload);
    test_assert_clean(result);
    assert_int_equal(layer.plain, 2);
    assert_true(result->statistics.evictions > 0);
    test_finish(result);
}

static const char every_other[] =
    "drydock-case 1\n"
    "option wddm 3.2\noption model gpummu\n"
    "alloc a size=64K flags=cpu-visible,history-buffer,cpu-visible-on-demand\n"
    "alloc b size=64K flags=disable-partial-residency,restricted-to-single-segment,overlay\n"
    "alloc c size=64K flags=capture,primary\n"
    "submit c0 a:w b:w c:w\nwait all\nread a\n";

static void flags_of_later_drivers_are_followed(void **state)
{
    finish_clean(test_play(test_parse(every_other)));
}

/* Dropped, it leaves its place without its range, through which the next one there would be seen.
 */
static void a_range_goes_with_an_offered_allocation(void **state)
{
    struct run_result *result = test_play(test_parse("drydock-case 1\n"
                                                     "option model physical\n"
                                                     "option local-memory 720896\n"
                                                     "alloc a size=4K\n"
                                                     "alloc t size=642632 flags=tiled\n"
                                                     "alloc b size=56K\n"
                                                     "submit c0 a:w t:r\n"
                                                     "write t\n"
                                                     "offer priority=low t\n"
                                                     "submit c0 b:r\n"
                                                     "write b\n"
                                                     "submit c0 b:r\n"));

    test_assert_clean(result);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_keep_their_content_in_pieces_of_any_size),
        cmocka_unit_test(the_cpu_sees_tiles_through_ranges),
        cmocka_unit_test(without_ranges_the_cpu_gets_tiles_unswizzled),
        cmocka_unit_test(a_flag_that_is_lost_is_found_in_the_bytes),
        cmocka_unit_test(tiles_and_their_ranges_outlive_a_sleep),
        cmocka_unit_test(a_swizzled_one_with_an_alternate_address_leaves_in_order),
        cmocka_unit_test(lack_of_memory_is_survived_with_tiles),
        cmocka_unit_test(pinned_ones_stay_in_the_last_fifth),
        cmocka_unit_test(a_primary_is_nobodys_in_an_aperture),
        cmocka_unit_test(what_hardware_protects_is_paged_and_keeps_its_content),
        cmocka_unit_test(flags_of_later_drivers_are_followed),
        cmocka_unit_test(a_range_goes_with_an_offered_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
