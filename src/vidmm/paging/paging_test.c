/* Paging: allocations move between their segments and the backing store, in every model. */
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

/* ---- Content ---- */

static void the_first_page_in_is_a_fill(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_create(&config);
        struct rig_object object;
        bool is_virtual = config.is_virtual;

        rig_object(rig, 70, 1, &object);
        if (is_virtual) {
            rig_map(rig, &object);
            rig_make_resident(rig, &object);
        }
        rig_gpu(rig, &object, 4);
        assert_true(rig_count(rig, is_virtual ? DXGK_OPERATION_VIRTUAL_FILL : DXGK_OPERATION_FILL));
        assert_false(rig_count(rig, DXGK_OPERATION_TRANSFER));
        assert_false(rig_count(rig, DXGK_OPERATION_VIRTUAL_TRANSFER));
        assert_int_equal(vidmm_statistics(rig->vidmm)->filled_bytes, 70 * PAGE_BYTES);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void content_survives_leaving_and_coming_back(void **state)
{
    /* Models, by buffers of one record and of many, by caps. */
    for (unsigned variant = 0; variant < RIG_MODELS * 8; variant++) {
        struct rig_config config = rig_model(variant % RIG_MODELS);
        struct rig_object objects[3];
        struct rig *rig;

        config.buffer_bytes = variant & 4 ? 48 : 0;
        config.caches_invalid = variant & 8;
        config.is_busy_once = variant & 8;
        config.private_bytes = variant & 16 ? 24 : 0;
        config.moves_private = variant & 16;
        config.seed = variant;
        rig = rig_create(&config);
        for (unsigned i = 0; i < 3; i++) {
            rig_object(rig, 110, 1, &objects[i]);
            if (config.is_virtual)
                rig_map(rig, &objects[i]);
        }
        for (unsigned round = 0; round < 6; round++) {
            struct rig_object *object = &objects[round % 3];

            if (config.is_virtual)
                rig_make_resident(rig, object);
            rig_gpu(rig, object, RIG_PROGRAM_STEPS);
            if (config.is_virtual)
                rig_evict(rig, object);
        }
        assert_in_range(rig->eviction_count, 4, 6);
        if ((variant & 4) && variant % RIG_MODELS != 3) /* there a chunk is one record */
            assert_true(vidmm_statistics(rig->vidmm)->multipass_calls > 0);
        for (unsigned i = 0; i < 3; i++) {
            rig_cpu(rig, &objects[i], false);
            rig_destroy_object(rig, &objects[i]);
        }
        rig_free(rig);
    }
}

/* ---- Physical model ---- */

/* What the rig was given since the trace was emptied, as letters. */
static const char *trace(const struct rig *rig)
{
    static char text[65];
    static const char letters[] = "TFD..MU";
    unsigned i;

    for (i = 0; i < rig->trace_count && i < 64; i++)
        text[i] = rig->trace[i] < 7 ? letters[rig->trace[i]] : '?';
    text[i] = '\0';
    return text;
}

static void eviction_goes_through_an_aperture_that_the_allocation_names(void **state)
{
    for (unsigned variant = 0; variant < 4; variant++) {
        bool has_room = variant & 1;
        struct rig_config config = rig_model(0);
        struct rig_request request = {
            .bytes = 70 * PAGE_BYTES, .preferred = {1}, .eviction_set = 2};
        struct rig_object object;
        struct rig *rig;

        config.slots_at_once = variant & 2;
        config.hides_segment[0] = true;
        config.aperture_pages = has_room ? 70 : 69;
        rig = rig_create(&config);
        assert_int_equal(rig_try_object(rig, rig->device, &request, &object), STATUS_SUCCESS);
        rig_gpu(rig, &object, 8);
        assert_string_equal(trace(rig), "F");
        rig->trace_count = 0;
        rig_cpu(rig, &object, true); /* the CPU cannot see the segment: it leaves */
        assert_string_equal(trace(rig), has_room ? "MTU" : "T");
        rig->trace_count = 0;
        rig_gpu(rig, &object, 8);
        assert_string_equal(trace(rig), "T");
        rig->trace_count = 0;
        rig_destroy_object(rig, &object);
        rig_drain(rig);
        assert_string_equal(trace(rig), "D");
        for (unsigned i = 0; i < config.aperture_pages; i++)
            assert_int_equal(rig->slots[i], 0);
        rig_free(rig);
    }
}

static void an_aperture_shows_system_pages_where_they_are(void **state)
{
    for (unsigned coherent = 0; coherent < 2; coherent++) {
        struct rig_config config = rig_model(0);
        struct rig_object first, second;
        struct rig_request request = {.bytes = 40 * PAGE_BYTES, .is_cached = true};
        struct rig *rig;

        config.is_coherent = coherent;
        request.preferred[0] = 2;
        rig = rig_create(&config); /* 64 slots */
        assert_int_equal(rig_try_object(rig, rig->device, &request, &first), STATUS_SUCCESS);
        assert_int_equal(rig_try_object(rig, rig->device, &request, &second), STATUS_SUCCESS);
        rig_cpu(rig, &first, true);
        rig_gpu(rig, &first, 8);
        rig_cpu(rig, &first, true); /* where it is */
        assert_true(vidmm_allocation_is_resident(first.allocation));
        rig_gpu(rig, &second, 8);
        assert_false(vidmm_allocation_is_resident(first.allocation));
        rig_gpu(rig, &first, 8);
        assert_string_equal(trace(rig), "MUMUM");
        rig_cpu(rig, &first, false);
        rig_cpu(rig, &second, false);
        rig_destroy_object(rig, &first);
        rig_destroy_object(rig, &second);
        rig_free(rig);
    }
}

/* A board may have more slots than memory that may be committed to them (SEG-009). */
static void what_may_be_mapped_is_limited_for_one_aperture_and_for_all(void **state)
{
    static const struct {
        uint64_t own, all;
        const char *calls;
    } limits[] = {{0, 0, "MM"}, {40, 0, "MM"}, {39, 0, "MUM"}, {0, 40, "MM"}, {0, 39, "MUM"}};

    for (size_t i = 0; i < ARRAY_COUNT(limits); i++) {
        struct rig_config config = rig_model(0);
        struct rig_object first, second;
        struct rig *rig;

        config.aperture_limit_pages = limits[i].own;
        config.all_apertures_limit_pages = limits[i].all;
        rig = rig_create(&config); /* 64 slots */
        rig_object(rig, 20, 2, &first);
        rig_object(rig, 20, 2, &second);
        rig_gpu(rig, &first, 8);
        rig_gpu(rig, &second, 8);
        assert_string_equal(trace(rig), limits[i].calls);
        rig_destroy_object(rig, &first);
        rig_destroy_object(rig, &second);
        rig_free(rig);
    }
}

/* SEG-009, APER-017: an amount, wherever in the segment. What wants the end of it gets it. */
static void a_limit_of_an_aperture_is_no_end_of_its_addresses(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig_object object;
    struct rig *rig;

    config.aperture_limit_pages = 20; /* of 64 slots */
    config.places_from_end = true;
    rig = rig_create(&config);
    rig_object(rig, 20, 2, &object);
    rig_gpu(rig, &object, 8);
    for (unsigned slot = 0; slot < 64; slot++)
        assert_int_equal(rig->slots[slot] != 0, slot >= 44);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/* APER-017: each has slots enough, and what is in one keeps the other from being used. */
static void what_may_be_mapped_in_all_apertures_is_limited(void **state)
{
    static const struct {
        uint64_t all;
        const char *calls;
    } limits[] = {{0, "MM"}, {40, "MM"}, {39, "MUM"}};

    for (size_t i = 0; i < ARRAY_COUNT(limits); i++) {
        struct rig_config config = rig_model(0);
        struct rig_object first, second;
        struct rig *rig;

        config.has_two_apertures = true;
        config.all_apertures_limit_pages = limits[i].all;
        rig = rig_create(&config); /* 64 slots each */
        rig_object(rig, 20, 2, &first);
        rig_object(rig, 20, 3, &second);
        rig_gpu(rig, &first, 8);
        rig_gpu(rig, &second, 8);
        assert_string_equal(trace(rig), limits[i].calls);
        assert_int_equal(rig->vidmm->aperture_bytes, PAGE_BYTES * (limits[i].all == 39 ? 20 : 40));
        rig_destroy_object(rig, &first);
        rig_destroy_object(rig, &second);
        rig_drain(rig);
        assert_int_equal(rig->vidmm->aperture_bytes, 0);
        rig_free(rig);
    }
}

/* What makes entries invalid, and flushes, behind the last fill or transfer and in front of it. */
struct clean_up {
    unsigned unmaps, flushes, moves, ended_early;
    HANDLE allocation; /* of the last one that makes entries invalid */
    struct rig_done done;
};

static void see_clean_up(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct clean_up *seen = rig->test;
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &args->UpdatePageTable;

    if (args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE && update->Flags.Repeat &&
        !update->pPageTableEntries[0].Valid) {
        seen->unmaps++;
        seen->allocation = update->hAllocation;
        seen->ended_early += seen->done.calls;
    }
    seen->flushes += args->Operation == DXGK_OPERATION_FLUSH_TLB;
    seen->moves += args->Operation == DXGK_OPERATION_VIRTUAL_FILL ||
                   args->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER;
}

/* docs/policy.md, What a pair costs: as long as each is as small as the last, and one follows. */
static void small_allocations_share_what_takes_them_out_of_scratch(void **state)
{
    enum { COUNT = 8 };
    static const struct {
        unsigned model, count, pages;
        bool caches_invalid;
        unsigned unmaps, flushes;
    } rows[] = {
        {1, 1, 2, false, 1, 1},
        {1, COUNT, 2, false, 1, 1},
        {2, COUNT, 1, false, 1, 1},
        {3, COUNT, 2, false, 0, COUNT},
        {1, COUNT, 2, true, 1, COUNT + 1},
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct rig_config config = rig_model(rows[i].model);
        struct rig *rig;
        struct rig_object objects[COUNT];
        struct vidmm_allocation *list[COUNT];
        struct clean_up seen = {0};
        uint64_t fence;

        config.caches_invalid = rows[i].caches_invalid;
        rig = rig_create(&config);
        for (unsigned j = 0; j < rows[i].count; j++) {
            rig_object(rig, rows[i].pages, 1, &objects[j]);
            list[j] = objects[j].allocation;
        }
        rig_drain(rig);
        rig->watch = see_clean_up;
        rig->test = &seen;
        assert_int_equal(
            vidmm_make_resident(rig->device, rows[i].count, list, rig_done, &seen.done, &fence),
            STATUS_PENDING);
        rig_drain(rig);
        assert_int_equal(seen.done.calls, 1);
        assert_int_equal(seen.ended_early, 0);
        assert_int_equal(seen.moves, rows[i].count);
        assert_int_equal(seen.unmaps, rows[i].unmaps);
        assert_int_equal(seen.flushes, rows[i].flushes);
        assert_int_equal(seen.allocation != NULL, rows[i].count == 1);
        for (unsigned j = 0; j < rows[i].count; j++) {
            objects[j].references++;
            rig_evict(rig, &objects[j]);
            rig_destroy_object(rig, &objects[j]);
        }
        rig_free(rig);
    }
}

struct pieces {
    uint64_t offset[8], size[8], mdl_offset[8];
    unsigned count;
};

static void see_pieces(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct pieces *pieces = rig->test;

    if (args->Operation != DXGK_OPERATION_TRANSFER)
        return;
    assert_true(pieces->count < 8);
    pieces->offset[pieces->count] = args->Transfer.TransferOffset;
    pieces->size[pieces->count] = args->Transfer.TransferSize;
    pieces->mdl_offset[pieces->count++] = args->Transfer.MdlOffset;
}

static void more_than_a_gibibyte_moves_in_pieces(void **state)
{
    struct rig_config config = rig_model(0);
    const uint64_t pages = GiB / PAGE_BYTES + 5;
    struct pieces pieces = {0};
    struct rig_object object;
    struct rig *rig;

    config.hides_segment[0] = true;
    config.segment_pages[0] = pages + 100;
    config.system_pages = pages + 1000;
    rig = rig_create(&config);
    rig->watch = see_pieces;
    rig->test = &pieces;
    rig_object(rig, pages, 1, &object);
    rig_cpu(rig, &object, true);
    rig_gpu(rig, &object, 8);
    rig_cpu(rig, &object, false);
    assert_int_equal(pieces.count, 4); /* in and out, two each */
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(pieces.offset[i], i & 1 ? GiB : 0);
        assert_int_equal(pieces.size[i], i & 1 ? 5 * PAGE_BYTES : GiB);
        assert_int_equal(pieces.mdl_offset[i], i & 1 ? GiB / PAGE_BYTES : 0);
    }
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/* docs/observed.md, O27 */
static void content_survives_in_paging_buffers_without_an_address(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig_object objects[3];
        struct rig *rig;

        config.hides_address = true;
        config.buffer_count = 1;
        config.private_bytes = 24;
        config.moves_private = true;
        rig = rig_create(&config);
        for (unsigned i = 0; i < 3; i++) {
            rig_object(rig, 110, 1, &objects[i]);
            rig_map(rig, &objects[i]);
        }
        for (unsigned round = 0; round < 6; round++) {
            rig_make_resident(rig, &objects[round % 3]);
            rig_gpu(rig, &objects[round % 3], RIG_PROGRAM_STEPS);
            rig_evict(rig, &objects[round % 3]);
        }
        assert_true(rig->eviction_count >= 4);
        for (unsigned i = 0; i < 3; i++)
            rig_destroy_object(rig, &objects[i]);
        rig_free(rig);
    }
}

/* docs/observed.md: what lies before some entries, what lies behind, those. */
static void tables_are_begun_in_pieces(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        unsigned calls[2];

        for (unsigned i = 0; i < 2; i++) {
            struct rig_config config = rig_model(model);
            struct rig_object object;
            struct rig *rig;

            config.initialises_in_pieces = i;
            rig = rig_create(&config);
            rig->initial_updates = 0;
            rig_object(rig, 110, 1, &object);
            rig_map(rig, &object);
            rig_make_resident(rig, &object);
            rig_gpu(rig, &object, RIG_PROGRAM_STEPS);
            calls[i] = rig->initial_updates;
            rig_destroy_object(rig, &object);
            rig_free(rig);
        }
        assert_true(calls[0] > 0);
        assert_true(calls[1] > calls[0]);
    }
}

/* An array has entries beside those that change; each is written as it is. */
static void arrays_mix_valid_and_invalid_entries(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        unsigned mixed[2];

        for (unsigned i = 0; i < 2; i++) {
            struct rig_config config = rig_model(model);
            struct rig_object objects[3];
            struct rig *rig;

            config.writes_neighbours = i;
            rig = rig_create(&config);
            for (unsigned k = 0; k < ARRAY_COUNT(objects); k++) {
                rig_object(rig, 13, 1, &objects[k]);
                rig_map(rig, &objects[k]);
                rig_make_resident(rig, &objects[k]);
                rig_gpu(rig, &objects[k], RIG_PROGRAM_STEPS);
            }
            rig_evict(rig, &objects[1]);
            rig_make_resident(rig, &objects[1]);
            for (unsigned k = 0; k < ARRAY_COUNT(objects); k++)
                rig_gpu(rig, &objects[k], RIG_PROGRAM_STEPS);
            mixed[i] = rig->mixed_updates;
            for (unsigned k = 0; k < ARRAY_COUNT(objects); k++)
                rig_destroy_object(rig, &objects[k]);
            rig_free(rig);
        }
        assert_int_equal(mixed[0], 0);
        assert_true(mixed[1] > 0);
    }
}

/* PB-018, APER-005 */
static void paging_buffers_are_in_the_aperture_that_the_driver_names(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig_object objects[3];
    struct rig *rig;
    unsigned shown = 0;

    config.aperture_pages = 64;
    config.pages_through_aperture = true;
    config.buffer_count = 3;
    config.buffer_bytes = 96;
    rig = rig_create(&config);
    for (unsigned i = 0; i < config.aperture_pages; i++)
        shown += rig->slots[i] != 0;
    assert_int_equal(shown, 3);
    for (unsigned i = 0; i < 3; i++)
        rig_object(rig, 110, 1, &objects[i]);
    for (unsigned round = 0; round < 9; round++)
        rig_gpu(rig, &objects[round % 3], RIG_PROGRAM_STEPS);
    for (unsigned i = 0; i < 3; i++)
        rig_destroy_object(rig, &objects[i]);
    rig_free(rig);
}

static bool refuse_map(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *args, NTSTATUS *status)
{
    *status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    return args->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT;
}

static bool write_map(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *args, NTSTATUS *status)
{
    if (args->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT)
        args->pDmaBuffer = (uint8_t *)args->pDmaBuffer + 8;
    *status = STATUS_SUCCESS;
    return args->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT;
}

static void a_paging_buffer_that_is_not_mapped_at_once_ends_the_start(void **state)
{
    for (unsigned writes = 0; writes < 2; writes++) {
        struct rig_config config = rig_model(0);
        struct rig *rig;

        config.pages_through_aperture = true;
        rig = rig_new(&config);
        rig->build_hook = writes ? write_map : refuse_map;
        assert_int_equal(rig_start(rig), STATUS_INVALID_PARAMETER);
        rig->build_hook = NULL;
        rig_free(rig);
    }
}

/* ---- Rendering ---- */

static void a_command_buffer_of_many_parts_runs_whole(void **state)
{
    for (unsigned dma_bytes = sizeof(struct rig_command); dma_bytes <= 400; dma_bytes += 90) {
        struct rig_config config = rig_model(0);
        struct rig_done done = {0};
        struct rig_object objects[3], *list[3] = {&objects[0], &objects[1], &objects[2]};
        struct rig *rig;

        config.dma_bytes = dma_bytes;
        config.private_bytes = 16;
        rig = rig_create(&config);
        for (unsigned i = 0; i < 3; i++)
            rig_object(rig, 20, i == 2 ? 2 : 1, &objects[i]);
        assert_int_equal(rig_gpu_in(rig, rig->context, list, 3, RIG_PROGRAM_STEPS, rig_done, &done),
                         STATUS_SUCCESS);
        assert_int_equal(vidmm_lock(objects[0].allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
        rig_drain(rig);
        assert_true(done.calls == 1 && done.status == STATUS_SUCCESS);
        for (unsigned i = 0; i < 3; i++) {
            rig_cpu(rig, &objects[i], false);
            rig_destroy_object(rig, &objects[i]);
        }
        rig_free(rig);
    }
}

static void references_that_do_not_fit_together_fail_with_sizes(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig *rig = rig_create(&config);
    struct rig_object objects[2], *list[2] = {&objects[0], &objects[1]};
    struct vidmm_reference many[17];
    struct rig_done done = {0};
    uint64_t value;

    rig_object(rig, 200, 1, &objects[0]);
    rig_object(rig, 100, 1, &objects[1]);
    assert_int_equal(rig_gpu_in(rig, rig->context, list, 2, 4, rig_done, &done), STATUS_SUCCESS);
    rig_drain(rig);
    assert_true(done.calls == 1 && done.status == STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    assert_int_equal(done.needed, 300 * PAGE_BYTES);
    assert_int_equal(done.available, 256 * PAGE_BYTES);
    assert_string_equal(rig->refusal_rule, "RES-001");
    for (unsigned i = 0; i < 2; i++)
        rig_gpu(rig, list[i], 4); /* one after the other they do */

    for (unsigned i = 0; i < 17; i++)
        many[i] = (struct vidmm_reference){objects[0].allocation, false};
    assert_int_equal(vidmm_render(rig->context, NULL, 0, 17, many, NULL, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_submit_virtual(rig->context, 0, 1, NULL, NULL), STATUS_NOT_SUPPORTED);
    assert_int_equal(vidmm_map_gpu_va(rig->process,
                                      &(struct vidmm_map_request){
                                          .allocation = objects[0].allocation, .bytes = PAGE_BYTES},
                                      &value),
                     STATUS_NOT_SUPPORTED);
    for (unsigned i = 0; i < 2; i++)
        rig_destroy_object(rig, list[i]);
    rig_free(rig);
}

static bool render_nothing(struct rig *rig, DXGKARG_RENDER *render, NTSTATUS *status)
{
    *status = STATUS_SUCCESS;
    return true;
}

/* One that the driver lists and names in no patch location (docs/observed.md, O21). */
static void what_no_location_names_comes_in_where_the_list_counts(void **state)
{
    for (unsigned counts_list = 0; counts_list < 2; counts_list++) {
        struct rig_config config = rig_model(0);
        struct rig_object object, *list[1] = {&object};
        struct rig_done done = {0};
        struct rig *rig;

        config.pages_in_patched_only = !counts_list;
        rig = rig_create(&config);
        rig_object(rig, 20, 1, &object);
        rig->render_hook = render_nothing;
        assert_int_equal(rig_gpu_in(rig, rig->context, list, 1, 4, rig_done, &done),
                         STATUS_SUCCESS);
        rig_drain(rig);
        assert_true(done.calls == 1 && done.status == STATUS_SUCCESS);
        assert_int_equal(rig_count(rig, DXGK_OPERATION_FILL), counts_list);
        rig->render_hook = NULL;
        rig_gpu(rig, &object, 4);
        assert_int_equal(rig_count(rig, DXGK_OPERATION_FILL), 1);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static unsigned handed_in;

static bool note_handed_in(struct rig *rig, DXGKARG_RENDER *render, NTSTATUS *status)
{
    handed_in = render->PatchLocationListInSize;
    for (unsigned i = 0; i < handed_in; i++) {
        assert_int_equal(render->pPatchLocationListIn[i].AllocationIndex, i);
        assert_int_equal(render->pPatchLocationListIn[i].PatchOffset, 0);
    }
    return false;
}

static void the_client_names_its_references_when_it_is_told_to(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig_object objects[2], *list[2] = {&objects[0], &objects[1]};
    struct rig *rig = rig_create(&config);

    rig_object(rig, 20, 1, &objects[0]);
    rig_object(rig, 10, 1, &objects[1]);
    rig->render_hook = note_handed_in;
    for (unsigned names = 0; names < 2; names++) {
        struct rig_done done = {0};

        vidmm_context_set_patch_input(rig->context, names);
        assert_int_equal(rig_gpu_in(rig, rig->context, list, 2, 4, rig_done, &done),
                         STATUS_SUCCESS);
        assert_int_equal(handed_in, 2 * names);
        rig_drain(rig);
        assert_true(done.calls == 1 && done.status == STATUS_SUCCESS);
    }
    rig_destroy_object(rig, &objects[0]);
    rig_destroy_object(rig, &objects[1]);
    rig_free(rig);
}

static void what_a_packet_refers_to_may_be_destroyed_behind_it(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig *rig = rig_create(&config);
    struct rig_object object, *list[1] = {&object};
    struct rig_done done[3] = {{0}};

    rig_object(rig, 70, 1, &object);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(rig_gpu_in(rig, rig->context, list, 1, 16, rig_done, &done[i]),
                         STATUS_SUCCESS);
    vidmm_allocation_destroy(object.allocation);
    assert_int_equal(rig->live_handles, 2);
    rig_drain(rig);
    for (unsigned i = 0; i < 3; i++)
        assert_true(done[i].calls == 1 && done[i].status == STATUS_SUCCESS);
    assert_int_equal(rig->live_handles, 0);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_page_in_is_a_fill),
        cmocka_unit_test(small_allocations_share_what_takes_them_out_of_scratch),
        cmocka_unit_test(content_survives_leaving_and_coming_back),
        cmocka_unit_test(eviction_goes_through_an_aperture_that_the_allocation_names),
        cmocka_unit_test(an_aperture_shows_system_pages_where_they_are),
        cmocka_unit_test(what_may_be_mapped_is_limited_for_one_aperture_and_for_all),
        cmocka_unit_test(a_limit_of_an_aperture_is_no_end_of_its_addresses),
        cmocka_unit_test(what_may_be_mapped_in_all_apertures_is_limited),
        cmocka_unit_test(more_than_a_gibibyte_moves_in_pieces),
        cmocka_unit_test(content_survives_in_paging_buffers_without_an_address),
        cmocka_unit_test(tables_are_begun_in_pieces),
        cmocka_unit_test(arrays_mix_valid_and_invalid_entries),
        cmocka_unit_test(paging_buffers_are_in_the_aperture_that_the_driver_names),
        cmocka_unit_test(a_paging_buffer_that_is_not_mapped_at_once_ends_the_start),
        cmocka_unit_test(a_command_buffer_of_many_parts_runs_whole),
        cmocka_unit_test(references_that_do_not_fit_together_fail_with_sizes),
        cmocka_unit_test(what_no_location_names_comes_in_where_the_list_counts),
        cmocka_unit_test(the_client_names_its_references_when_it_is_told_to),
        cmocka_unit_test(what_a_packet_refers_to_may_be_destroyed_behind_it),
    };

    return cmocka_run_group_tests_name("vidmm/paging", tests, NULL, NULL);
}
