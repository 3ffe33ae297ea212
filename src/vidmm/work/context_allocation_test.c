/*
 * Context allocations: who may ask for one and with what, and that what is left over goes. Their
 * content and movements are tested by whole runs (bench/whole_runs/context_allocation_test.c).
 */
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/work/client.h"

static DXGKARGCB_CREATECONTEXTALLOCATION request(const struct rig *rig, int *driver_object)
{
    DXGKARGCB_CREATECONTEXTALLOCATION create = {0};

    create.hContext = rig->context;
    create.hDriverAllocation = driver_object;
    create.Size = 3 * PAGE_BYTES;
    create.Alignment = PAGE_BYTES;
    create.SupportedSegmentSet = 1;
    create.PreferredSegment.SegmentId0 = 1;
    return create;
}

static void assert_refused(struct rig *rig, DXGKARGCB_CREATECONTEXTALLOCATION create,
                           const char *rule)
{
    unsigned rules = rig->rule_count;

    create.hAllocation = rig;
    rig->expected_rules = rule;
    assert_int_equal(vidmm_context_allocation_create(rig->vidmm, &create),
                     STATUS_INVALID_PARAMETER);
    assert_null(create.hAllocation);
    assert_int_equal(rig->rule_count - rules, rule ? 1 : 0);
    rig->expected_rules = NULL;
}

/* CTX-001, CTX-002. */
static void an_allocation_belongs_to_a_context_or_to_a_device_alone(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_create(&config);
        DXGKARGCB_CREATECONTEXTALLOCATION create = request(rig, &(int){0});

        assert_int_equal(vidmm_context_allocation_create(rig->vidmm, &create), STATUS_SUCCESS);
        assert_non_null(create.hAllocation);
        assert_int_equal(vidmm_context_allocation_destroy(rig->vidmm, create.hAllocation),
                         STATUS_SUCCESS);
        assert_int_equal(vidmm_context_allocation_destroy(rig->vidmm, create.hAllocation),
                         STATUS_INVALID_PARAMETER);

        create.hContext = rig->device; /* what is no context */
        assert_refused(rig, create, "CTX-001");
        create.hContext = rig->context;
        create.ContextAllocationFlags.SharedAcrossContexts = 1;
        create.hDevice = rig->device;
        assert_refused(rig, create, "CTX-002");
        create.hContext = NULL;
        create.hDevice = NULL;
        assert_refused(rig, create, "CTX-002");
        create.hDevice = rig->device;
        assert_int_equal(vidmm_context_allocation_create(rig->vidmm, &create), STATUS_SUCCESS);
        assert_int_equal(vidmm_context_allocation_destroy(rig->vidmm, create.hAllocation),
                         STATUS_SUCCESS);
        rig_free(rig);
    }
}

static struct vidmm_allocation *create_with(struct rig *rig,
                                            DXGKARGCB_CREATECONTEXTALLOCATION *create)
{
    assert_int_equal(vidmm_context_allocation_create(rig->vidmm, create), STATUS_SUCCESS);
    return container_of(rig->context->allocations.next, struct context_part, link)->allocation;
}

static void a_refused_allocation_takes_no_handle(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig *rig = rig_create(&config);
    DXGKARGCB_CREATECONTEXTALLOCATION create = request(rig, &(int){0});
    unsigned capacity;

    assert_int_equal(vidmm_context_allocation_create(rig->vidmm, &create), STATUS_SUCCESS);
    assert_int_equal(vidmm_context_allocation_destroy(rig->vidmm, create.hAllocation),
                     STATUS_SUCCESS);
    create.SupportedSegmentSet = 1u << 20; /* there is no such segment */
    rig->expected_rules = "ALLOC-005";
    capacity = rig->vidmm->handle_capacity;
    for (unsigned i = 0; i < 2 * capacity; i++)
        assert_int_equal(vidmm_context_allocation_create(rig->vidmm, &create),
                         STATUS_INVALID_PARAMETER);
    assert_int_equal(rig->rule_count, 2 * capacity);
    assert_int_equal(rig->vidmm->handle_capacity, capacity);
    rig_free(rig);
}

/* Each member by itself: what it says is known of the allocation, and nothing beside it. */
static void what_the_driver_asks_for_is_what_it_gets(void **state)
{
    enum { PLAIN, VISIBLE, CACHED, PHYSICAL, NOTIFIED, FROM_END, MAPPED, ASKED };

    for (unsigned turn = 0; turn < RIG_MODELS * ASKED; turn++) {
        const unsigned model = turn / ASKED, asked = turn % ASKED;
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_create(&config);
        DXGKARGCB_CREATECONTEXTALLOCATION create = request(rig, &(int){0});
        const bool is_virtual = rig->config.is_virtual;
        const struct vidmm_allocation *allocation;

        if (asked == MAPPED && !is_virtual) {
            rig_free(rig);
            continue;
        }
        create.Flags.CpuVisible = asked == VISIBLE || asked == CACHED; /* ALLOC-009 */
        create.Flags.Cached = asked == CACHED;
        create.Flags.AccessedPhysically = asked == PHYSICAL || asked == NOTIFIED; /* NTF-002 */
        create.Flags.ExplicitResidencyNotification = asked == NOTIFIED;
        create.Flags.FromEndOfSegment = asked == FROM_END;
        create.ContextAllocationFlags.MapGpuVirtualAddress = asked == MAPPED;
        create.Alignment = 4 * PAGE_BYTES;
        create.EvictionSegmentSet = is_virtual ? 0 : 1u << (rig->segment_count - 1);
        create.HintedBank.Bank0 = 0;
        allocation = create_with(rig, &create);
        assert_int_equal(allocation->page_count, 3);
        assert_int_equal(allocation->alignment, 4 * PAGE_BYTES);
        assert_int_equal(allocation->eviction_set, create.EvictionSegmentSet);
        assert_int_equal(allocation->preference[0], 1);
        assert_int_equal(allocation->priority_class, 3); /* HIGH */
        assert_int_equal(allocation->is_cpu_visible, create.Flags.CpuVisible);
        assert_int_equal(allocation->is_cached, create.Flags.Cached);
        assert_int_equal(allocation->is_accessed_physically,
                         is_virtual && create.Flags.AccessedPhysically);
        assert_int_equal(allocation->wants_residency_notice, is_virtual && asked == NOTIFIED);
        assert_int_equal(allocation->from_end != 0, !is_virtual && asked == FROM_END);
        assert_int_equal(allocation->context->is_gpu_va_wanted, asked == MAPPED);
        assert_int_equal(vidmm_context_allocation_destroy(rig->vidmm, create.hAllocation),
                         STATUS_SUCCESS);
        rig_free(rig);
    }
}

/* CTX-007: with CpuVisible and Protected, and in apertures only. */
static void the_cpu_sees_protected_ones_of_apertures_alone(void **state)
{
    for (unsigned turn = 0; turn < RIG_MODELS * 8; turn++) {
        struct rig_config config = rig_model(turn / 8);
        struct rig *rig = rig_create(&config);
        const unsigned aperture = rig->segment_count - 1;
        const bool is_visible = turn & 1, is_protected = turn & 2, is_elsewhere_too = turn & 4;
        DXGKARGCB_CREATECONTEXTALLOCATION create = request(rig, &(int){0});
        const struct vidmm_allocation *allocation;

        create.SupportedSegmentSet = 1u << aperture | is_elsewhere_too;
        create.PreferredSegment.SegmentId0 = 1 + aperture;
        create.Flags.CpuVisible = is_visible;
        create.Flags.Protected = is_protected;
        allocation = create_with(rig, &create);
        assert_int_equal(allocation->context->wants_cpu_address,
                         is_visible && is_protected && !is_elsewhere_too);
        assert_int_equal(vidmm_context_allocation_destroy(rig->vidmm, create.hAllocation),
                         STATUS_SUCCESS);
        rig_free(rig);
    }
}

/* What the driver writes through is seen at once: a quarter of the scratch range, and no page more.
 */
static void an_allocation_has_to_fit_in_a_chunk_of_scratch(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_create(&config);
        DXGKARGCB_CREATECONTEXTALLOCATION create = request(rig, &(int){0});

        if (rig->config.is_virtual) {
            create.Size = paging_process_chunk_pages(rig->vidmm) * PAGE_BYTES;
            assert_int_equal(vidmm_context_allocation_create(rig->vidmm, &create), STATUS_SUCCESS);
            assert_int_equal(vidmm_context_allocation_destroy(rig->vidmm, create.hAllocation),
                             STATUS_SUCCESS);
            create.Size++;
            assert_refused(rig, create, NULL);
        }
        rig_free(rig);
    }
}

static void the_physical_model_neither_maps_nor_updates(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig *rig = rig_create(&config);
    DXGKARGCB_CREATECONTEXTALLOCATION create = request(rig, &(int){0});
    DXGKARGCB_UPDATECONTEXTALLOCATION update = {0};
    DXGKARGCB_MAPCONTEXTALLOCATION map = {0};
    uint64_t va = 1;

    assert_false(rig->config.is_virtual);
    create.ContextAllocationFlags.MapGpuVirtualAddress = 1;
    assert_refused(rig, create, NULL);
    create.ContextAllocationFlags.MapGpuVirtualAddress = 0;
    assert_int_equal(vidmm_context_allocation_create(rig->vidmm, &create), STATUS_SUCCESS);
    map.hAllocation = create.hAllocation;
    map.SizeInPages = 1;
    assert_int_equal(vidmm_context_allocation_map(rig->vidmm, &map, &va), STATUS_INVALID_PARAMETER);
    assert_int_equal(va, 0);
    update.hAllocation = create.hAllocation;
    assert_int_equal(vidmm_context_allocation_update(rig->vidmm, &update, NULL, NULL),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(vidmm_context_allocation_destroy(rig->vidmm, create.hAllocation),
                     STATUS_SUCCESS);
    rig_free(rig);
}

/* The driver forgets them; the manager says so once for each, and they end with their owners. */
static void what_the_driver_leaves_goes_with_its_owner(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_create(&config);
        DXGKARGCB_CREATECONTEXTALLOCATION create = request(rig, &(int){0});

        assert_int_equal(vidmm_context_allocation_create(rig->vidmm, &create), STATUS_SUCCESS);
        create.ContextAllocationFlags.SharedAcrossContexts = 1;
        create.hContext = NULL;
        create.hDevice = rig->device;
        assert_int_equal(vidmm_context_allocation_create(rig->vidmm, &create), STATUS_SUCCESS);
        assert_int_equal(vidmm_context_allocation_create(rig->vidmm, &create), STATUS_SUCCESS);
        rig->expected_rules = "CTX-002";
        vidmm_context_destroy(rig->context);
        rig->context = NULL;
        assert_int_equal(rig->rule_count, 1);
        rig_drain(rig);
        vidmm_device_destroy(rig->device);
        rig->device = NULL;
        assert_int_equal(rig->rule_count, 3);
        rig_free(rig);
    }
}

/* Who waits for an update hears nothing of one that there is no memory for. */
static void an_update_for_which_there_is_no_memory_is_none(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_create(&config);
    DXGKARGCB_CREATECONTEXTALLOCATION create = request(rig, &(int){0});
    DXGKARGCB_UPDATECONTEXTALLOCATION update = {0};
    struct rig_done done = {0};

    assert_int_equal(vidmm_context_allocation_create(rig->vidmm, &create), STATUS_SUCCESS);
    update.hAllocation = create.hAllocation;
    for (uint64_t n = 1; n <= 2; n++) { /* its own, then that of the request for content */
        failing_services_fail_at(&rig->memory, n);
        assert_int_equal(vidmm_context_allocation_update(rig->vidmm, &update, rig_done, &done),
                         STATUS_NO_MEMORY);
        assert_false(vidmm_end_waits(rig->vidmm));
        assert_int_equal(done.calls, 0);
    }
    failing_services_fail_at(&rig->memory, 0);
    assert_int_equal(vidmm_context_allocation_destroy(rig->vidmm, create.hAllocation),
                     STATUS_SUCCESS);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_belongs_to_a_context_or_to_a_device_alone),
        cmocka_unit_test(a_refused_allocation_takes_no_handle),
        cmocka_unit_test(what_the_driver_asks_for_is_what_it_gets),
        cmocka_unit_test(an_allocation_has_to_fit_in_a_chunk_of_scratch),
        cmocka_unit_test(the_cpu_sees_protected_ones_of_apertures_alone),
        cmocka_unit_test(the_physical_model_neither_maps_nor_updates),
        cmocka_unit_test(an_update_for_which_there_is_no_memory_is_none),
        cmocka_unit_test(what_the_driver_leaves_goes_with_its_owner),
    };

    return cmocka_run_group_tests_name("vidmm/context_allocation", tests, NULL, NULL);
}
