/*
 * The oracle and random flows of one texture: what is done right is silent, whatever the buffers
 * and pieces; and of what is done wrong all that is said is what it was (test_told.h). A flow is a
 * seed.
 */
#include "check/rig/test_stage.h"
#include "check/rig/test_told.h"

#include "base/rng.h"

#define SEEDS       400u
#define STEPS       8u
#define PLACES      8u /* of the texture in local memory */
#define WINDOW      (40 + TEXTURE_PAGES * 2u * PLACES)
#define GUEST       (TEXTURE + 2u)
#define GUEST_PLACE (WINDOW + 2u * TEXTURE_PAGES)

struct flow {
    struct stage stage;
    struct rng rng;
    struct stage_pages home;
    bool is_wrong; /* something may be done wrong */
    bool has_guest, guest_is_there;
    bool is_local;
    uint64_t place; /* the first page in local memory */
    uint64_t key, token;
};

static bool goes_wrong(struct flow *flow)
{
    return flow->is_wrong && rng_chance(&flow->rng, 1, 3);
}

static uint64_t other_place(struct flow *flow)
{
    uint64_t place;

    do
        place = 40 + 2u * TEXTURE_PAGES * rng_below(&flow->rng, PLACES);
    while (place == flow->place);
    return place;
}

static uint64_t in_neighbours_order(uint64_t page)
{
    return page ^ 1;
}

static void cpu_writes(struct flow *flow)
{
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++) {
        struct page_store *store = flow->is_local ? flow->stage.local : flow->stage.ram;
        uint64_t page = flow->is_local ? flow->place + i : flow->home.pfns[MDL_POISON + i];

        page_store_write_tag(store, PAGE_NUMBER(page), PAGE_BYTES, flow->key + i);
        oracle_cpu_write(flow->stage.oracle, TEXTURE, PAGE_NUMBER(i), store, PAGE_NUMBER(page),
                         PAGE_BYTES, flow->key + i);
    }
    flow->key += TEXTURE_PAGES;
}

static void open_flow(struct flow *flow, uint64_t seed, bool is_wrong)
{
    static const uint32_t buffers[] = {40, 64, 256};

    *flow = (struct flow){.is_wrong = is_wrong, .key = 1000};
    rng_init(&flow->rng, seed);
    stage_open(&flow->stage, NO_DEFECT);
    flow->stage.buffer_bytes = buffers[rng_below(&flow->rng, 3)];
    flow->stage.completes_full_buffers = rng_chance(&flow->rng, 1, 2);
    assert_int_equal(stage_create(&flow->stage, TEXTURE, PAGE_NUMBER(TEXTURE_PAGES)),
                     STATUS_SUCCESS);
    assert_int_equal(stage_create(&flow->stage, TEXTURE + 1, PAGE_NUMBER(TEXTURE_PAGES)),
                     STATUS_SUCCESS);
    if (goes_wrong(flow)) /* the driver knows of no order */
        oracle_allocation_reordered(flow->stage.oracle, TEXTURE, in_neighbours_order,
                                    rng_chance(&flow->rng, 1, 2));
    stage_make_pages(&flow->home, 100, TEXTURE_PAGES);
    if (!rng_chance(&flow->rng, 1, 8))
        cpu_writes(flow);
}

static void build(struct flow *flow, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (goes_wrong(flow))
        flow->stage.driver->defect =
            (enum stage_defect)(NO_DEFECT + 1 + rng_below(&flow->rng, RESTARTS - NO_DEFECT));
    stage_build(&flow->stage, arg);
    flow->stage.driver->defect = NO_DEFECT;
}

/* In pieces of the same size, and now and then with a submission between two of them. */
static void moves(struct flow *flow)
{
    struct stage_pages pages = flow->home;
    const uint32_t size = TEXTURE_PAGES >> rng_below(&flow->rng, 4);

    if (flow->is_local)
        stage_make_pages(&pages, rng_below(&flow->rng, STORE_PAGES - MDL_POISON), TEXTURE_PAGES);
    else
        flow->place = other_place(flow);
    for (uint32_t first = 0; first < TEXTURE_PAGES; first += size) {
        DXGKARG_BUILDPAGINGBUFFER arg =
            stage_transfer(&pages, flow->place, !flow->is_local, first, size);

        arg.Transfer.Flags.TransferStart = first == 0;
        arg.Transfer.Flags.TransferEnd = first + size == TEXTURE_PAGES;
        build(flow, &arg);
        if (rng_chance(&flow->rng, 1, 4))
            stage_submit_and_complete(&flow->stage);
    }
    stage_submit_and_complete(&flow->stage);
    flow->home = pages;
    flow->is_local = !flow->is_local;
}

/* The GPU, in one piece of local memory. */
static void renders(struct flow *flow)
{
    const struct oracle_reference use = {.allocation = TEXTURE,
                                         .bytes = PAGE_NUMBER(TEXTURE_PAGES),
                                         .key = flow->key,
                                         .is_read = rng_chance(&flow->rng, 1, 2),
                                         .is_written = rng_chance(&flow->rng, 1, 2)};
    struct oracle *oracle = flow->stage.oracle;
    const uint64_t address = PAGE_NUMBER(flow->place + (goes_wrong(flow) ? 1 : 0));

    assert_int_equal(oracle_submission(oracle, ++flow->token, 1, &use), STATUS_SUCCESS);
    oracle_render_begin(oracle, flow->token, 0);
    if (use.is_read)
        oracle_render_read(oracle, flow->token, 0, 0, flow->stage.local, address, use.bytes);
    if (use.is_written) {
        oracle_render_write(oracle, flow->token, 0, 0, flow->stage.local, address, use.bytes);
        page_store_write_tag(flow->stage.local, address, use.bytes, flow->key);
        oracle_wrote(oracle, flow->stage.local, address, use.bytes, flow->token);
        flow->key += TEXTURE_PAGES;
    }
    oracle_render_end(oracle, flow->token);
    oracle_submission_retired(oracle, flow->token);
}

static void cpu_reads(struct flow *flow)
{
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++)
        oracle_cpu_read(
            flow->stage.oracle, TEXTURE, PAGE_NUMBER(i),
            flow->is_local ? flow->stage.local : flow->stage.ram,
            PAGE_NUMBER(flow->is_local ? flow->place + i : flow->home.pfns[MDL_POISON + i]),
            PAGE_BYTES);
}

/* A fill of the other allocation that ends in front of the texture, and may not stop there. */
static void a_neighbour_is_filled(struct flow *flow)
{
    DXGKARG_BUILDPAGINGBUFFER arg =
        stage_fill(TEXTURE + 1, flow->is_local ? flow->place - TEXTURE_PAGES : WINDOW,
                   goes_wrong(flow) ? 0x11 : 0);

    stage_build(&flow->stage, &arg);
    stage_submit_and_complete(&flow->stage);
    if (flow->is_local && goes_wrong(flow))
        page_store_fill(flow->stage.local, PAGE_NUMBER(flow->place),
                        PAGE_NUMBER(1 + rng_below(&flow->rng, TEXTURE_PAGES)), 0);
}

static void is_spoilt(struct flow *flow)
{
    const uint64_t page = flow->place + rng_below(&flow->rng, TEXTURE_PAGES);
    const uint32_t patterns[] = {0, 0x11, 0x55aa55aa};

    if (rng_chance(&flow->rng, 1, 2))
        page_store_copy(flow->stage.local, page, flow->stage.local, page ^ 1, 1);
    else
        page_store_fill(flow->stage.local, PAGE_NUMBER(page) + 4 * rng_below(&flow->rng, 8), 64,
                        patterns[rng_below(&flow->rng, 3)]);
    if (rng_chance(&flow->rng, 1, 2))
        oracle_wrote(flow->stage.oracle, flow->stage.local, PAGE_NUMBER(page), PAGE_BYTES, 77);
}

/* It has content, so nobody may fill it; or what it has in local memory is the only copy. */
static void is_filled_or_discarded(struct flow *flow)
{
    DXGKARG_BUILDPAGINGBUFFER arg = stage_fill(TEXTURE, other_place(flow), 0);

    if (rng_chance(&flow->rng, 1, 2)) {
        flow->place =
            ((uint64_t)arg.Fill.Destination.SegmentAddress.QuadPart - SEGMENT_BASE) / PAGE_BYTES;
        flow->is_local = true;
    } else {
        arg = (DXGKARG_BUILDPAGINGBUFFER){
            .Operation = DXGK_OPERATION_DISCARD_CONTENT,
            .DiscardContent = {.hAllocation = HANDLE_OF(TEXTURE),
                               .SegmentId = 1,
                               .SegmentAddress.QuadPart =
                                   (LONGLONG)(SEGMENT_BASE + PAGE_NUMBER(flow->place))}};
    }
    build(flow, &arg);
    arg = stage_fill(TEXTURE + 1, WINDOW, 0); /* the discard alone has no bytes */
    stage_build(&flow->stage, &arg);
    stage_submit_and_complete(&flow->stage);
}

/* ---- What the GPU makes of one place and a colour, and an allocation that comes and goes ------
 */

static void ends(struct flow *flow)
{
    oracle_render_end(flow->stage.oracle, flow->token);
    oracle_submission_retired(flow->stage.oracle, flow->token);
}

/* Bytes in the texture, at multiples of 4. */
static uint64_t draw_range(struct flow *flow, uint64_t most, uint64_t *out_bytes)
{
    const uint64_t offset = 4 * rng_below(&flow->rng, most / 4);

    *out_bytes = 4 + 4 * rng_below(&flow->rng, (most - offset) / 4);
    return offset;
}

static void paints(struct flow *flow)
{
    struct oracle_reference use = {.allocation = TEXTURE,
                                   .is_written = true,
                                   .source = ORACLE_COLOR,
                                   .key = rng_below(&flow->rng, 3) * 0x01020304u};
    struct oracle *oracle = flow->stage.oracle;
    uint64_t address;

    use.offset = draw_range(flow, PAGE_NUMBER(TEXTURE_PAGES), &use.bytes);
    if (rng_chance(&flow->rng, 1, 2)) { /* whole pages */
        use.offset = align_down(use.offset, PAGE_BYTES);
        use.bytes = align_down(use.bytes, PAGE_BYTES);
        use.bytes = use.bytes ? use.bytes : PAGE_BYTES;
        use.bytes = min_u64(use.bytes, PAGE_NUMBER(TEXTURE_PAGES) - use.offset);
    }
    address = PAGE_NUMBER(flow->place) + use.offset;
    assert_int_equal(oracle_submission(oracle, ++flow->token, 1, &use), STATUS_SUCCESS);
    oracle_render_begin(oracle, flow->token, 0);
    oracle_render_write(oracle, flow->token, 0, 0, flow->stage.local, address, use.bytes);
    if (!goes_wrong(flow)) {
        page_store_fill(flow->stage.local, address, use.bytes, (uint32_t)use.key);
        oracle_wrote(oracle, flow->stage.local, address, use.bytes, flow->token);
    }
    ends(flow);
}

/* From one half of the texture to the other one. */
static void copies(struct flow *flow)
{
    const uint64_t half = PAGE_NUMBER(TEXTURE_PAGES / 2);
    struct oracle_reference uses[] = {
        {.allocation = TEXTURE, .is_read = true},
        {.allocation = TEXTURE, .is_written = true, .source = ORACLE_COPY},
    };
    const uint64_t base = PAGE_NUMBER(flow->place);
    struct oracle *oracle = flow->stage.oracle;
    uint64_t bytes;

    uses[0].offset = draw_range(flow, half, &bytes);
    uses[1].offset = 4 * rng_below(&flow->rng, (half - bytes) / 4 + 1);
    uses[rng_below(&flow->rng, 2)].offset += half;
    if (uses[0].offset / half == uses[1].offset / half)
        uses[0].offset += half;
    uses[0].bytes = uses[1].bytes = bytes;
    assert_int_equal(oracle_submission(oracle, ++flow->token, 2, uses), STATUS_SUCCESS);
    oracle_render_begin(oracle, flow->token, 0);
    oracle_render_read(oracle, flow->token, 0, 0, flow->stage.local, base + uses[0].offset, bytes);
    oracle_render_write(oracle, flow->token, 1, 0, flow->stage.local, base + uses[1].offset, bytes);
    page_store_copy_bytes(flow->stage.local, base + uses[1].offset, flow->stage.local,
                          base + uses[0].offset + (goes_wrong(flow) ? 4 : 0), bytes);
    oracle_wrote(oracle, flow->stage.local, base + uses[1].offset, bytes, flow->token);
    ends(flow);
}

/* Of one page; where things go wrong, it is right in front of the texture, and its fill overruns.
 */
static void guest_comes_or_goes(struct flow *flow)
{
    const bool is_in_front = flow->is_wrong && flow->is_local;
    DXGKARG_BUILDPAGINGBUFFER arg =
        stage_fill(GUEST, is_in_front ? flow->place - 1 : GUEST_PLACE, 0);

    if (flow->guest_is_there) {
        stage_submit_and_complete(&flow->stage);
        stage_destroy(&flow->stage, GUEST);
        oracle_allocation_freed(flow->stage.oracle, GUEST);
    } else {
        assert_int_equal(stage_create(&flow->stage, GUEST, PAGE_BYTES), STATUS_SUCCESS);
        arg.Fill.FillSize = PAGE_BYTES;
        build(flow, &arg);
        if (is_in_front || rng_chance(&flow->rng, 1, 2))
            stage_submit_and_complete(&flow->stage);
        if (is_in_front && goes_wrong(flow))
            page_store_fill(flow->stage.local, PAGE_NUMBER(flow->place), PAGE_BYTES, 0);
    }
    flow->guest_is_there = !flow->guest_is_there;
}

static void step_of_the_gpu(struct flow *flow)
{
    const uint64_t kind = rng_below(&flow->rng, 4);

    if (kind == 3)
        guest_comes_or_goes(flow);
    else if (!flow->is_local)
        moves(flow);
    else if (kind == 2)
        copies(flow);
    else
        paints(flow);
}

static void step(struct flow *flow)
{
    if (flow->has_guest && rng_chance(&flow->rng, 1, 2)) {
        step_of_the_gpu(flow);
        return;
    }
    switch (rng_below(&flow->rng, flow->is_wrong ? 9 : 6)) {
    case 0:
    case 1:
        moves(flow);
        break;
    case 2:
        if (flow->is_local)
            renders(flow);
        break;
    case 3:
        cpu_writes(flow);
        break;
    case 4:
        cpu_reads(flow);
        break;
    case 5:
        a_neighbour_is_filled(flow);
        break;
    case 6:
        if (flow->is_local)
            is_spoilt(flow);
        break;
    case 7:
        is_filled_or_discarded(flow);
        break;
    default:
        assert_int_equal(miniport_reset_from_timeout(flow->stage.top, NULL), STATUS_SUCCESS);
        break;
    }
}

static unsigned play(uint64_t seed, bool is_wrong, bool has_guest)
{
    struct flow *flow = malloc(sizeof *flow);
    unsigned reports;

    assert_non_null(flow);
    open_flow(flow, seed, is_wrong);
    flow->has_guest = has_guest;
    for (unsigned i = 0; i < (has_guest ? 2 * STEPS : STEPS); i++)
        step(flow);
    if (has_guest)
        stage_submit_and_complete(&flow->stage);
    oracle_final_check(flow->stage.oracle);
    reports = flow->stage.report_count;
    if (reports && !is_wrong)
        fail_msg("seed %llu: %s", (unsigned long long)seed, flow->stage.text);
    stage_close(&flow->stage);
    free(flow);
    return reports;
}

static void random_flows_that_are_right_are_silent(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play(seed, false, false);
}

static void random_flows_that_go_wrong_are_told(void **state)
{
    unsigned reported = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        reported += play(seed, true, false) != 0;
    assert_true(reported > SEEDS / 2);
}

/* Work that paints and copies at any byte, and an allocation beside it that comes and goes. */
static void random_flows_with_a_guest_are_silent_or_told(void **state)
{
    unsigned reported = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed, false, true);
        reported += play(seed, true, true) != 0;
    }
    assert_true(reported > SEEDS / 2);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(random_flows_that_are_right_are_silent),
        cmocka_unit_test(random_flows_that_go_wrong_are_told),
        cmocka_unit_test(random_flows_with_a_guest_are_silent_or_told),
    };

    return told_run(tests, ARRAY_COUNT(tests), __FILE__);
}
