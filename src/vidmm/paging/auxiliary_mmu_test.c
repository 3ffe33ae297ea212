/* MAP_MMU and UNMAP_MMU: each MMU beside the GPU's is told of every page, when it comes and goes.
 */
#include "vidmm/memory/allocation.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

#define PAGES 40 /* of an aperture of 64 */
#define MMUS  2

struct witness {
    uint64_t mapped[MMUS + 1], unmapped[MMUS + 1]; /* pages so far, by the MMU's id */
};

static void see(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct witness *witness = rig->test;

    if (args->Operation == DXGK_OPERATION_MAP_MMU) {
        assert_in_range(args->MmapMmu.MmuId, 1, MMUS);
        assert_int_equal(args->MmapMmu.AllocationOffsetInPages,
                         witness->mapped[args->MmapMmu.MmuId]);
        witness->mapped[args->MmapMmu.MmuId] += args->MmapMmu.Adl.PageCount;
    } else if (args->Operation == DXGK_OPERATION_UNMAP_MMU) {
        assert_in_range(args->UnmapMmu.MmuId, 1, MMUS);
        assert_int_equal(args->UnmapMmu.AllocationOffset, witness->unmapped[args->UnmapMmu.MmuId]);
        witness->unmapped[args->UnmapMmu.MmuId] += args->UnmapMmu.NumberOfPages;
    }
}

static void every_mmu_is_told_of_every_page(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        const struct rig_request request = {
            .bytes = PAGES * PAGE_BYTES, .preferred = {2}, .is_physical = true};
        struct witness witness = {0};
        struct rig_object first, second;
        struct rig *rig;

        if (!config.is_virtual)
            continue;
        rig = rig_create(&config);
        rig->test = &witness;
        rig->watch = see;
        rig->vidmm->config.auxiliary_mmus = MMUS;
        rig->vidmm->caps.interface_version = DXGKDDI_INTERFACE_VERSION_WDDM3_2;
        assert_int_equal(rig_try_object(rig, rig->device, &request, &first), STATUS_SUCCESS);
        assert_int_equal(rig_try_object(rig, rig->device, &request, &second), STATUS_SUCCESS);
        rig_make_resident(rig, &first);
        rig_evict(rig, &first);
        for (unsigned mmu = 1; mmu <= MMUS; mmu++) {
            assert_int_equal(witness.mapped[mmu], PAGES);
            assert_int_equal(witness.unmapped[mmu], 0);
        }
        memset(witness.mapped, 0, sizeof witness.mapped);
        rig_make_resident(rig, &second); /* which has no room beside it */
        for (unsigned mmu = 1; mmu <= MMUS; mmu++) {
            assert_int_equal(witness.mapped[mmu], PAGES);
            assert_int_equal(witness.unmapped[mmu], PAGES);
        }
        memset(witness.unmapped, 0, sizeof witness.unmapped);
        rig_destroy_object(rig, &first);
        rig_destroy_object(rig, &second);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mmu_is_told_of_every_page),
    };

    return cmocka_run_group_tests_name("vidmm/auxiliary_mmu", tests, NULL, NULL);
}
