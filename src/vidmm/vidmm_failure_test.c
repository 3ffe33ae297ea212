/*
 * vidmm: every allocation fails once, over the public entry points and both models.
 *
 * Four scenarios use what the last test lists of vidmm.h. Each is repeated with the n-th allocation
 * of the host failing, or the n-th call that asks the platform for pages or a mapping, until none
 * of them is reached any more. Whatever failed says so by a status; then vidmm_check() holds, the
 * step is asked for again and succeeds, all content is what it was, and nothing has leaked when all
 * is destroyed.
 */
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_driver.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/policy.h"
#include "vidmm/vidmm.h"

#include <bugcodes.h>

#include "base/bits.h"
#include "base/failing_services.h"

enum failure { FAIL_HOST, FAIL_PAGES };

static void arm(struct rig *rig, enum failure failure, uint64_t n)
{
    if (failure == FAIL_HOST)
        failing_services_fail_at(&rig->memory, n);
    else
        rig->fail_pages_at = n;
}

static bool has_failed(const struct rig *rig, enum failure failure)
{
    return failure == FAIL_HOST ? rig->memory.has_failed : !rig->fail_pages_at;
}

/* What a step says when memory was short. */
static bool is_shortage(NTSTATUS status)
{
    return status == STATUS_NO_MEMORY;
}

/*
 * Runs a call again when it failed for lack of memory, which can happen once.
 */
#define AGAIN(rig, call)                                                                           \
    do {                                                                                           \
        NTSTATUS status_ = (call);                                                                 \
        EXPECT((rig)->vidmm == NULL || vidmm_check((rig)->vidmm));                                 \
        if (is_shortage(status_))                                                                  \
            status_ = (call);                                                                      \
        EXPECT(status_ == STATUS_SUCCESS);                                                         \
    } while (0)

static NTSTATUS make_resident(struct rig *rig, struct rig_object *object)
{
    struct rig_done done = {0};
    uint64_t fence;
    NTSTATUS status =
        vidmm_make_resident(rig->device, 1, &object->allocation, rig_done, &done, &fence);

    if (status == STATUS_PENDING) {
        rig_drain(rig);
        EXPECT(done.calls == 1);
        status = done.status;
    } else {
        EXPECT(fence == 0 && done.calls == 0);
    }
    if (NT_SUCCESS(status))
        object->references++;
    return status;
}

static NTSTATUS map(struct rig *rig, struct rig_object *object)
{
    struct rig_done done = {0};
    NTSTATUS status =
        vidmm_map_gpu_va(rig->process,
                         &(struct vidmm_map_request){.allocation = object->allocation,
                                                     .bytes = PAGE_BYTES_OF(object->pages),
                                                     .done = rig_done,
                                                     .context = &done},
                         &object->va);

    EXPECT(NT_SUCCESS(status) == (object->va != 0));
    rig_drain(rig);
    EXPECT(done.calls == NT_SUCCESS(status));
    return NT_SUCCESS(status) ? done.status : status;
}

static NTSTATUS unmap(struct rig *rig, struct rig_object *object)
{
    struct rig_done done = {0};
    NTSTATUS status = vidmm_unmap_gpu_va(rig->process, object->va, rig_done, &done);

    rig_drain(rig);
    EXPECT(done.calls == NT_SUCCESS(status));
    return status;
}

static NTSTATUS gpu(struct rig *rig, struct rig_object *object)
{
    struct rig_done done = {0};
    NTSTATUS status = rig_gpu_in(rig, rig->context, &object, 1, RIG_PROGRAM_STEPS, rig_done, &done);

    rig_drain(rig);
    EXPECT(done.calls == NT_SUCCESS(status));
    return NT_SUCCESS(status) ? done.status : status;
}

static NTSTATUS cpu_with(struct rig *rig, struct rig_object *object, bool is_write, unsigned flags)
{
    NTSTATUS status = vidmm_lock_with(object->allocation, flags);

    for (unsigned i = 0; i < 3 && status == STATUS_GRAPHICS_ALLOCATION_BUSY; i++) {
        rig_drain(rig);
        status = vidmm_lock_with(object->allocation, flags);
    }
    if (NT_SUCCESS(status)) {
        rig_touch_locked(rig, object, is_write);
        vidmm_unlock(object->allocation);
    }
    return status;
}

static NTSTATUS cpu(struct rig *rig, struct rig_object *object, bool is_write)
{
    NTSTATUS status = vidmm_lock(object->allocation);

    if (!NT_SUCCESS(status))
        return status == STATUS_GRAPHICS_ALLOCATION_BUSY ? cpu_with(rig, object, is_write, 0)
                                                         : status;
    assert_true(vidmm_lock_is_settled(object->allocation));
    rig_touch_locked(rig, object, is_write);
    vidmm_unlock(object->allocation);
    return status;
}

static NTSTATUS forecast(struct rig *rig, struct rig_object *object)
{
    static const uint64_t uses_ns[] = {1000, 2000};
    static const struct vidmm_demand demand = {.at_ns = 1500, .created = PAGE_BYTES};
    NTSTATUS status = vidmm_forecast_uses(object->allocation, 2, uses_ns);

    if (NT_SUCCESS(status))
        status = vidmm_forecast_demand(rig->vidmm, 1, 1, &demand);
    vidmm_forecast_time(rig->vidmm, 500, 0);
    rig_drain(rig);
    return status;
}

static NTSTATUS physical(struct rig *rig, uint64_t va, bool is_map)
{
    struct rig_done done = {0};
    NTSTATUS status =
        is_map ? vidmm_map_physical(rig->process, va, 1, 3, 100, 0, rig_done, &done)
               : vidmm_unmap_physical(rig->process, va, PAGE_BYTES_OF(100), rig_done, &done);

    rig_drain(rig);
    EXPECT(done.calls == NT_SUCCESS(status));
    return NT_SUCCESS(status) ? done.status : status;
}

static NTSTATUS budgeted(struct rig *rig, struct rig_object *object)
{
    struct rig_done done = {0};
    uint64_t fence, excess;
    NTSTATUS status = vidmm_make_resident_in_budget(rig->device, 1, &object->allocation, rig_done,
                                                    &done, &fence, &excess);

    if (status == STATUS_PENDING) {
        rig_drain(rig);
        EXPECT(done.calls == 1);
        status = done.status;
    }
    if (NT_SUCCESS(status))
        object->references++;
    return status;
}

/* For one that cannot go on without; what its device is given waits for the same. */
static NTSTATUS without_fail(struct rig *rig, struct rig_object *object)
{
    struct rig_done done = {0};
    uint64_t fence;
    NTSTATUS status =
        vidmm_make_resident_or_fail(rig->device, 1, &object->allocation, rig_done, &done, &fence);

    if (status == STATUS_PENDING) {
        EXPECT(vidmm_context_wait_for_paging(rig->context, fence) == STATUS_SUCCESS);
        rig_drain(rig);
        EXPECT(done.calls == 1);
        status = done.status;
    }
    EXPECT(vidmm_device_is_in_error(rig->device) == !NT_SUCCESS(status));
    vidmm_device_clear_error(rig->device);
    if (NT_SUCCESS(status))
        object->references++;
    return status;
}

static NTSTATUS reclaim(struct rig *rig, struct rig_object *object)
{
    struct rig_done done = {0};
    enum vidmm_reclaim_result result;
    uint64_t fence;
    NTSTATUS status =
        vidmm_reclaim(rig->device, 1, &object->allocation, &result, rig_done, &done, &fence);

    if (NT_SUCCESS(status))
        EXPECT(result == VIDMM_RECLAIM_OK);
    rig_drain(rig);
    return status == STATUS_PENDING ? done.status : status;
}

static NTSTATUS tile(struct rig *rig, struct rig_object *pool, enum vidmm_tile_kind kind)
{
    const struct vidmm_tile_operation operation = {.kind = kind,
                                                   .va = 64 * MiB,
                                                   .page_count = VIDMM_TILE_BYTES / PAGE_BYTES,
                                                   .pool = kind == VIDMM_TILE_MAP ? pool->allocation
                                                                                  : NULL};
    struct rig_done done = {0};
    NTSTATUS status = vidmm_update_gpu_va(rig->context, 1, &operation, rig_done, &done);

    rig_drain(rig);
    EXPECT(done.calls == NT_SUCCESS(status));
    return NT_SUCCESS(status) ? done.status : status;
}

static NTSTATUS primary(struct rig *rig, struct rig_object *object)
{
    const struct rig_request request = {.bytes = PAGE_BYTES_OF(2), .preferred = {1}};
    NTSTATUS status;

    memset(object, 0, sizeof *object);
    status =
        vidmm_primary_create(rig->device, &request, sizeof request, object, &object->allocation);
    EXPECT(NT_SUCCESS(status) == (object->allocation != NULL));
    return status;
}

/* The parent has a handle, but without memory for one; it leads back to the parts. */
static NTSTATUS ask_for_parent(struct rig *rig, struct vidmm_allocation *const parts[2])
{
    D3DKMT_HANDLE parent = vidmm_handle_parent(rig->vidmm, parts[0]->handle);

    EXPECT(parent == vidmm_handle_parent(rig->vidmm, parts[1]->handle) || !parent);
    for (unsigned i = 0; i < 3; i++)
        EXPECT(vidmm_handle_child(rig->vidmm, parent, i) ==
               (parent && i < 2 ? parts[i]->handle : 0));
    EXPECT(!vidmm_resource_data(rig->vidmm, parent)); /* the driver has set none */
    return parent ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

/* Two allocations by one call, which end by one, too. */
static NTSTATUS resource(struct rig *rig)
{
    const struct rig_request request = {.bytes = PAGE_BYTES_OF(2), .preferred = {1}};
    const struct vidmm_new_allocation wanted[2] = {{&request, sizeof request, NULL, NULL},
                                                   {&request, sizeof request, NULL, NULL}};
    struct vidmm_allocation *parts[2];
    NTSTATUS status = vidmm_resource_create(rig->device, true, 2, wanted, parts);

    for (unsigned i = 0; i < 2; i++)
        EXPECT(NT_SUCCESS(status) == (parts[i] != NULL));
    if (NT_SUCCESS(status))
        status = ask_for_parent(rig, parts);
    for (unsigned i = 0; i < 2; i++) {
        if (parts[i])
            vidmm_allocation_destroy(parts[i]);
    }
    rig_drain(rig);
    return status;
}

/* Over memory of the client's, which a creation that fails leaves alone. */
static NTSTATUS over_memory(struct rig *rig)
{
    const struct rig_request request = {
        .bytes = PAGE_BYTES_OF(2),
        .preferred = {1},
        .flags = ((DXGK_ALLOCATIONINFOFLAGS){{{.ExistingSysMem = 1}}}).Value};
    struct vidmm_client_memory memory = {.page_count = 2};
    struct vidmm_allocation *allocation;
    uint64_t pages[2];
    NTSTATUS status = rig_take_pages(rig, 2, pages);

    if (!NT_SUCCESS(status))
        return status;
    memory.pages = pages;
    status = vidmm_allocation_create_over(rig->device, &request, sizeof request, NULL, &memory,
                                          &allocation);
    EXPECT(NT_SUCCESS(status) == (allocation != NULL));
    if (allocation)
        vidmm_allocation_destroy(allocation);
    rig_drain(rig);
    rig_release_pages(rig, 2, pages);
    return status;
}

static NTSTATUS map_of_context(struct rig *rig, HANDLE allocation)
{
    const DXGKARGCB_MAPCONTEXTALLOCATION map = {
        .hAllocation = allocation, .SizeInPages = 3, .Protection = {.Write = 1, .Execute = 1}};
    uint64_t va;
    NTSTATUS status = vidmm_context_allocation_map(rig->vidmm, &map, &va);

    EXPECT(NT_SUCCESS(status) == (va != 0));
    rig_drain(rig);
    return status;
}

/* Memory of the driver's own, for a context in which nothing runs any more. */
static void use_context_allocation(struct rig *rig)
{
    int driver_object;
    DXGKARGCB_CREATECONTEXTALLOCATION create = {
        .hContext = rig->context,
        .hDriverAllocation = &driver_object,
        .Size = 3 * PAGE_BYTES,
        .Alignment = PAGE_BYTES,
        .SupportedSegmentSet = 1,
        .PreferredSegment = {.SegmentId0 = 1},
        .ContextAllocationFlags = {.MapGpuVirtualAddress = rig->config.is_virtual},
    };

    AGAIN(rig, vidmm_context_allocation_create(rig->vidmm, &create));
    if (rig->config.is_virtual)
        AGAIN(rig, map_of_context(rig, create.hAllocation));
    AGAIN(rig, vidmm_context_allocation_destroy(rig->vidmm, create.hAllocation));
}

static NTSTATUS report_nothing(struct miniport *self, HANDLE object, DXGKARG_COLLECTDBGINFO2 *args)
{
    return STATUS_SUCCESS;
}

static NTSTATUS take_escape(struct miniport *self, HANDLE object, const DXGKARG_ESCAPE *args)
{
    (void)self;
    (void)object;
    EXPECT(args->hDevice && args->hContext);
    return STATUS_SUCCESS;
}

static NTSTATUS tell_clock(struct miniport *self, HANDLE object, struct miniport_clock *clock)
{
    (void)self;
    (void)object;
    clock->calibration.GpuFrequency = 1;
    return STATUS_SUCCESS;
}

static NTSTATUS tell_node(struct miniport *self, HANDLE object, struct miniport_node *node)
{
    (void)self;
    (void)object;
    node->metadata.GpuMmuSupported = 1;
    return STATUS_SUCCESS;
}

/* Sharing, budgets, offers, tiles, an escape and a report, of an allocation that nobody holds. */
static void use_the_rest(struct rig *rig, struct rig_object *object)
{
    struct vidmm_escape escape = {.device = rig->device, .context = rig->context};
    DXGKARG_CALIBRATEGPUCLOCK clock;
    DXGKARG_GETNODEMETADATA metadata;
    struct vidmm_device *other;
    struct rig_request request = {.bytes = PAGE_BYTES, .preferred = {1}};
    struct rig_object left;

    AGAIN(rig, vidmm_escape(rig->vidmm, &escape));
    AGAIN(rig, vidmm_collect_debug_info(rig->vidmm, VIDEO_TDR_TIMEOUT_DETECTED, NULL, 0));
    AGAIN(rig, vidmm_calibrate_clock(rig->vidmm, 0, &clock));
    AGAIN(rig, vidmm_node_metadata(rig->vidmm, 0, &metadata));
    AGAIN(rig, cpu_with(rig, object, false, VIDMM_LOCK_IGNORE_SYNC));
    AGAIN(rig, vidmm_device_create(rig->process, &other));
    AGAIN(rig, vidmm_allocation_open(other, object->allocation, NULL, 0));
    AGAIN(rig, vidmm_allocation_close(other, object->allocation));
    AGAIN(rig, rig_try_object(rig, other, &request, &left));
    AGAIN(rig, vidmm_allocation_leave(left.allocation));
    vidmm_device_destroy(other);
    rig_destroy_object(rig, &left);
    AGAIN(rig, vidmm_set_priority(object->allocation, 1));
    AGAIN(rig, vidmm_offer(rig->device, 1, &object->allocation, VIDMM_OFFER_LOW));
    AGAIN(rig, reclaim(rig, object));
    if (!rig->config.is_virtual)
        return;
    AGAIN(rig, budgeted(rig, object));
    rig_evict(rig, object);
    AGAIN(rig, without_fail(rig, object));
    AGAIN(rig, gpu(rig, object));
    rig_evict(rig, object);
    AGAIN(rig, tile(rig, object, VIDMM_TILE_MAP));
    AGAIN(rig, tile(rig, object, VIDMM_TILE_UNMAP));
}

static void no_own_range(void *context, uint64_t va, uint64_t bytes)
{
    EXPECT(!context && !bytes && !va); /* only presents and the driver's own have any */
}

/* Questions, which need no memory, and what they are answered whatever has failed. */
static void ask(struct rig *rig, struct rig_object *object)
{
    uint64_t offset, entries, limit = PAGE_BYTES_OF(1000);
    struct vidmm_render_limits limits;
    struct vidmm_segment_info segment;
    struct vidmm_budget_info budget;
    unsigned count, id;
    uint32_t bytes;

    EXPECT(vidmm_is_virtual(rig->vidmm) == rig->config.is_virtual);
    EXPECT(vidmm_has_page_tables(rig->vidmm) == rig->config.is_virtual);
    EXPECT(vidmm_node_count(rig->vidmm) == 2);
    vidmm_paging_buffers(rig->vidmm, &count, &bytes);
    EXPECT(count > 0 && bytes > 0);
    EXPECT(vidmm_save_area_bytes(rig->vidmm) == 0);
    EXPECT(vidmm_segment_count(rig->vidmm) == rig->segment_count);
    vidmm_segment_info(rig->vidmm, rig->segment_count, &segment);
    EXPECT(segment.is_aperture);
    EXPECT(vidmm_statistics(rig->vidmm)->build_calls > 0);
    EXPECT(vidmm_allocation_is_resident(object->allocation) ||
           vidmm_statistics(rig->vidmm)->evictions > 0);
    EXPECT(!vidmm_handle_data(rig->vidmm, 0));
    vidmm_set_budget(rig->process, VIDMM_BUDGET_LOCAL, limit);
    vidmm_budget_info(rig->process, VIDMM_BUDGET_LOCAL, &budget);
    EXPECT(budget.budget == limit && budget.held <= budget.resident);
    vidmm_set_budget(rig->process, VIDMM_BUDGET_LOCAL, 0);
    EXPECT(vidmm_process_root(rig->process, &id, &offset, &entries) == rig->config.is_virtual);
    vidmm_process_own_ranges(rig->process, no_own_range, NULL);
    EXPECT(vidmm_can_wait(rig->vidmm));
    EXPECT(!vidmm_pass_turn(rig->vidmm)); /* of another policy than vidmm_policy_turns */
    EXPECT(vidmm_context_private_data_bytes(rig->context) <= PAGE_BYTES);
    vidmm_context_set_null_rendering(rig->context, false);
    vidmm_context_set_redirected_present(rig->context, false);
    vidmm_context_set_patch_input(rig->context, false);
    vidmm_render_limits(rig->context, &limits);
    EXPECT(rig->config.is_virtual || limits.dma_bytes > 0);
    if (rig->config.is_virtual)
        EXPECT(vidmm_context_wait_for_paging(
                   rig->context, vidmm_device_paging_fence(rig->device)) == STATUS_SUCCESS);
}

static NTSTATUS list_make_resident(struct rig *rig, struct vidmm_list *list)
{
    struct rig_done done = {0};
    uint64_t fence;
    NTSTATUS status = vidmm_list_make_resident(list, rig_done, &done, &fence);

    rig_drain(rig);
    EXPECT(done.calls == (status == STATUS_PENDING));
    return status == STATUS_PENDING ? done.status : status;
}

/* A list of the two, of which the first leaves. */
static void use_list(struct rig *rig, struct rig_object *first, struct rig_object *second)
{
    struct vidmm_list *list;

    AGAIN(rig, vidmm_list_create(rig->device, 1, &first->allocation, &list));
    AGAIN(rig, vidmm_list_add(list, second->allocation));
    for (unsigned i = 0; i < 3; i++) {
        AGAIN(rig, list_make_resident(rig, list));
        AGAIN(rig, gpu(rig, second));
        vidmm_list_evict(list);
    }
    AGAIN(rig, vidmm_list_remove(list, first->allocation));
    AGAIN(rig, list_make_resident(rig, list));
    vidmm_list_evict(list);
    vidmm_list_destroy(list);
}

/* Three allocations of which two fit, one in the aperture: pages in and out, and all else. */
static void use_everything(struct rig *rig)
{
    struct rig_object objects[4], shown;
    bool is_virtual = rig->config.is_virtual;
    static const unsigned segments[] = {1, 1, 1, 2};
    unsigned i, round;

    for (i = 0; i < ARRAY_COUNT(objects); i++) {
        struct rig_request request = {.bytes = PAGE_BYTES_OF(70),
                                      .preferred = {segments[i]},
                                      .eviction_set = is_virtual ? 0 : 2u,
                                      .is_physical = i == 3};

        AGAIN(rig, rig_try_object(rig, rig->device, &request, &objects[i]));
        AGAIN(rig, cpu(rig, &objects[i], i != 1));
        AGAIN(rig, forecast(rig, &objects[i]));
        if (is_virtual)
            AGAIN(rig, map(rig, &objects[i]));
    }
    for (round = 0; round < 2; round++) {
        for (i = 0; i < ARRAY_COUNT(objects); i++) {
            if (is_virtual)
                AGAIN(rig, make_resident(rig, &objects[i]));
            AGAIN(rig, gpu(rig, &objects[i]));
            if (is_virtual)
                rig_evict(rig, &objects[i]);
            AGAIN(rig, cpu(rig, &objects[i], true));
        }
    }
    if (is_virtual) {
        AGAIN(rig, physical(rig, 16 * MiB, true));
        AGAIN(rig, physical(rig, 16 * MiB, false));
        AGAIN(rig, unmap(rig, &objects[0]));
        AGAIN(rig, map(rig, &objects[0]));
        use_list(rig, &objects[0], &objects[3]);
    }
    ask(rig, &objects[0]);
    use_the_rest(rig, &objects[0]);
    for (i = 0; i < ARRAY_COUNT(objects); i++) {
        AGAIN(rig, cpu(rig, &objects[i], false));
        rig_destroy_object(rig, &objects[i]);
    }
    rig_drain(rig);
    AGAIN(rig, primary(rig, &shown));
    AGAIN(rig, resource(rig));
    AGAIN(rig, over_memory(rig));
    rig_destroy_object(rig, &shown);
    use_context_allocation(rig);
}

static NTSTATUS move(struct rig *rig, struct rig_object *object, unsigned target)
{
    NTSTATUS status = vidmm_move(object->allocation, target);
    unsigned segment;

    EXPECT(vidmm_check(rig->vidmm)); /* in the middle of it */
    rig_drain(rig);
    EXPECT(vidmm_allocation_segment(object->allocation, &segment));
    EXPECT(!vidmm_allocation_instance(object->allocation) && !vidmm_paging_instance(rig->vidmm));
    EXPECT((segment == target) == NT_SUCCESS(status));
    return status;
}

/* Two memory segments: content goes from one to the other, and the adapter is stopped with it. */
static void use_two_segments(struct rig *rig)
{
    const struct rig_request request = {.bytes = PAGE_BYTES_OF(70), .preferred = {1, 2}};
    struct rig_object object;

    AGAIN(rig, rig_try_object(rig, rig->device, &request, &object));
    if (rig->config.is_virtual) {
        AGAIN(rig, map(rig, &object));
        AGAIN(rig, make_resident(rig, &object));
    }
    AGAIN(rig, gpu(rig, &object));
    if (rig->config.is_virtual)
        rig_evict(rig, &object);
    AGAIN(rig, move(rig, &object, 2));
    AGAIN(rig, move(rig, &object, 1));
    if (rig->config.is_virtual)
        AGAIN(rig, make_resident(rig, &object));
    AGAIN(rig, gpu(rig, &object));
    if (rig->config.is_virtual)
        rig_evict(rig, &object);
    AGAIN(rig, cpu(rig, &object, false));
    AGAIN(rig, vidmm_end_work(rig->vidmm));
    rig_destroy_object(rig, &object);
}

/* In D3 memory segments lose what they hold, page tables included, and the GPU its translations. */
static NTSTATUS lose_memory(struct miniport *self, ULONG device_uid, DEVICE_POWER_STATE state,
                            POWER_ACTION action)
{
    struct rig *rig = rig_of(self);

    if (state == PowerDeviceD0)
        return STATUS_SUCCESS;
    for (unsigned segment = 0; segment < rig->config.memory_segments; segment++) {
        for (uint64_t i = 0; i < rig->segment_pages[segment]; i++) {
            struct rig_page *page = &rig->segments[segment][i];

            EXPECT(!page->packet_pins);
            page->content = RIG_POISON;
            page->owner = 0;
            if (page->table)
                rig->tables[page->table - 1].is_initialised = false;
        }
    }
    memset(rig->tlb, 0, sizeof rig->tlb);
    return STATUS_SUCCESS;
}

static NTSTATUS fall_asleep(struct rig *rig)
{
    struct rig_done done = {0};

    EXPECT(vidmm_power_down(rig->vidmm, VIDMM_SLEEP_STANDBY, rig_done, &done) == STATUS_SUCCESS);
    rig_drain(rig);
    EXPECT(done.calls == 1);
    return done.status;
}

/* Memory and an aperture, in use, over a sleep that keeps neither. */
static void use_over_a_sleep(struct rig *rig)
{
    struct rig_object objects[2];

    rig->ops.set_power_state = lose_memory;
    for (unsigned i = 0; i < 2; i++) {
        const struct rig_request request = {
            .bytes = PAGE_BYTES_OF(40), .preferred = {i + 1}, .is_physical = i == 1};

        AGAIN(rig, rig_try_object(rig, rig->device, &request, &objects[i]));
        if (rig->config.is_virtual) {
            AGAIN(rig, map(rig, &objects[i]));
            AGAIN(rig, make_resident(rig, &objects[i]));
        }
        AGAIN(rig, gpu(rig, &objects[i]));
    }
    AGAIN(rig, fall_asleep(rig));
    EXPECT(vidmm_power_up(rig->vidmm) == STATUS_SUCCESS);
    rig_drain(rig);
    EXPECT(vidmm_check(rig->vidmm));
    for (unsigned i = 0; i < 2; i++) {
        AGAIN(rig, gpu(rig, &objects[i]));
        if (rig->config.is_virtual)
            rig_evict(rig, &objects[i]);
        AGAIN(rig, cpu(rig, &objects[i], false));
        rig_destroy_object(rig, &objects[i]);
    }
}

static NTSTATUS begin_to_make_resident(struct rig *rig, struct rig_object *object,
                                       struct rig_done *done)
{
    uint64_t fence;
    NTSTATUS status =
        vidmm_make_resident(rig->device, 1, &object->allocation, rig_done, done, &fence);

    return status == STATUS_PENDING ? STATUS_SUCCESS : status;
}

/*
 * The GPU stops in the middle, with two of three objects that have room together: what it had and
 * what waits for it is given up.
 */
static void use_until_the_gpu_hangs(struct rig *rig)
{
    struct rig_object objects[3];
    struct rig_done done[3] = {{0}};

    for (unsigned i = 0; i < 3; i++) {
        const struct rig_request request = {.bytes = PAGE_BYTES_OF(40), .preferred = {1}};

        AGAIN(rig, rig_try_object(rig, rig->device, &request, &objects[i]));
        if (!rig->config.is_virtual || i == 2)
            continue;
        AGAIN(rig, map(rig, &objects[i]));
        AGAIN(rig, make_resident(rig, &objects[i]));
    }
    for (unsigned i = 0; i < 3; i++) {
        struct rig_object *object = &objects[i];

        if (rig->config.is_virtual && i == 2) {
            AGAIN(rig, begin_to_make_resident(rig, object, &done[i]));
            continue;
        }
        AGAIN(rig, rig_gpu_in(rig, rig->context, &object, 1, 8, rig_done, &done[i]));
        if (rig->config.is_virtual)
            rig_evict(rig, object);
    }
    for (unsigned i = 0; i < 3; i++)
        rig_step_machine(rig);
    rig_hang(rig);
    for (unsigned i = 0; i < 8 && !vidmm_is_idle(rig->vidmm); i++) {
        vidmm_abort(rig->vidmm, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
        EXPECT(vidmm_check(rig->vidmm));
        rig_forget_packets(rig);
    }
    EXPECT(vidmm_is_idle(rig->vidmm));
    for (unsigned i = 0; i < 3; i++)
        EXPECT(done[i].calls == 1);
    if (rig->config.is_virtual)
        objects[2].references = NT_SUCCESS(done[2].status);
    for (unsigned i = 0; i < 3; i++)
        rig_destroy_object(rig, &objects[i]);
}

/* A driver that has a range of addresses of its own in each process, or no process. */
static NTSTATUS create_reserving(struct miniport *self, HANDLE object,
                                 DXGKARG_CREATEPROCESS *create)
{
    uint64_t unit = page_table_coverage(rig_of(self)->vidmm, RIG_LEVELS - 1);
    DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE range = {
        .hDxgkProcess = create->hDxgkProcess, .BaseAddress = 8 * unit, .SizeInBytes = unit};
    NTSTATUS status = vidmm_reserve_gpu_va(rig_of(self)->vidmm, &range);

    EXPECT(range.StartVirtualAddress == (NT_SUCCESS(status) ? 8 * unit : 0));
    return NT_SUCCESS(status) ? rig_create_process(self, object, create) : status;
}

struct scenario {
    void (*play)(struct rig *rig);
    struct rig_config config; /* members that are set replace those of the model */
};

static const struct scenario everything = {use_everything,
                                           {.segment_pages = {200},
                                            .aperture_pages = 160,
                                            .private_bytes = 64,
                                            .policy = &vidmm_policy_hinted}};
static const struct scenario two_segments = {
    use_two_segments, {.keeps_tables_in_system = true, .memory_segments = 2}};
static const struct scenario over_a_sleep = {use_over_a_sleep, {0}};
static const struct scenario until_the_gpu_hangs = {
    use_until_the_gpu_hangs, {.segment_pages = {100} /* two of three */, .buffer_bytes = 64}};

static struct rig_config configure(unsigned model, const struct scenario *scenario)
{
    const struct rig_config *own = &scenario->config;
    struct rig_config config = rig_model(model);

    if (own->segment_pages[0])
        config.segment_pages[0] = own->segment_pages[0];
    if (own->aperture_pages)
        config.aperture_pages = own->aperture_pages;
    if (own->private_bytes)
        config.private_bytes = own->private_bytes;
    if (own->memory_segments)
        config.memory_segments = own->memory_segments;
    if (own->buffer_bytes)
        config.buffer_bytes = own->buffer_bytes;
    config.keeps_tables_in_system |= own->keeps_tables_in_system;
    config.policy = own->policy;
    return config;
}

/* With the n-th failure; 0: without one. False: there are not so many. */
static bool play(unsigned model, const struct scenario *scenario, enum failure failure, uint64_t n)
{
    struct rig_config config = configure(model, scenario);
    struct rig *rig = rig_new(&config);
    bool failed;

    snprintf(rig_repeat, sizeof rig_repeat, "model %d mode %d, %s %" PRIu64, config.is_virtual,
             config.mode, failure == FAIL_HOST ? "host allocation" : "page call", n);
    if (config.is_virtual)
        rig->ops.create_process = create_reserving;
    rig->ops.escape = take_escape;
    rig->ops.calibrate_gpu_clock = tell_clock;
    rig->ops.get_node_metadata = tell_node;
    rig->ops.collect_dbg_info2 = report_nothing;
    if (n)
        arm(rig, failure, n);
    AGAIN(rig, rig_start(rig));
    AGAIN(rig, vidmm_process_create(rig->vidmm, &rig->process));
    AGAIN(rig, vidmm_device_create(rig->process, &rig->device));
    AGAIN(rig, vidmm_context_create(rig->device, 0, NULL, 0, &rig->context));
    scenario->play(rig);
    failed = n && has_failed(rig, failure);
    rig_free(rig);
    rig_repeat[0] = '\0';
    return failed;
}

static void fail_each(const struct scenario *scenario, enum failure failure)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        uint64_t n = 1;

        while (play(model, scenario, failure, n))
            n++;
        assert_true(n > 10);
    }
}

static void every_nth_host_allocation_may_fail(void **state)
{
    fail_each(&everything, FAIL_HOST);
}

static void every_nth_call_for_pages_may_fail(void **state)
{
    fail_each(&everything, FAIL_PAGES);
}

static void every_nth_failure_may_hit_a_move_or_a_stop(void **state)
{
    fail_each(&two_segments, FAIL_HOST);
    fail_each(&two_segments, FAIL_PAGES);
}

static void every_nth_failure_may_hit_a_sleep(void **state)
{
    fail_each(&over_a_sleep, FAIL_HOST);
    fail_each(&over_a_sleep, FAIL_PAGES);
}

static void every_nth_failure_may_hit_what_is_given_up(void **state)
{
    fail_each(&until_the_gpu_hangs, FAIL_HOST);
    fail_each(&until_the_gpu_hangs, FAIL_PAGES);
}

static void a_device_that_the_driver_refuses_leaves_nothing(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_create(&config);
    struct rig_request request = {.bytes = 1, .preferred = {1}};
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_context *context;
    struct rig_object object;

    rig->fails_at_create = STATUS_INVALID_PARAMETER;
    assert_int_equal(vidmm_process_create(rig->vidmm, &process), STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_device_create(rig->process, &device), STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_context_create(rig->device, 0, NULL, 0, &context),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(rig_try_object(rig, rig->device, &request, &object), STATUS_INVALID_PARAMETER);
    assert_null(process);
    assert_null(device);
    assert_null(context);
    rig->fails_at_create = STATUS_SUCCESS;
    assert_int_equal(vidmm_context_create(rig->device, 2, NULL, 0, &context),
                     STATUS_INVALID_PARAMETER);
    rig_free(rig);
}

static void a_start_that_the_driver_refuses_leaves_nothing(void **state)
{
    for (unsigned model = 0; model < 2; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_new(&config);

        rig->fails_at_create = STATUS_INVALID_PARAMETER;
        assert_int_equal(rig_start(rig), STATUS_INVALID_PARAMETER);
        rig_free(rig);
    }
}

static NTSTATUS create_with_buffers_in_aperture(struct miniport *self, HANDLE device,
                                                DXGKARG_CREATECONTEXT *create)
{
    NTSTATUS status = rig_create_context(self, device, create);

    if (!create->Flags.SystemContext)
        create->ContextInfo.DmaBufferSegmentSet = 1u << (rig_of(self)->segment_count - 1);
    return status;
}

static NTSTATUS refuse_commands(struct miniport *self, HANDLE object, DXGKARG_RENDER *render)
{
    return STATUS_INVALID_USER_BUFFER;
}

/* A DMA buffer in an aperture is an allocation that no driver has made. */
static void every_nth_failure_may_hit_a_dma_buffer_in_an_aperture(void **state)
{
    static const enum failure failures[] = {FAIL_HOST, FAIL_PAGES};

    for (unsigned i = 0; i < ARRAY_COUNT(failures); i++) {
        NTSTATUS status = STATUS_NO_MEMORY;

        for (uint64_t n = 1; status != STATUS_INVALID_USER_BUFFER; n++) {
            struct rig_config config = rig_model(0);
            struct rig *rig = rig_new(&config);

            rig->ops.create_context = create_with_buffers_in_aperture;
            rig->ops.render = refuse_commands;
            assert_int_equal(rig_start(rig), STATUS_SUCCESS);
            assert_int_equal(rig_open(rig), STATUS_SUCCESS);
            arm(rig, failures[i], n);
            status = vidmm_render(rig->context, "", 1, 0, NULL, NULL, NULL);
            assert_int_equal(status, has_failed(rig, failures[i]) ? STATUS_NO_MEMORY
                                                                  : STATUS_INVALID_USER_BUFFER);
            assert_true(vidmm_check(rig->vidmm));
            rig_free(rig);
        }
    }
}

/* ---- Every function -------------------------------------------------------------------------- */

/* What src/bench/whole_runs/failure_test.c does the same with, in whole runs, or nobody has to. */
static const char *const covered_elsewhere[] = {
    "vidmm_watch",
    "vidmm_query_fences",
    "vidmm_preempt",
    "vidmm_explain_wait",
    "vidmm_end_waits",
    "vidmm_reset",
    "vidmm_native_fence_create",
    "vidmm_native_fence_destroy",
    "vidmm_native_fence_wait",
    "vidmm_native_fence_value",
    "vidmm_native_fences_pack",
    "vidmm_native_fences_evict",
    "vidmm_native_fence_cancel_waits",
    "vidmm_context_allocation_update",
    "vidmm_query_early",
    "vidmm_query_model",
    "vidmm_begin_exclusive_access",
    "vidmm_end_exclusive_access",
    "vidmm_remove",
    "vidmm_invalidate_hw_context",
    "vidmm_wake",
    "vidmm_power_request",
    "vidmm_component_is_on",
    "vidmm_context_is_invalid",
    "vidmm_context_has_tile_updates",
    "vidmm_present",
    "vidmm_gdi_context_create",
    "vidmm_render_km",
    "vidmm_render_gdi",
    "vidmm_show",
    "vidmm_hide",
    "vidmm_shared_primary_create",
    "vidmm_version",           /* nothing in it fails, ... */
    "vidmm_allocation_choice", /* ... nor in this */
    "vidmm_driver_caps_bytes", /* ... nor in this */
    "vidmm_share_components",  /* ... nor in this */
    "vidmm_node_counts",       /* ... nor in these */
    "vidmm_process_node_counts",
    /* work/hw_queue_test.c does it with these. */
    "vidmm_hw_context_create",
    "vidmm_hw_context_share",
    "vidmm_has_hw_queues",
    "vidmm_hw_queue_create",
    "vidmm_hw_queue_destroy",
};

static bool is_in_runs(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(covered_elsewhere); i++) {
        if (strcmp(covered_elsewhere[i], name) == 0)
            return true;
    }
    return false;
}

/* Made by cmake/part-vidmm-calls.cmake: the calls of each function of vidmm.h in this program. */
extern const char *const vidmm_call_names[];
extern const unsigned vidmm_call_count;
extern uint64_t vidmm_calls[];

static void every_public_function_is_called_in_a_scenario_or_in_runs(void **state)
{
    static const struct scenario *const scenarios[] = {&everything, &two_segments, &over_a_sleep,
                                                       &until_the_gpu_hangs};
    unsigned in_runs = 0, wrong = 0;

    memset(vidmm_calls, 0, vidmm_call_count * sizeof vidmm_calls[0]);
    for (size_t i = 0; i < ARRAY_COUNT(scenarios); i++) {
        for (unsigned model = 0; model < RIG_MODELS; model++)
            play(model, scenarios[i], FAIL_HOST, 0);
    }
    assert_true(vidmm_call_count > 80);
    for (unsigned i = 0; i < vidmm_call_count; i++) {
        bool is_for_runs = is_in_runs(vidmm_call_names[i]);

        in_runs += is_for_runs;
        if (is_for_runs == !vidmm_calls[i])
            continue;
        print_error("%s is called in %s\n", vidmm_call_names[i],
                    is_for_runs ? "a scenario, too" : "no failure test");
        wrong++;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(in_runs, ARRAY_COUNT(covered_elsewhere));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_nth_host_allocation_may_fail),
        cmocka_unit_test(every_nth_call_for_pages_may_fail),
        cmocka_unit_test(every_nth_failure_may_hit_a_move_or_a_stop),
        cmocka_unit_test(every_nth_failure_may_hit_a_sleep),
        cmocka_unit_test(every_nth_failure_may_hit_what_is_given_up),
        cmocka_unit_test(a_device_that_the_driver_refuses_leaves_nothing),
        cmocka_unit_test(a_start_that_the_driver_refuses_leaves_nothing),
        cmocka_unit_test(every_nth_failure_may_hit_a_dma_buffer_in_an_aperture),
        cmocka_unit_test(every_public_function_is_called_in_a_scenario_or_in_runs),
    };

    return cmocka_run_group_tests_name("vidmm/failure", tests, NULL, NULL);
}
