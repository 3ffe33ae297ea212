/*
 * Resources: several allocations by one call of the driver, and how they end.
 */
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/resource.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "miniport/miniport.h"

#define PARTS 3u

/* What the driver is called with. */
static struct {
    unsigned creates, closes, destroys, ends; /* calls; ends: with DestroyResource */
    unsigned last_destroyed, last_closed;     /* allocations of the last call */
    D3DKMT_HANDLE parent;                     /* of what is opened; 0: there is none */
    struct vidmm *vidmm;
    struct miniport_ops ops;
    struct miniport layer;
} seen;

static NTSTATUS see_create(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg)
{
    assert_true(arg->Flags.Resource && !arg->hResource);
    arg->hResource = &seen;
    seen.creates++;
    return miniport_forward_create_allocation(self, object, arg);
}

/* The driver asks for the resource while its allocations are opened. */
static NTSTATUS see_open(struct miniport *self, HANDLE object, const DXGKARG_OPENALLOCATION *arg)
{
    for (unsigned i = 0; i < arg->NumAllocations; i++) {
        D3DKMT_HANDLE parent = vidmm_handle_parent(seen.vidmm, arg->pOpenAllocation[i].hAllocation);

        assert_true(parent && (!i || parent == seen.parent));
        seen.parent = parent;
        assert_int_equal(vidmm_handle_child(seen.vidmm, parent, i),
                         arg->pOpenAllocation[i].hAllocation);
    }
    assert_int_equal(vidmm_handle_child(seen.vidmm, seen.parent, arg->NumAllocations), 0);
    assert_ptr_equal(vidmm_resource_data(seen.vidmm, seen.parent), &seen);
    return miniport_forward_open_allocation(self, object, arg);
}

static NTSTATUS see_close(struct miniport *self, HANDLE object, const DXGKARG_CLOSEALLOCATION *arg)
{
    seen.closes++;
    seen.last_closed = arg->NumAllocations;
    return miniport_forward_close_allocation(self, object, arg);
}

static NTSTATUS see_destroy(struct miniport *self, HANDLE object,
                            const DXGKARG_DESTROYALLOCATION *arg)
{
    assert_ptr_equal(arg->hResource, &seen);
    seen.destroys++;
    seen.ends += arg->Flags.DestroyResource;
    seen.last_destroyed = arg->NumAllocations;
    return miniport_forward_destroy_allocation(self, object, arg);
}

static struct rig *watched_rig(unsigned model)
{
    struct rig_config config = rig_model(model);
    struct rig *rig = rig_create(&config);

    memset(&seen, 0, sizeof seen);
    seen.ops = miniport_forward_ops;
    seen.ops.create_allocation = see_create;
    seen.ops.open_allocation = see_open;
    seen.ops.close_allocation = see_close;
    seen.ops.destroy_allocation = see_destroy;
    seen.layer.ops = &seen.ops;
    seen.layer.next = rig->vidmm->miniport;
    seen.vidmm = rig->vidmm;
    rig->vidmm->miniport = &seen.layer;
    return rig;
}

static NTSTATUS make(struct rig *rig, bool ends_whole, NTSTATUS refusal,
                     struct vidmm_allocation *parts[PARTS])
{
    struct rig_request requests[PARTS];
    struct vidmm_new_allocation wanted[PARTS];

    for (unsigned i = 0; i < PARTS; i++) {
        requests[i] = (struct rig_request){.bytes = PAGE_BYTES_OF(4), .preferred = {1}};
        wanted[i] = (struct vidmm_new_allocation){&requests[i], sizeof requests[i], NULL, NULL};
    }
    requests[1].refusal = refusal;
    return vidmm_resource_create(rig->device, ends_whole, PARTS, wanted, parts);
}

static void allocations_end_by_calls_of_their_own_or_by_one(void **state)
{
    for (unsigned i = 0; i < RIG_MODELS * 2; i++) {
        const bool ends_whole = i % 2;
        struct rig *rig = watched_rig(i / 2);
        struct vidmm_allocation *parts[PARTS];

        assert_int_equal(make(rig, ends_whole, STATUS_SUCCESS, parts), STATUS_SUCCESS);
        assert_int_equal(seen.creates, 1);
        for (unsigned k = 0; k < PARTS; k++) {
            vidmm_allocation_destroy(parts[(k + 1) % PARTS]);
            rig_drain(rig);
            assert_int_equal(seen.destroys, ends_whole ? k == PARTS - 1 : k + 1);
            assert_int_equal(seen.ends, k == PARTS - 1);
        }
        assert_int_equal(seen.last_destroyed, ends_whole ? PARTS : 1);
        assert_int_equal(seen.last_closed, seen.last_destroyed);
        assert_int_equal(seen.closes, seen.destroys);
        rig_free(rig);
    }
}

/* Which allocations a resource has, against a plain list, as they go in any order. */
static void a_resource_knows_the_allocations_that_it_has(void **state)
{
    static const unsigned orders[][PARTS] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}};

    for (unsigned i = 0; i < ARRAY_COUNT(orders) * 2; i++) {
        struct rig *rig = watched_rig(0);
        struct vidmm_allocation *parts[PARTS], *alone;
        struct rig_request request = {.bytes = PAGE_BYTES_OF(1), .preferred = {1}};
        D3DKMT_HANDLE left[PARTS];
        unsigned count = PARTS;

        assert_int_equal(make(rig, i % 2, STATUS_SUCCESS, parts), STATUS_SUCCESS);
        for (unsigned k = 0; k < PARTS; k++)
            left[k] = parts[k]->handle;
        for (unsigned k = 0; k < PARTS; k++) {
            struct vidmm_allocation *part = parts[orders[i / 2][k]];
            unsigned kept = 0;

            for (unsigned n = 0; n < count; n++) {
                assert_int_equal(vidmm_handle_parent(rig->vidmm, left[n]), seen.parent);
                assert_int_equal(vidmm_handle_child(rig->vidmm, seen.parent, n), left[n]);
            }
            assert_int_equal(vidmm_handle_child(rig->vidmm, seen.parent, count), 0);
            assert_int_equal(vidmm_handle_child(rig->vidmm, left[0], 0), 0);
            assert_null(vidmm_handle_data(rig->vidmm, seen.parent));
            assert_null(vidmm_resource_data(rig->vidmm, left[0]));
            assert_int_equal(vidmm_handle_parent(rig->vidmm, seen.parent), 0);
            for (unsigned n = 0; n < count; n++) {
                if (left[n] != part->handle)
                    left[kept++] = left[n];
            }
            count = kept;
            vidmm_allocation_destroy(part);
            rig_drain(rig);
        }
        assert_null(vidmm_resource_data(rig->vidmm, seen.parent));
        rig->vidmm->miniport = seen.layer.next;
        assert_int_equal(
            vidmm_allocation_create(rig->device, &request, sizeof request, NULL, &alone),
            STATUS_SUCCESS);
        assert_int_equal(vidmm_handle_parent(rig->vidmm, alone->handle), 0);
        assert_int_equal(vidmm_handle_child(rig->vidmm, alone->handle, 0), 0);
        vidmm_allocation_destroy(alone);
        rig_drain(rig);
        rig_free(rig);
    }
}

static void a_resource_is_made_as_a_whole_or_not_at_all(void **state)
{
    for (unsigned is_open = 0; is_open < 2; is_open++) {
        struct rig *rig = watched_rig(0);
        struct vidmm_allocation *parts[PARTS];
        const unsigned handles = rig->live_handles;

        rig->fails_at_open = is_open ? STATUS_NO_MEMORY : STATUS_SUCCESS;
        assert_int_equal(make(rig, false, is_open ? STATUS_SUCCESS : STATUS_NO_MEMORY, parts),
                         STATUS_NO_MEMORY);
        rig->fails_at_open = STATUS_SUCCESS;
        for (unsigned k = 0; k < PARTS; k++)
            assert_null(parts[k]);
        assert_int_equal(seen.destroys, is_open);
        assert_int_equal(seen.ends, is_open);
        assert_int_equal(seen.last_destroyed, is_open ? PARTS : 0);
        assert_int_equal(rig->live_handles, handles);
        rig_free(rig);
    }
}

static void none_and_too_many_are_refused(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig *rig = rig_create(&config);
    struct vidmm_allocation *part;

    assert_int_equal(vidmm_resource_create(rig->device, false, 0, NULL, &part),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(
        vidmm_resource_create(rig->device, false, VIDMM_RESOURCE_MOST + 1, NULL, &part),
        STATUS_INVALID_PARAMETER);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_end_by_calls_of_their_own_or_by_one),
        cmocka_unit_test(a_resource_knows_the_allocations_that_it_has),
        cmocka_unit_test(a_resource_is_made_as_a_whole_or_not_at_all),
        cmocka_unit_test(none_and_too_many_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
