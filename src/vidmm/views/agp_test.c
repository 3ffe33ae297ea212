/* What the GPU has written through an AGP bridge is in memory before the CPU sees it. */
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_gpu.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

static struct {
    NTSTATUS (*query)(struct miniport *self, HANDLE adapter, const DXGKARG_QUERYADAPTERINFO *query);
    unsigned writes, reads;
    uint64_t written_at, read_at;
    uint64_t mapped; /* pages */
    uint32_t owner;  /* of those that are mapped now; 0: the manager */
} seen;

static NTSTATUS query_with_agp(struct miniport *self, HANDLE adapter,
                               const DXGKARG_QUERYADAPTERINFO *query)
{
    NTSTATUS status = seen.query(self, adapter, query);
    const DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;

    if (query->Type == DXGKQAITYPE_QUERYSEGMENT3 && out->pSegmentDescriptor)
        out->pSegmentDescriptor[out->NbSegment - 1].Flags =
            (DXGK_SEGMENTFLAGS){{{.Agp = 1}}}; /* BANK-006 */
    return status;
}

/* The bridge shows the pages as the slots of the rig's aperture do. */
static NTSTATUS map_agp(void *context, uint64_t offset, uint64_t count, const uint64_t *pages)
{
    struct rig *rig = context;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t slot = rig_slot(rig, rig->segment_count, offset / PAGE_BYTES + i);
        struct rig_page *page = rig_page(rig, 0, pages[i]);

        EXPECT(!rig->slots[slot]);
        rig->slots[slot] = pages[i] + 1;
        rig->slot_owner[slot] = page->owner = seen.owner;
        page->owner_page = (uint32_t)i;
    }
    seen.mapped += count;
    return STATUS_SUCCESS;
}

static void unmap_agp(void *context, uint64_t offset, uint64_t count)
{
    struct rig *rig = context;

    for (uint64_t i = 0; i < count; i++)
        rig->slots[rig_slot(rig, rig->segment_count, offset / PAGE_BYTES + i)] = 0;
    seen.mapped -= count;
}

/* The model of the rig has no such operations. */
static bool see_flush(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *args, NTSTATUS *status)
{
    *status = STATUS_SUCCESS;
    switch ((int)args->Operation) {
    case DXGK_OPERATION_WRITE_PHYSICAL:
        seen.writes++;
        seen.written_at = (uint64_t)args->WritePhysical.PhysicalAddress.QuadPart;
        return true;
    case DXGK_OPERATION_READ_PHYSICAL:
        assert_int_equal(seen.writes, seen.reads + 1);
        seen.reads++;
        seen.read_at = (uint64_t)args->ReadPhysical.PhysicalAddress.QuadPart;
        return true;
    default:
        return false;
    }
}

static struct rig *start(void)
{
    const struct rig_config config = rig_model(0);
    struct rig *rig = rig_new(&config);

    memset(&seen, 0, sizeof seen);
    seen.query = rig->ops.query_adapter_info;
    rig->ops.query_adapter_info = query_with_agp;
    rig->build_hook = see_flush;
    rig->manager.platform.agp_base = rig_segment_base(rig->segment_count);
    rig->manager.platform.agp_bytes = PAGE_BYTES_OF(rig->config.aperture_pages);
    rig->manager.platform.map_agp = map_agp;
    rig->manager.platform.unmap_agp = unmap_agp;
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    return rig;
}

static void use(struct rig *rig, struct rig_object *object)
{
    struct rig_done done = {0};

    assert_int_equal(rig_gpu_in(rig, rig->context, &object, 1, 0, rig_done, &done), STATUS_SUCCESS);
    rig_drain(rig);
    assert_true(done.calls == 1 && NT_SUCCESS(done.status));
}

/* PHYS-004, PHYS-005: a write to the scratch page, which is the window's last, and a read. */
static void what_the_gpu_has_written_is_flushed_before_the_cpu_looks(void **state)
{
    struct rig *rig = start();
    const uint64_t base = rig_segment_base(rig->segment_count);
    struct rig_object object;

    rig_object(rig, 4, rig->segment_count, &object);
    seen.owner = object.driver->number;
    for (unsigned turn = 1; turn <= 2; turn++) {
        use(rig, &object);
        assert_int_equal(seen.mapped, 1 + 4);
        assert_int_equal(vidmm_lock(object.allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
        rig_drain(rig);
        assert_int_equal(seen.writes, turn);
        assert_int_equal(seen.reads, turn);
        assert_int_equal(seen.written_at, base + PAGE_BYTES_OF(rig->config.aperture_pages - 1));
        assert_true(seen.read_at >= base &&
                    seen.read_at < base + PAGE_BYTES_OF(rig->config.aperture_pages - 1));
        for (unsigned lock = 0; lock < 2; lock++) { /* nothing has been written since */
            assert_int_equal(vidmm_lock(object.allocation), STATUS_SUCCESS);
            vidmm_unlock(object.allocation);
        }
        assert_int_equal(seen.writes, turn);
    }
    rig_destroy_object(rig, &object);
    rig_drain(rig);
    assert_int_equal(seen.mapped, 1);
    rig_free(rig);
    assert_int_equal(seen.mapped, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_gpu_has_written_is_flushed_before_the_cpu_looks),
    };

    return cmocka_run_group_tests_name("vidmm/agp", tests, NULL, NULL);
}
