/* GPU: copies both ways at once, and nothing that software sees but time is other than in turn. */
#include "sgpu/test_rig.h"

#include "base/failing_services.h"

#include <string.h>

#define SYSTEM(offset) (SGPU_PA_SYSTEM | (offset))
#define OUT_PLACE      (16 * MiB) /* of system memory, behind what the rig has taken */
#define PIECE          (2 * MiB)

static void init(struct rig *rig, uint32_t straps, uint64_t jitter_ns)
{
    struct machine_config board = rig_board();
    struct sgpu_config config = {.straps = straps};

    board.jitter_ns = jitter_ns;
    rig_init_with(rig, &board, &config);
}

static void assert_filled(struct page_store *store, uint64_t address, uint64_t bytes,
                          uint32_t pattern)
{
    assert_true(page_store_is_fill(store, address, bytes, pattern, NULL));
}

/* How long one copy out and one in take, of which the second may depend on the first. */
static uint64_t play_two(uint32_t straps, uint64_t in_place, uint64_t in_source)
{
    struct sgpu_statistics statistics;
    struct rig rig;
    uint64_t start;

    init(&rig, straps, 0);
    page_store_fill(rig.local, 0, PIECE, 1);
    page_store_fill(rig.ram, OUT_PLACE, PIECE, 9);
    page_store_fill(rig.ram, OUT_PLACE + PIECE, PIECE, 2);
    start = machine_now(rig.machine);
    rig_copy(&rig, 0, SYSTEM(OUT_PLACE), 0, PIECE);
    rig_copy(&rig, 0, in_place, SYSTEM(in_source), PIECE);
    rig_execute(&rig, SGPU_NODE_COPY);
    assert_filled(rig.ram, OUT_PLACE, PIECE, 1);
    assert_filled(rig.local, in_place, PIECE, in_source == OUT_PLACE ? 1 : 2);
    sgpu_get_statistics(rig.gpu, &statistics);
    assert_int_equal(statistics.copied_bytes, 2 * PIECE); /* one that waits counts once, too */
    start = machine_now(rig.machine) - start;
    rig_fini(&rig);
    return start;
}

static void copies_in_and_out_take_the_time_of_one(void **state)
{
    uint64_t in_turn = play_two(0, 8 * MiB, OUT_PLACE + PIECE);
    uint64_t at_once = play_two(SGPU_STRAP_BOTH_WAYS, 8 * MiB, OUT_PLACE + PIECE);

    assert_in_range(at_once * 100, in_turn * 49, in_turn * 53);
}

static void nothing_comes_into_a_place_before_what_was_there_has_left(void **state)
{
    uint64_t in_turn = play_two(0, PIECE / 2, OUT_PLACE + PIECE);
    uint64_t at_once = play_two(SGPU_STRAP_BOTH_WAYS, PIECE / 2, OUT_PLACE + PIECE);

    assert_in_range(at_once * 100, in_turn * 98, in_turn * 102);
    /* Nor does what has not left yet come back. */
    assert_in_range(play_two(SGPU_STRAP_BOTH_WAYS, 8 * MiB, OUT_PLACE) * 100, in_turn * 98,
                    in_turn * 102);
}

static void what_writes_entries_waits_for_a_copy_of_their_page(void **state)
{
    const uint64_t entry = 0x1234;
    struct rig rig;

    init(&rig, SGPU_STRAP_BOTH_WAYS, 0);
    page_store_fill(rig.local, 0, PIECE, 1);
    rig_copy(&rig, 0, SYSTEM(OUT_PLACE), 0, PIECE);
    rig_pte(&rig, SGPU_OP_PTE_WRITE, 0, 0, 7, 1, &entry);
    rig_execute(&rig, SGPU_NODE_COPY);
    assert_filled(rig.ram, OUT_PLACE, PIECE, 1);
    assert_int_equal(rig_entries(&rig, 0)[7], entry);
    rig_fini(&rig);
}

/* A fence in the middle, and the end of each submission, come behind all in front of them. */
static void fences_and_ends_come_behind_what_is_under_way(void **state)
{
    uint32_t fences[3] = {0};
    uint64_t value = 0;
    struct rig rig;

    init(&rig, SGPU_STRAP_BOTH_WAYS, 0);
    page_store_fill(rig.local, 0, 4 * PIECE, 1);
    page_store_fill(rig.ram, OUT_PLACE + 4 * PIECE, PIECE, 2);
    rig_copy(&rig, 0, SYSTEM(OUT_PLACE), 0, 4 * PIECE);
    rig_fence(&rig, 0, SYSTEM(OUT_PLACE + 8 * PIECE), 77);
    fences[0] = rig_submit(&rig, SGPU_NODE_COPY);
    rig_copy(&rig, 0, 16 * MiB, SYSTEM(OUT_PLACE + 4 * PIECE), PIECE); /* ends long before */
    fences[1] = rig_submit(&rig, SGPU_NODE_COPY);
    fences[2] = rig_submit(&rig, SGPU_NODE_COPY); /* nothing */
    while (rig_completed(&rig, SGPU_NODE_COPY) == 0) {
        page_store_read(rig.ram, OUT_PLACE + 8 * PIECE, &value, 8);
        assert_int_not_equal(value, 77);
        assert_true(machine_run_next(rig.machine));
    }
    page_store_read(rig.ram, OUT_PLACE + 8 * PIECE, &value, 8);
    assert_int_equal(value, 77);
    assert_filled(rig.ram, OUT_PLACE, 4 * PIECE, 1);
    assert_filled(rig.local, 16 * MiB, PIECE, 2);
    /* The short copy had ended, so the other two end with the first. */
    assert_int_equal(rig_completed(&rig, SGPU_NODE_COPY), fences[2]);
    assert_true(sgpu_is_idle(rig.gpu));
    rig_fini(&rig);
}

struct written {
    struct sgpu_command commands[4];
    uint64_t addresses[4];
    unsigned count;
};

static void note_written(void *context, const struct sgpu_command *command,
                         struct page_store *store, uint64_t address, uint64_t bytes)
{
    struct written *written = context;

    assert_in_range(written->count, 0, 3);
    written->commands[written->count] = *command;
    written->addresses[written->count++] = address;
}

/* Whatever the node carries out when a flight lands, what is written is of the flight's command. */
static void what_lands_is_told_as_of_its_own_command(void **state)
{
    static const struct sgpu_observer observer = {.wrote = note_written};
    struct written written = {0};
    uint32_t fences[2];
    struct rig rig;

    init(&rig, SGPU_STRAP_BOTH_WAYS, 0);
    sgpu_set_observer(rig.gpu, &observer, &written);
    rig_copy(&rig, 0, SYSTEM(OUT_PLACE), 0, 4 * PIECE);
    fences[0] = rig_submit(&rig, SGPU_NODE_COPY);
    rig_fence(&rig, 0, SYSTEM(OUT_PLACE + 8 * PIECE), 77);
    rig_copy(&rig, 0, 16 * MiB, SYSTEM(OUT_PLACE + 4 * PIECE), PIECE); /* ends long before */
    fences[1] = rig_submit(&rig, SGPU_NODE_COPY);
    rig_expect_done(&rig, SGPU_NODE_COPY, fences[1]);
    assert_int_equal(written.count, 2);
    assert_int_equal(written.addresses[0], 16 * MiB);
    assert_int_equal(written.commands[0].node, SGPU_NODE_COPY);
    assert_int_equal(written.commands[0].fence, fences[1]);
    assert_int_equal(written.commands[0].offset, sizeof(struct sgpu_packet_fence));
    assert_int_equal(written.commands[0].bytes, sizeof(struct sgpu_packet_copy));
    assert_int_equal(written.addresses[1], OUT_PLACE);
    assert_int_equal(written.commands[1].fence, fences[0]);
    assert_int_equal(written.commands[1].offset, 0);
    rig_fini(&rig);
}

/* What a flight touches is kept as some ranges; of more pieces it is known that there are many. */
static void many_pieces_of_memory_are_waited_for(void **state)
{
    enum { MOST = 65 }; /* one more than a flight has ranges */
    struct machine_config board = rig_board();
    const struct sgpu_config config = {.straps = SGPU_STRAP_BOTH_WAYS};

    for (unsigned step = 2; step <= 1024; step *= 512) { /* in pages: fine and coarse ranges */
        uint64_t pages[MOST];
        struct rig rig;

        board.ram_bytes = 512 * MiB;
        rig_init_with(&rig, &board, &config);
        for (unsigned i = 0; i < MOST; i++)
            pages[i] = OUT_PLACE / PAGE_BYTES + i * step;
        for (unsigned i = 0; i < MOST; i++)
            page_store_fill(rig.local, i * PAGE_BYTES, PAGE_BYTES, i + 1);
        rig_copy_pages(&rig, SGPU_COPY_TO_PAGES, 0, pages, MOST);
        rig_copy(&rig, 0, 8 * MiB, SYSTEM(pages[MOST - 1] * PAGE_BYTES), PAGE_BYTES);
        rig_fill(&rig, (MOST - 2) * PAGE_BYTES, PAGE_BYTES, 2000);
        rig_execute(&rig, SGPU_NODE_COPY);
        assert_filled(rig.ram, pages[0] * PAGE_BYTES, PAGE_BYTES, 1);
        assert_filled(rig.ram, pages[MOST - 2] * PAGE_BYTES, PAGE_BYTES, MOST - 1);
        assert_filled(rig.local, 8 * MiB, PAGE_BYTES, MOST);
        assert_filled(rig.local, (MOST - 2) * PAGE_BYTES, PAGE_BYTES, 2000);
        rig_fini(&rig);
    }
}

/* Whether a copy of a page in starts while the pages of the list are copied out. */
static bool starts_beside(uint32_t flags, const uint64_t *pages, unsigned count, uint64_t in_source)
{
    struct machine_config board = rig_board();
    const struct sgpu_config config = {.straps = SGPU_STRAP_BOTH_WAYS};
    struct sgpu_statistics statistics;
    uint8_t content[PAGE_BYTES], expected[PAGE_BYTES];
    struct rig rig;

    board.ram_bytes = 512 * MiB;
    rig_init_with(&rig, &board, &config);
    page_store_write_tag(rig.local, 0, 4 * MiB, 100);
    page_store_fill(rig.ram, in_source, PAGE_BYTES, 9);
    rig_copy_pages(&rig, SGPU_COPY_TO_PAGES | flags, 0, pages, count);
    rig_copy(&rig, 0, 8 * MiB, SYSTEM(in_source), PAGE_BYTES);
    rig_submit(&rig, SGPU_NODE_COPY);
    machine_run_until(rig.machine, machine_now(rig.machine) + 2000);
    sgpu_get_statistics(rig.gpu, &statistics);
    rig_expect_done(&rig, SGPU_NODE_COPY, rig.fence);
    page_store_read(rig.local, 8 * MiB, content, PAGE_BYTES);
    page_store_read(rig.ram, in_source, expected, PAGE_BYTES);
    assert_memory_equal(content, expected, PAGE_BYTES); /* what was copied out, or 9 */
    rig_fini(&rig);
    return statistics.packets == 2;
}

/* Of more pieces than it remembers one by one it knows the 2 MiB that they lie in. */
static void what_is_remembered_coarsely_is_waited_for_and_nothing_else(void **state)
{
    enum { NEAR = 66, FAR = 3 };
    const uint64_t near = OUT_PLACE / PAGE_BYTES, far = 48 * MiB / PAGE_BYTES;
    uint64_t pages[NEAR + FAR];

    for (unsigned i = 0; i < NEAR; i++)
        pages[i] = near + 2 * i;
    pages[NEAR] = far;
    pages[NEAR + 1] = far + 511;
    pages[NEAR + 2] = far + 513;
    for (unsigned i = 0; i < NEAR + FAR; i++)
        assert_false(starts_beside(0, pages, NEAR + FAR, pages[i] * PAGE_BYTES));
    assert_false(starts_beside(0, pages, NEAR + FAR, (far + 100) * PAGE_BYTES));
    assert_false(starts_beside(0, pages, NEAR + FAR, (far + 1023) * PAGE_BYTES));
    assert_true(starts_beside(0, pages, NEAR + FAR, (far - 1) * PAGE_BYTES));
    assert_true(starts_beside(0, pages, NEAR + FAR, (far + 1024) * PAGE_BYTES));
    assert_true(starts_beside(0, pages, NEAR + FAR, (near + 512) * PAGE_BYTES));
    assert_true(starts_beside(0, pages, 64, (near + 1) * PAGE_BYTES)); /* one by one */
    assert_false(starts_beside(0, pages, 65, (near + 1) * PAGE_BYTES));
}

/* Pieces that follow each other, upwards or downwards, are one range, however many they are. */
static void pieces_that_touch_are_remembered_as_one(void **state)
{
    enum { COUNT = 200 };
    const uint64_t first = OUT_PLACE / PAGE_BYTES;

    for (unsigned downwards = 0; downwards < 2; downwards++) {
        uint64_t pages[COUNT];

        for (unsigned i = 0; i < COUNT; i++)
            pages[i] = first + (downwards ? COUNT - 1 - i : i);
        assert_false(starts_beside(SGPU_COPY_TILED, pages, COUNT, first * PAGE_BYTES));
        assert_false(
            starts_beside(SGPU_COPY_TILED, pages, COUNT, (first + COUNT - 1) * PAGE_BYTES));
        assert_true(starts_beside(SGPU_COPY_TILED, pages, COUNT, (first - 1) * PAGE_BYTES));
        assert_true(starts_beside(SGPU_COPY_TILED, pages, COUNT, (first + COUNT) * PAGE_BYTES));
    }
}

static void a_fault_waits_for_what_is_in_front_of_it(void **state)
{
    struct rig rig;
    uint32_t fence;

    init(&rig, SGPU_STRAP_BOTH_WAYS, 0);
    page_store_fill(rig.local, 0, PIECE, 1);
    rig_copy(&rig, 0, SYSTEM(OUT_PLACE), 0, PIECE);
    fence = rig_submit(&rig, SGPU_NODE_COPY);
    rig_copy(&rig, 0, SYSTEM(1 * GiB), 0, PIECE); /* no such memory */
    rig_expect_fault_at(&rig, SGPU_NODE_COPY, rig_submit(&rig, SGPU_NODE_COPY), SGPU_FAULT_BUS,
                        SYSTEM(1 * GiB));
    assert_int_equal(fence + 1, rig.fence);
    assert_filled(rig.ram, OUT_PLACE, PIECE, 1);
    rig_fini(&rig);
}

static void a_reset_drops_what_is_under_way_and_a_preemption_does_not(void **state)
{
    for (unsigned preempts = 0; preempts < 2; preempts++) {
        struct rig rig;
        uint32_t started;

        init(&rig, SGPU_STRAP_BOTH_WAYS, 0);
        page_store_fill(rig.local, 0, PIECE, 1);
        page_store_fill(rig.ram, OUT_PLACE, 3 * PIECE, 9);
        rig_copy(&rig, 0, SYSTEM(OUT_PLACE), 0, PIECE);
        started = rig_submit(&rig, SGPU_NODE_COPY);
        for (unsigned i = 0; i < 2; i++) /* the copy starts, and its submission is at its end */
            assert_true(machine_run_next(rig.machine));
        rig_copy(&rig, 0, SYSTEM(OUT_PLACE + PIECE), 0, PIECE);
        rig_submit(&rig, SGPU_NODE_COPY); /* the next one runs */
        rig_copy(&rig, 0, SYSTEM(OUT_PLACE + 2 * PIECE), 0, PIECE);
        rig_submit(&rig, SGPU_NODE_COPY);
        rig_write(&rig, SGPU_REG_NODE(SGPU_NODE_COPY) + SGPU_NODE_CONTROL, 4,
                  preempts ? SGPU_CONTROL_PREEMPT : SGPU_CONTROL_RESET);
        rig_run(&rig);
        assert_int_equal(rig_completed(&rig, SGPU_NODE_COPY), preempts ? started + 1 : 0);
        assert_filled(rig.ram, OUT_PLACE, 2 * PIECE, preempts ? 1 : 9);
        assert_filled(rig.ram, OUT_PLACE + 2 * PIECE, PIECE, 9);
        assert_int_equal(!!(rig_read(&rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_PREEMPTED(1)), preempts);
        assert_true(sgpu_is_idle(rig.gpu));
        rig_execute(&rig, SGPU_NODE_COPY); /* and the node goes on */
        rig_fini(&rig);
    }
}

/* A packet waits for a copy when its node is reset: the end of a later copy starts nothing. */
static void nothing_waits_any_more_behind_a_reset(void **state)
{
    struct sgpu_statistics before, after;
    struct rig rig;

    init(&rig, SGPU_STRAP_BOTH_WAYS, 0);
    page_store_fill(rig.local, 0, PIECE, 1);
    page_store_fill(rig.ram, OUT_PLACE, 2 * PIECE, 9);
    rig_copy(&rig, 0, SYSTEM(OUT_PLACE), 0, PIECE);
    rig_copy(&rig, 0, 8 * MiB, SYSTEM(OUT_PLACE), PIECE);
    rig_submit(&rig, SGPU_NODE_COPY);
    for (unsigned i = 0; i < 2; i++) /* the first one starts, and the second one waits for it */
        assert_true(machine_run_next(rig.machine));
    rig_write(&rig, SGPU_REG_NODE(SGPU_NODE_COPY) + SGPU_NODE_CONTROL, 4, SGPU_CONTROL_RESET);
    rig_run(&rig);
    assert_true(sgpu_is_idle(rig.gpu));
    sgpu_get_statistics(rig.gpu, &before);
    rig_copy(&rig, 0, SYSTEM(OUT_PLACE + PIECE), 0, PIECE);
    rig_fill(&rig, 4 * MiB, PAGE_BYTES, 7);
    rig_execute(&rig, SGPU_NODE_COPY);
    rig_run(&rig);
    sgpu_get_statistics(rig.gpu, &after);
    assert_int_equal(after.packets - before.packets, 2);
    assert_filled(rig.ram, OUT_PLACE, PIECE, 9);
    assert_filled(rig.ram, OUT_PLACE + PIECE, PIECE, 1);
    assert_true(sgpu_is_idle(rig.gpu));
    rig_fini(&rig);
}

/* ---- The plainest model: the same packets in turn -------------------------------------------- */

/* Where the packets of a random run read and write, in both memories; nothing else is there. */
#define FIELD_BYTES (4 * MiB)

static uint64_t random_place(struct rng *rng, uint64_t bytes)
{
    uint64_t offset = align_down(rng_below(rng, FIELD_BYTES - bytes), 512);

    switch (rng_below(rng, 5)) {
    case 0:
        return SGPU_PA_APERTURE + align_down(offset, PAGE_BYTES);
    case 1:
    case 2:
        return SYSTEM(OUT_PLACE + offset);
    default:
        return offset;
    }
}

static void build(struct rig *rig, struct rng *rng)
{
    static const uint64_t sizes[] = {512, PAGE_BYTES, 40 * PAGE_BYTES, MiB};
    uint64_t bytes = sizes[rng_below(rng, 4)], list[64], from, to;
    uint32_t count = (uint32_t)rng_below(rng, 64);

    for (uint32_t i = 0; i < 64; i++)
        list[i] = (OUT_PLACE + rng_below(rng, FIELD_BYTES)) / PAGE_BYTES;
    switch (rng_below(rng, 10)) {
    default:
        from = random_place(rng, bytes);
        to = random_place(rng, bytes);
        if (from >> 32 != to >> 32 || from + bytes <= to || to + bytes <= from)
            rig_copy(rig, 0, to, from, bytes);
        break;
    case 4:
    case 5:
        rig_copy_pages(rig, rng_chance(rng, 1, 2) ? SGPU_COPY_TO_PAGES : 0,
                       align_down(rng_below(rng, FIELD_BYTES - 64 * PAGE_BYTES), PAGE_BYTES), list,
                       count);
        break;
    case 6:
        rig_fill(rig, random_place(rng, bytes), bytes, (uint32_t)rng_below(rng, 5));
        break;
    case 7:
        rig_gart(rig, SGPU_OP_GART_WRITE, 0, (uint32_t)rng_below(rng, 900), count, list);
        break;
    case 8:
        rig_pte(rig, SGPU_OP_PTE_WRITE, 0, align_down(rng_below(rng, FIELD_BYTES), PAGE_BYTES), 3,
                count, list);
        break;
    case 9:
        rig_fence(rig, 0, random_place(rng, 512), rng_next(rng));
        break;
    }
}

/* Plays the seed's packets; gives the end and how long it took. */
static void play(uint64_t seed, uint32_t straps, struct rig *rig, uint64_t *out_ns)
{
    struct rng rng;

    init(rig, straps, 300);
    rng_init(&rng, seed);
    for (uint64_t i = 0; i < FIELD_BYTES / MiB; i++) {
        page_store_write_tag(rig->local, i * MiB, MiB, 1000 * (i + 1));
        page_store_write_tag(rig->ram, OUT_PLACE + i * MiB, MiB, 100000 * (i + 1));
    }
    for (uint32_t slot = 0; slot < 1024; slot += 32) {
        uint64_t pages[32];

        for (uint32_t i = 0; i < 32; i++)
            pages[i] = OUT_PLACE / PAGE_BYTES + (slot + i) * 7 % 1024;
        rig_gart(rig, SGPU_OP_GART_WRITE, 0, slot, 32, pages);
    }
    rig_execute(rig, SGPU_NODE_COPY);
    *out_ns = machine_now(rig->machine);
    for (unsigned submission = 0; submission < 12; submission++) {
        for (uint64_t i = rng_below(&rng, 6); i > 0; i--)
            build(rig, &rng);
        rig_submit(rig, SGPU_NODE_COPY);
    }
    rig_run(rig);
    *out_ns = machine_now(rig->machine) - *out_ns;
}

static void random_packets_end_as_if_they_had_run_in_turn(void **state)
{
    uint64_t in_turn_ns = 0, at_once_ns = 0;

    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct rig in_turn, at_once;
        uint64_t ns;

        play(seed, 0, &in_turn, &ns);
        in_turn_ns += ns;
        play(seed, SGPU_STRAP_BOTH_WAYS, &at_once, &ns);
        at_once_ns += ns;
        assert_int_equal(rig_completed(&in_turn, SGPU_NODE_COPY), in_turn.fence);
        assert_int_equal(rig_completed(&at_once, SGPU_NODE_COPY), in_turn.fence);
        for (uint64_t page = 0; page < FIELD_BYTES / PAGE_BYTES; page++) {
            uint8_t a[2][PAGE_BYTES], b[2][PAGE_BYTES];

            page_store_read(in_turn.local, page * PAGE_BYTES, a[0], PAGE_BYTES);
            page_store_read(at_once.local, page * PAGE_BYTES, b[0], PAGE_BYTES);
            page_store_read(in_turn.ram, OUT_PLACE + page * PAGE_BYTES, a[1], PAGE_BYTES);
            page_store_read(at_once.ram, OUT_PLACE + page * PAGE_BYTES, b[1], PAGE_BYTES);
            if (memcmp(a, b, sizeof a) != 0)
                fail_msg("seed %u, page %u differs", (unsigned)seed, (unsigned)page);
        }
        rig_fini(&in_turn);
        rig_fini(&at_once);
    }
    assert_true(at_once_ns < in_turn_ns * 95 / 100);
}

/* ---- Without memory -------------------------------------------------------------------------- */

static void copies_work_without_memory_to_remember_them(void **state)
{
    struct machine_config board = rig_board();
    struct sgpu_config config = {.straps = SGPU_STRAP_BOTH_WAYS};
    struct failing_services memory;
    unsigned done_without = 0;

    for (uint64_t n = 1;; n++) {
        struct rig rig = {0};
        uint64_t pages[600], pfn; /* the packet needs a second, larger buffer */
        uint32_t fence;

        failing_services_init(&memory);
        rig.machine = machine_create(&memory.services, &board);
        failing_services_fail_at(&memory, n);
        rig.gpu = sgpu_create(rig.machine, &config);
        if (!rig.gpu) {
            machine_destroy(rig.machine);
            continue;
        }
        rig.ram = machine_ram(rig.machine);
        rig.local = machine_local(rig.machine);
        rig.bar0 = machine_map_physical(rig.machine, machine_bar0_pa(rig.machine), SGPU_BAR0_BYTES);
        if (machine_alloc_contiguous(rig.machine, RIG_COMMAND_PAGES, 1, &pfn) && rig.bar0) {
            rig.command_base = rig.command_pa = pfn * PAGE_BYTES;
            page_store_fill(rig.local, 0, sizeof pages / 8 * PAGE_BYTES, 5);
            for (unsigned i = 0; i < ARRAY_COUNT(pages); i++)
                pages[i] = OUT_PLACE / PAGE_BYTES + 2 * i;
            rig_copy_pages(&rig, SGPU_COPY_TO_PAGES, 0, pages, ARRAY_COUNT(pages));
            fence = rig_submit(&rig, SGPU_NODE_COPY);
            rig_run(&rig);
            /* It faults where there is no memory for the packet itself. */
            if (rig_completed(&rig, SGPU_NODE_COPY) == fence) {
                done_without += memory.has_failed;
                for (unsigned i = 0; i < ARRAY_COUNT(pages); i++)
                    assert_filled(rig.ram, pages[i] * PAGE_BYTES, PAGE_BYTES, 5);
            }
        }
        sgpu_destroy(rig.gpu);
        machine_destroy(rig.machine);
        assert_int_equal(memory.live_blocks, 0);
        if (!memory.has_failed)
            break;
    }
    assert_true(done_without > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_in_and_out_take_the_time_of_one),
        cmocka_unit_test(nothing_comes_into_a_place_before_what_was_there_has_left),
        cmocka_unit_test(what_writes_entries_waits_for_a_copy_of_their_page),
        cmocka_unit_test(fences_and_ends_come_behind_what_is_under_way),
        cmocka_unit_test(what_lands_is_told_as_of_its_own_command),
        cmocka_unit_test(many_pieces_of_memory_are_waited_for),
        cmocka_unit_test(what_is_remembered_coarsely_is_waited_for_and_nothing_else),
        cmocka_unit_test(pieces_that_touch_are_remembered_as_one),
        cmocka_unit_test(a_fault_waits_for_what_is_in_front_of_it),
        cmocka_unit_test(a_reset_drops_what_is_under_way_and_a_preemption_does_not),
        cmocka_unit_test(nothing_waits_any_more_behind_a_reset),
        cmocka_unit_test(random_packets_end_as_if_they_had_run_in_turn),
        cmocka_unit_test(copies_work_without_memory_to_remember_them),
    };

    return cmocka_run_group_tests_name("sgpu/flight", tests, NULL, NULL);
}
