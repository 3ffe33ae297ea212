/* GPU: registers, queues, every packet in physical addresses, every fault, interrupts, timing. */
#include "sgpu/test_rig.h"

#include <stdio.h>
#include <string.h>

static void registers_describe_the_board(void **state)
{
    struct machine_config board = rig_board();
    struct sgpu_config config = {.straps = SGPU_STRAP_UPDATE_CPU | SGPU_STRAP_COHERENT_APERTURE};
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    assert_int_equal(rig_read(&rig, SGPU_REG_ID), SGPU_ID);
    assert_int_equal(rig_read(&rig, SGPU_REG_STRAPS), config.straps);
    assert_int_equal(rig_read(&rig, SGPU_REG_NODE_COUNT), 2);
    assert_int_equal(machine_read_register(rig.machine, rig.bar0 + SGPU_REG_LOCAL_SIZE, 8),
                     64 * MiB);
    assert_int_equal(rig_read(&rig, SGPU_REG_LOCAL_SIZE), 64 * MiB);
    assert_int_equal(rig_read(&rig, SGPU_REG_LOCAL_SIZE + 4), 0);
    assert_int_equal(machine_read_register(rig.machine, rig.bar0 + SGPU_REG_VISIBLE_SIZE, 8),
                     16 * MiB);
    assert_int_equal(machine_read_register(rig.machine, rig.bar0 + SGPU_REG_APERTURE_SIZE, 8),
                     16 * MiB);
    assert_int_equal(machine_read_register(rig.machine, rig.bar0 + 1, 2), UINT64_MAX);
    machine_write_register(rig.machine, rig.bar0 + SGPU_REG_IRQ_ENABLE + 1, 2, 0xffff);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_ENABLE), 0);
    rig_fini(&rig);
}

static void aperture_slots_are_pointed_by_registers_too(void **state)
{
    struct rig rig;

    rig_init(&rig);
    rig_write(&rig, SGPU_REG_SLOT, 4, 3);
    rig_write(&rig, SGPU_REG_SLOT_PAGE, 8, UINT64_C(0x100000077));
    rig_write(&rig, SGPU_REG_SLOT_PAGE, 8, 0x78);
    assert_int_equal(sgpu_aperture_page(rig.gpu, 3), UINT64_C(0x100000077));
    assert_int_equal(sgpu_aperture_page(rig.gpu, 4), 0x78);
    assert_int_equal(sgpu_aperture_page(rig.gpu, 5), SGPU_NO_PAGE);
    assert_false(sgpu_aperture_is_coherent(rig.gpu, 3));
    rig_write(&rig, SGPU_REG_SLOT, 4, 7 | SGPU_SLOT_COHERENT);
    rig_write(&rig, SGPU_REG_SLOT_PAGE, 8, 0x81);
    assert_int_equal(sgpu_aperture_page(rig.gpu, 7), 0x81);
    assert_true(sgpu_aperture_is_coherent(rig.gpu, 7));
    rig_write(&rig, SGPU_REG_SLOT, 4, 16 * MiB / PAGE_BYTES - 1);
    rig_write(&rig, SGPU_REG_SLOT_PAGE, 8, 0x79);
    rig_write(&rig, SGPU_REG_SLOT_PAGE, 8, 0x7a); /* behind the last one: nothing */
    assert_int_equal(sgpu_aperture_page(rig.gpu, 16 * MiB / PAGE_BYTES - 1), 0x79);
    sgpu_power_off(rig.gpu, SGPU_SLEEP_D3);
    assert_int_equal(sgpu_aperture_page(rig.gpu, 3), SGPU_NO_PAGE);
    assert_int_equal(sgpu_aperture_page(rig.gpu, 16 * MiB / PAGE_BYTES - 1), SGPU_NO_PAGE);
    rig_fini(&rig);
}

static void unlawful_node_counts_give_null(void **state)
{
    struct machine_config board = rig_board();
    struct machine *machine = machine_create(base_services_libc(), &board);
    struct sgpu_config config = {.node_count = 1};

    assert_null(sgpu_create(machine, &config));
    config.node_count = SGPU_MAX_NODES + 1;
    assert_null(sgpu_create(machine, &config));
    machine_destroy(machine);
}

/* ---- Packets -------------------------------------------------------------------------------- */

static struct sgpu_statistics statistics_of(const struct rig *rig)
{
    struct sgpu_statistics statistics;

    sgpu_get_statistics(rig->gpu, &statistics);
    return statistics;
}

static void copy_moves_between_all_memories(void **state)
{
    static const uint64_t slots[] = {900, 700, 800};
    struct rig rig;

    rig_init(&rig);
    page_store_write_tag(rig.ram, 0x100000, 16 * PAGE_BYTES, 50);
    rig_gart(&rig, SGPU_OP_GART_WRITE, 0, 4, 3, slots);
    rig_copy(&rig, 0, 0x200000, SGPU_PA_SYSTEM | 0x100000, 16 * PAGE_BYTES); /* to local */
    rig_copy(&rig, 0, 0x400000, 0x201000, 15 * PAGE_BYTES);                  /* local */
    rig_copy(&rig, 0, SGPU_PA_APERTURE + 4 * PAGE_BYTES, 0x400000, 3 * PAGE_BYTES);
    rig_copy(&rig, 0, SGPU_PA_SYSTEM | 0x300010, SGPU_PA_APERTURE + 5 * PAGE_BYTES + 8, 100);
    rig_execute(&rig, SGPU_NODE_COPY);
    assert_true(page_store_is_tag(rig.local, 0x400000, 15 * PAGE_BYTES, 51, NULL));
    assert_int_equal(page_store_value(rig.ram, 900), 51);
    assert_int_equal(page_store_value(rig.ram, 700), 52);
    assert_int_equal(page_store_value(rig.ram, 800), 53);
    assert_true(
        page_store_compare_bytes(rig.ram, 0x300010, rig.ram, 700 * PAGE_BYTES + 8, 100, NULL));
    assert_int_equal(statistics_of(&rig).copied_bytes, (16 + 15 + 3) * PAGE_BYTES + 100);
    rig_fini(&rig);
}

static void fill_writes_the_pattern_and_nothing_else(void **state)
{
    struct rig rig;

    rig_init(&rig);
    page_store_write_tag(rig.local, 0, 8 * PAGE_BYTES, 1);
    rig_fill(&rig, 0x0ffc, 0x2008, 0xabcd1234);
    rig_fill(&rig, 0x5000, 0, 0xffffffff);
    rig_execute(&rig, SGPU_NODE_RENDER);
    assert_true(page_store_is_tag(rig.local, 0, 0x0ffc, 1, NULL));
    assert_true(page_store_is_fill(rig.local, 0x0ffc, 0x2008, 0xabcd1234, NULL));
    assert_int_equal(statistics_of(&rig).filled_bytes, 0x2008);
    assert_true(page_store_is_tag(rig.local, 0x3004, 0x2ffc, 4, NULL));
    rig_fini(&rig);
}

static void copy_pages_gathers_and_scatters(void **state)
{
    static const uint64_t pages[] = {500, 501, 502, 90, 7000, 6999};
    struct rig rig;

    rig_init(&rig);
    page_store_write_tag(rig.local, 0x10000, 6 * PAGE_BYTES, 20);
    rig_copy_pages(&rig, SGPU_COPY_TO_PAGES, 0x10000, pages, 6);
    rig_copy_pages(&rig, 0, 0x80000, pages + 1, 5);
    rig_execute(&rig, SGPU_NODE_COPY);
    for (uint64_t i = 0; i < 6; i++)
        assert_int_equal(page_store_value(rig.ram, pages[i]), 20 + i);
    assert_true(page_store_is_tag(rig.local, 0x80000, 5 * PAGE_BYTES, 21, NULL));
    assert_int_equal(statistics_of(&rig).copied_bytes, (6 + 5) * PAGE_BYTES);
    rig_fini(&rig);
}

/* Behind the list stand the words of a longer packet that was there before. */
static void copy_pages_reads_no_page_behind_its_list(void **state)
{
    static const uint64_t pages[] = {500, 90, 91};
    struct rig rig;

    rig_init(&rig);
    page_store_write_tag(rig.local, 0x10000, 3 * PAGE_BYTES, 20);
    rig_copy_pages(&rig, SGPU_COPY_TO_PAGES, 0x10000, pages, 3);
    rig_execute(&rig, SGPU_NODE_COPY);
    page_store_write_tag(rig.local, 0x10000, 3 * PAGE_BYTES, 30);
    rig_copy_pages(&rig, SGPU_COPY_TO_PAGES, 0x10000, pages, 2);
    rig_execute(&rig, SGPU_NODE_COPY);
    assert_int_equal(page_store_value(rig.ram, 500), 30);
    assert_int_equal(page_store_value(rig.ram, 90), 31);
    assert_int_equal(page_store_value(rig.ram, 91), 22);
    rig_fini(&rig);
}

static void aperture_slots_point_where_they_were_pointed(void **state)
{
    static const uint64_t pages[] = {900, 901, 300};
    struct page_store *store;
    uint64_t address;
    uint64_t bytes;
    struct rig rig;

    rig_init(&rig);
    assert_int_equal(sgpu_aperture_page(rig.gpu, 0), SGPU_NO_PAGE);
    assert_false(sgpu_resolve(rig.gpu, SGPU_PA_APERTURE, 8, &store, &address, &bytes));
    rig_gart(&rig, SGPU_OP_GART_WRITE, SGPU_GART_COHERENT, 10, 3, pages);
    rig_gart(&rig, SGPU_OP_GART_FILL, 0, 12, 100, pages);
    rig_execute(&rig, SGPU_NODE_COPY);
    assert_int_equal(sgpu_aperture_page(rig.gpu, 11), 901);
    assert_true(sgpu_aperture_is_coherent(rig.gpu, 11));
    assert_int_equal(sgpu_aperture_page(rig.gpu, 12), 900);
    assert_int_equal(sgpu_aperture_page(rig.gpu, 111), 900);
    assert_int_equal(sgpu_aperture_page(rig.gpu, 112), SGPU_NO_PAGE);
    assert_false(sgpu_aperture_is_coherent(rig.gpu, 12));
    /* Slots 10 and 11 are one run. */
    assert_true(sgpu_resolve(rig.gpu, SGPU_PA_APERTURE + 10 * PAGE_BYTES + 4, 1 * MiB, &store,
                             &address, &bytes));
    assert_ptr_equal(store, rig.ram);
    assert_int_equal(address, 900 * PAGE_BYTES + 4);
    assert_int_equal(bytes, 2 * PAGE_BYTES - 4);
    rig_fini(&rig);
}

static void a_fence_packet_writes_after_what_came_before(void **state)
{
    uint64_t value = 0;
    struct rig rig;

    rig_init(&rig);
    rig_fill(&rig, 0, PAGE_BYTES, 1);
    rig_fence(&rig, SGPU_FENCE_INTERRUPT, SGPU_PA_SYSTEM | 0x5008, UINT64_C(0x123456789abcdef0));
    rig_execute(&rig, SGPU_NODE_COPY);
    page_store_read(rig.ram, 0x5008, &value, 8);
    assert_int_equal(value, UINT64_C(0x123456789abcdef0));
    assert_true(rig_read(&rig, SGPU_REG_IRQ_STATUS) & SGPU_IRQ_FENCE(SGPU_NODE_COPY));
    rig_fini(&rig);
}

struct seen {
    char text[4096];
    struct page_store *ram;
};

static void see(struct seen *seen, const char *format, ...)
{
    size_t length = strlen(seen->text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(seen->text + length, sizeof seen->text - length, format, arguments);
    va_end(arguments);
}

static void saw_begin(void *context, uint64_t token, uint32_t node)
{
    see(context, "begin %d on %d; ", (int)token, (int)node);
}

static void saw_access(struct seen *seen, const char *what, uint32_t index, uint64_t offset,
                       struct page_store *store, uint64_t address, uint64_t bytes)
{
    see(seen, "%s %d+%x %s %x+%x; ", what, (int)index, (int)offset,
        store == seen->ram ? "ram"
        : store            ? "local"
                           : "zero",
        (int)address, (int)bytes);
}

static void saw_read(void *context, uint64_t token, uint32_t index, uint64_t offset,
                     struct page_store *store, uint64_t address, uint64_t bytes)
{
    saw_access(context, "read", index, offset, store, address, bytes);
}

static void saw_write(void *context, uint64_t token, uint32_t index, uint64_t offset,
                      struct page_store *store, uint64_t address, uint64_t bytes)
{
    saw_access(context, "write", index, offset, store, address, bytes);
}

static void saw_end(void *context, uint64_t token)
{
    see(context, "end %d; ", (int)token);
}

static void saw_fault(void *context, const struct sgpu_fault *fault)
{
    see(context, "fault %d at %x token %d; ", (int)fault->kind, (int)fault->address,
        (int)fault->token);
}

static void saw_done(void *context, uint32_t node, uint32_t fence)
{
    see(context, "done %d/%d; ", (int)node, (int)fence);
}

static const struct sgpu_observer seeing = {
    .render_begin = saw_begin,
    .render_read = saw_read,
    .render_write = saw_write,
    .render_end = saw_end,
    .fault = saw_fault,
    .submission_done = saw_done,
};

static void render_reads_then_writes_and_says_so(void **state)
{
    static const uint64_t slots[] = {40, 41, 30};
    const struct sgpu_render_ref refs[] = {
        {.address = 0x3800, .bytes = 0x2000, .key = 70, .flags = SGPU_REF_WRITE, .index = 5},
        {.address = SGPU_PA_APERTURE + 0x10, .bytes = 0x2800, .flags = SGPU_REF_READ, .index = 6},
        {.address = SGPU_PA_SYSTEM | 0x9000, .bytes = 0, .flags = SGPU_REF_READ, .index = 7},
        {.address = 0x8000, .bytes = 8, .key = 80, .flags = SGPU_REF_READ | SGPU_REF_WRITE},
    };
    struct seen seen = {0};
    struct rig rig;

    rig_init(&rig);
    seen.ram = rig.ram;
    sgpu_set_observer(rig.gpu, &seeing, &seen);
    rig_gart(&rig, SGPU_OP_GART_WRITE, 0, 0, 3, slots);
    rig_render(&rig, 33, 1000, refs, 4);
    rig_execute(&rig, SGPU_NODE_RENDER);
    assert_string_equal(seen.text, "begin 33 on 0; "
                                   "read 6+0 ram 28010+1ff0; read 6+1ff0 ram 1e000+810; "
                                   "read 0+0 local 8000+8; "
                                   "write 5+0 local 3800+2000; write 0+0 local 8000+8; "
                                   "end 33; done 0/1; ");
    assert_true(page_store_is_tag(rig.local, 0x3800, 0x2000, 70, NULL));
    assert_true(page_store_is_tag(rig.local, 0x8000, 8, 80, NULL));
    rig_fini(&rig);
}

static void a_blit_copies_the_reference_before_it_or_fills(void **state)
{
    static const uint64_t slots[] = {40, 30, 41};
    const struct sgpu_render_ref refs[] = {
        {.address = SGPU_PA_APERTURE + 0x800, .bytes = 0x2000, .flags = SGPU_REF_READ, .index = 0},
        {.address = 0x4800, .bytes = 0x2000, .flags = SGPU_REF_WRITE | SGPU_REF_COPY, .index = 1},
        {.address = 0x9000,
         .bytes = 0x1800,
         .key = 0xff102030,
         .flags = SGPU_REF_WRITE | SGPU_REF_FILL,
         .index = 2},
    };
    struct seen seen = {0};
    struct rig rig;

    rig_init(&rig);
    seen.ram = rig.ram;
    sgpu_set_observer(rig.gpu, &seeing, &seen);
    rig_gart(&rig, SGPU_OP_GART_WRITE, 0, 0, 3, slots);
    for (unsigned i = 0; i < 3; i++)
        page_store_write_tag(rig.ram, slots[i] * PAGE_BYTES, PAGE_BYTES, 500 + i);
    rig_render(&rig, 33, 1000, refs, 3);
    rig_execute(&rig, SGPU_NODE_RENDER);
    assert_string_equal(seen.text, "begin 33 on 0; "
                                   "read 0+0 ram 28800+800; read 0+800 ram 1e000+1000; "
                                   "read 0+1800 ram 29000+800; "
                                   "write 1+0 local 4800+800; write 1+800 local 5000+1000; "
                                   "write 1+1800 local 6000+800; "
                                   "write 2+0 local 9000+1800; end 33; done 0/1; ");
    for (unsigned i = 0; i < 3; i++) {
        uint64_t at = i ? 0x4000 + i * PAGE_BYTES : 0x4800;

        assert_true(
            page_store_is_tag(rig.local, at, i == 1 ? PAGE_BYTES : PAGE_BYTES / 2, 500 + i, NULL));
    }
    assert_true(page_store_is_fill(rig.local, 0x9000, 0x1800, 0xff102030, NULL));
    rig_fini(&rig);
}

static void a_blit_without_its_source_is_malformed(void **state)
{
    const uint32_t copy = SGPU_REF_WRITE | SGPU_REF_COPY, fill = SGPU_REF_WRITE | SGPU_REF_FILL;
    const struct {
        struct sgpu_render_ref refs[2];
        bool is_fine;
    } cases[] = {
        {{{.bytes = 8, .flags = SGPU_REF_READ}, {.address = 64, .bytes = 8, .flags = copy}}, true},
        {{{.bytes = 8, .flags = fill}, {.address = 64, .bytes = 8, .flags = fill}}, true},
        {{{.bytes = 8, .flags = copy}, {.address = 64, .bytes = 8, .flags = copy}}, false},
        {{{.bytes = 8, .flags = SGPU_REF_READ}, {.address = 64, .bytes = 4, .flags = copy}}, false},
        {{{.bytes = 8, .flags = SGPU_REF_READ}, {.bytes = 8, .flags = SGPU_REF_COPY}}, false},
        {{{.bytes = 8, .flags = SGPU_REF_READ}, {.bytes = 8, .flags = SGPU_REF_FILL}}, false},
        {{{.bytes = 8, .flags = SGPU_REF_READ}, {.bytes = 8, .flags = copy | fill}}, false},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct rig rig;

        rig_init(&rig);
        rig_render(&rig, 33, 1000, cases[i].refs, 2);
        if (cases[i].is_fine)
            rig_execute(&rig, SGPU_NODE_RENDER);
        else
            rig_expect_fault(&rig, SGPU_NODE_RENDER, SGPU_FAULT_PACKET, 0);
        rig_fini(&rig);
    }
}

static void a_reference_may_be_as_long_as_the_addresses(void **state)
{
    struct sgpu_render_ref ref = {.bytes = UINT64_C(1) << SGPU_VA_BITS, .flags = SGPU_REF_READ};
    struct rig rig;

    rig_init(&rig);
    rig_render(&rig, 33, 1000, &ref, 1);
    rig_expect_fault(&rig, SGPU_NODE_RENDER, SGPU_FAULT_BUS, 64 * MiB); /* behind local memory */
    ref.bytes++;
    rig_render(&rig, 33, 1000, &ref, 1);
    rig_expect_fault(&rig, SGPU_NODE_RENDER, SGPU_FAULT_PACKET, 0);
    rig_fini(&rig);
}

static void a_render_that_faults_reports_its_token(void **state)
{
    const struct sgpu_render_ref ref = {
        .address = 64 * MiB - PAGE_BYTES, .bytes = 2 * PAGE_BYTES, .flags = SGPU_REF_READ};
    struct seen seen = {0};
    struct rig rig;

    rig_init(&rig);
    seen.ram = rig.ram;
    sgpu_set_observer(rig.gpu, &seeing, &seen);
    rig_render(&rig, 34, 1000, &ref, 1);
    rig_expect_fault(&rig, SGPU_NODE_RENDER, SGPU_FAULT_BUS, 64 * MiB);
    assert_string_equal(seen.text, "begin 34 on 0; read 0+0 local 3fff000+1000; "
                                   "fault 3 at 4000000 token 34; ");
    rig_fini(&rig);
}

static void nops_and_empty_submissions_complete(void **state)
{
    uint64_t nop[16] = {SGPU_PACKET_HEADER(SGPU_OP_NOP, 30) | UINT64_C(0xffffffff00000000)};
    struct rig rig;

    rig_init(&rig);
    rig_bytes(&rig, nop, 120);
    rig_fill(&rig, 0, PAGE_BYTES, 3);
    rig_execute(&rig, SGPU_NODE_RENDER);
    assert_int_equal(page_store_value(rig.local, 0), 3);
    rig_execute(&rig, SGPU_NODE_RENDER);
    /* A fence-only submission looks at no byte of its (unlawful) buffer. */
    rig_expect_done(&rig, 1, rig_submit_at(&rig, 1, 3, 0, 77, SGPU_SUBMIT_FENCE_ONLY));
    rig_fini(&rig);
}

/* ---- Effects and time ----------------------------------------------------------------------- */

static void effects_come_at_the_end_and_not_before(void **state)
{
    const struct sgpu_render_ref ref = {
        .address = 0x1000, .bytes = 0x1000, .key = 9, .flags = SGPU_REF_WRITE};
    struct rig rig;

    rig_init(&rig);
    rig_render(&rig, 1, 10000, &ref, 1);
    rig_submit(&rig, SGPU_NODE_RENDER);
    machine_run_until(rig.machine, 10000);
    assert_int_equal(page_store_kind(rig.local, 1), PAGE_ZERO);
    assert_int_equal(rig_completed(&rig, 0), 0);
    assert_int_equal(rig_read(&rig, SGPU_REG_NODE(0) + SGPU_NODE_QUEUED), 1);
    rig_run(&rig);
    assert_int_equal(machine_now(rig.machine), 10000 + 2 * 200);
    assert_int_equal(page_store_value(rig.local, 1), 9);
    rig_fini(&rig);
}

static void links_set_the_time_of_copies(void **state)
{
    struct rig rig;
    uint64_t start;

    rig_init(&rig);
    rig_copy(&rig, 0, 0, SGPU_PA_SYSTEM, 15754 * 4096);
    rig_execute(&rig, SGPU_NODE_COPY);
    assert_int_equal(machine_now(rig.machine), 200 + 200 + 4096 * 1000 + 500);
    assert_int_equal(machine_link_to_device(rig.machine)->carried_bytes, 15754 * 4096);
    assert_int_equal(machine_link_from_device(rig.machine)->carried_bytes, 0);
    start = machine_now(rig.machine);
    rig_copy(&rig, 0, 0, 16 * MiB, 16 * MiB);
    rig_execute(&rig, SGPU_NODE_COPY);
    assert_int_equal(machine_now(rig.machine) - start, 200 + 200 + 16 * MiB * 10 / 4000 + 100);
    assert_int_equal(machine_link_local(rig.machine)->carried_bytes, 16 * MiB);
    rig_copy(&rig, 0, SGPU_PA_SYSTEM | 0x1000, 0, 4096);
    rig_fill(&rig, SGPU_PA_SYSTEM | 0x2000, 4096, 1);
    rig_copy(&rig, 0, SGPU_PA_SYSTEM | 0x3000, SGPU_PA_SYSTEM | 0x5000, 8192);
    rig_execute(&rig, SGPU_NODE_COPY);
    assert_int_equal(machine_link_to_device(rig.machine)->carried_bytes, 15754 * 4096 + 8192);
    assert_int_equal(machine_link_from_device(rig.machine)->carried_bytes, 16384);
    rig_fini(&rig);
}

static void nodes_run_side_by_side_and_each_in_order(void **state)
{
    struct seen seen = {0};
    struct rig rig;

    rig_init(&rig);
    sgpu_set_observer(rig.gpu, &seeing, &seen);
    rig_render(&rig, 10, 5000, NULL, 0);
    rig_submit(&rig, 0); /* fence 1 */
    rig_render(&rig, 11, 5000, NULL, 0);
    rig_submit(&rig, 0); /* fence 2 */
    rig_fill(&rig, 0, PAGE_BYTES, 1);
    rig_submit(&rig, 1); /* fence 3 */
    rig_render(&rig, 12, 7000, NULL, 0);
    rig_submit(&rig, 1); /* fence 4 */
    rig_run(&rig);
    assert_string_equal(seen.text, "begin 10 on 0; done 1/3; begin 12 on 1; end 10; done 0/1; "
                                   "begin 11 on 0; end 12; done 1/4; end 11; done 0/2; ");
    rig_fini(&rig);
}

static void the_queue_holds_64_and_loses_the_next(void **state)
{
    struct sgpu_statistics statistics;
    struct rig rig;

    rig_init(&rig);
    assert_int_equal(rig_read(&rig, SGPU_REG_NODE(1) + SGPU_NODE_FREE), SGPU_QUEUE_SLOTS);
    for (uint32_t i = 1; i <= SGPU_QUEUE_SLOTS + 1; i++)
        rig_submit_at(&rig, 1, 0, 0, 0, 0);
    assert_int_equal(rig_read(&rig, SGPU_REG_NODE(1) + SGPU_NODE_FREE), 0);
    assert_int_equal(rig_read(&rig, SGPU_REG_NODE(1) + SGPU_NODE_QUEUED), SGPU_QUEUE_SLOTS);
    rig_run(&rig);
    assert_int_equal(rig_completed(&rig, 1), SGPU_QUEUE_SLOTS);
    sgpu_get_statistics(rig.gpu, &statistics);
    assert_int_equal(statistics.lost_submissions, 1);
    assert_int_equal(statistics.submissions, SGPU_QUEUE_SLOTS);
    rig_fini(&rig);
}

static void reset_drops_what_is_queued_and_running(void **state)
{
    const struct sgpu_render_ref ref = {
        .address = 0x1000, .bytes = 0x1000, .key = 9, .flags = SGPU_REF_WRITE};
    struct rig rig;

    rig_init(&rig);
    rig_render(&rig, 1, 10000, &ref, 1);
    rig_submit(&rig, 0);
    rig_fill(&rig, 0x2000, 0x1000, 1);
    rig_submit(&rig, 0);
    machine_run_until(rig.machine, 5000);
    rig_write(&rig, SGPU_REG_NODE(0) + SGPU_NODE_CONTROL, 4, SGPU_CONTROL_RESET);
    assert_true(sgpu_is_idle(rig.gpu));
    rig_run(&rig);
    assert_int_equal(page_store_kind(rig.local, 1), PAGE_ZERO);
    assert_int_equal(page_store_kind(rig.local, 2), PAGE_ZERO);
    assert_int_equal(rig_completed(&rig, 0), 0);
    rig_fill(&rig, 0x3000, 0x1000, 1);
    rig_execute(&rig, 0);
    assert_int_equal(page_store_kind(rig.local, 3), PAGE_PATTERN);
    rig_fini(&rig);
}

/* ---- Interrupts ----------------------------------------------------------------------------- */

struct handler {
    struct rig *rig;
    uint32_t status;
    int calls;
};

static void handle_interrupt(void *context)
{
    struct handler *handler = context;
    uint32_t status = rig_read(handler->rig, SGPU_REG_IRQ_STATUS);

    handler->calls++;
    handler->status |= status;
    rig_write(handler->rig, SGPU_REG_IRQ_STATUS, 4, status);
}

static void enabled_interrupts_reach_the_handler(void **state)
{
    struct handler handler = {0};
    struct rig rig;

    rig_init(&rig);
    handler.rig = &rig;
    machine_set_interrupt_handler(rig.machine, handle_interrupt, &handler);
    rig_execute(&rig, 1);
    assert_int_equal(handler.calls, 0); /* not enabled */
    rig_write(&rig, SGPU_REG_IRQ_ENABLE, 4, SGPU_IRQ_COMPLETED(0) | SGPU_IRQ_COMPLETED(1));
    rig_run(&rig);
    assert_int_equal(handler.calls, 1); /* by level: it was pending */
    rig_execute(&rig, 0);
    assert_int_equal(handler.calls, 2);
    assert_int_equal(handler.status, SGPU_IRQ_COMPLETED(0) | SGPU_IRQ_COMPLETED(1));
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS), 0);
    rig_fini(&rig);
}

/* ---- Faults --------------------------------------------------------------------------------- */

/* What lies in front of it and behind it answers up to its ends. */
static void defective_memory_faults(void **state)
{
    const uint64_t start = 8 * MiB, end = start + 2 * PAGE_BYTES, local_end = 64 * MiB;
    const struct sgpu_config config = {.dead_offset = start, .dead_bytes = end - start};
    const struct machine_config board = rig_board();
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    rig_fill(&rig, start - PAGE_BYTES, PAGE_BYTES, 1);
    rig_fill(&rig, end, PAGE_BYTES, 2);
    rig_fill(&rig, local_end - PAGE_BYTES, PAGE_BYTES, 3);
    rig_execute(&rig, SGPU_NODE_COPY);
    assert_int_equal(page_store_value(rig.local, start / PAGE_BYTES - 1), 1);
    assert_int_equal(page_store_value(rig.local, end / PAGE_BYTES), 2);
    assert_int_equal(page_store_value(rig.local, local_end / PAGE_BYTES - 1), 3);
    rig_fill(&rig, start - PAGE_BYTES, 2 * PAGE_BYTES, 4);
    rig_expect_fault(&rig, SGPU_NODE_COPY, SGPU_FAULT_BUS, start);
    rig_fill(&rig, start, 8, 4);
    rig_expect_fault(&rig, SGPU_NODE_COPY, SGPU_FAULT_BUS, start);
    rig_fill(&rig, end - 8, 16, 4);
    rig_expect_fault(&rig, SGPU_NODE_COPY, SGPU_FAULT_BUS, end - 8);
    rig_fill(&rig, local_end - 8, 16, 4);
    rig_expect_fault(&rig, SGPU_NODE_COPY, SGPU_FAULT_BUS, local_end);
    rig_fini(&rig);
}

static void addresses_that_nothing_answers_fault(void **state)
{
    static const uint64_t bad_page[] = {100, 64 * MiB / PAGE_BYTES};
    struct rig rig;

    rig_init(&rig);
    rig_copy(&rig, 0, 64 * MiB, 0, 8);
    rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, 64 * MiB);
    rig_copy(&rig, 0, 0, SGPU_PA_SYSTEM | (64 * MiB - 4), 8);
    rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, SGPU_PA_SYSTEM | 64 * MiB);
    rig_fill(&rig, SGPU_PA_APERTURE + 0x2000, 8, 1);
    rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, SGPU_PA_APERTURE + 0x2000);
    rig_fill(&rig, SGPU_PA_APERTURE + 16 * MiB, 8, 1);
    rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, SGPU_PA_APERTURE + 16 * MiB);
    rig_copy_pages(&rig, SGPU_COPY_TO_PAGES, 0, bad_page, 2);
    rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, SGPU_PA_SYSTEM | 64 * MiB);
    rig_fence(&rig, 0, UINT64_MAX - 7, 1);
    rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, UINT64_MAX - 7);
    rig_expect_fault_at(&rig, 0, rig_submit_at(&rig, 0, 96 * MiB, 0, 64, 0), SGPU_FAULT_BUS,
                        96 * MiB);
    rig_fini(&rig);
}

static void a_fault_stops_the_node_and_no_other(void **state)
{
    struct rig rig;

    rig_init(&rig);
    rig_fill(&rig, 64 * MiB, 8, 1);
    rig_submit(&rig, 1);
    rig_fill(&rig, 0, PAGE_BYTES, 1);
    rig_submit(&rig, 1);
    rig_fill(&rig, 0x1000, PAGE_BYTES, 1);
    rig_submit(&rig, 0);
    rig_run(&rig);
    assert_int_equal(rig_completed(&rig, 1), 0);
    assert_int_equal(rig_completed(&rig, 0), 3);
    assert_int_equal(page_store_kind(rig.local, 0), PAGE_ZERO);
    assert_int_equal(page_store_kind(rig.local, 1), PAGE_PATTERN);
    assert_int_equal(rig_read(&rig, SGPU_REG_IRQ_STATUS),
                     SGPU_IRQ_FAULTED(1) | SGPU_IRQ_COMPLETED(0));
    rig_fini(&rig);
}

/* One lawful packet, and ways to spoil one field of it. */
struct spoiled {
    uint64_t offset; /* of the field in the packet */
    uint64_t size;
    uint64_t value;
};

static void expect_malformed(struct rig *rig, void (*build)(struct rig *rig),
                             const struct spoiled *spoiled, size_t count)
{
    build(rig);
    rig_execute(rig, 1); /* unspoiled it is lawful */
    for (size_t i = 0; i < count; i++) {
        rig_fill(rig, 0x100000, 4, 0); /* so that the offset is not 0 */
        build(rig);
        page_store_write(rig->ram,
                         rig->command_pa + sizeof(struct sgpu_packet_fill) + spoiled[i].offset,
                         &spoiled[i].value, spoiled[i].size);
        rig_expect_fault(rig, 1, SGPU_FAULT_PACKET, sizeof(struct sgpu_packet_fill));
    }
}

static void build_copy(struct rig *rig)
{
    rig_copy(rig, 0, 0, 0x10000, 0x1000);
}

static void build_fill(struct rig *rig)
{
    rig_fill(rig, 0, 0x1000, 1);
}

static void build_copy_pages(struct rig *rig)
{
    static const uint64_t pages[] = {5, 6};

    rig_copy_pages(rig, 0, 0x10000, pages, 2);
}

static void build_gart(struct rig *rig)
{
    static const uint64_t pages[] = {5, 6};

    rig_gart(rig, SGPU_OP_GART_WRITE, 0, 16 * MiB / PAGE_BYTES - 2, 2, pages);
}

static void build_pte(struct rig *rig)
{
    static const uint64_t entries[] = {5, 6};

    rig_pte(rig, SGPU_OP_PTE_WRITE, 0, 0x10000, 510, 2, entries);
}

static void build_flush(struct rig *rig)
{
    rig_flush(rig, 0, 0, 0x1000, 0x2000);
}

static void build_fence(struct rig *rig)
{
    rig_fence(rig, 0, 0x40, 1);
}

static void build_render(struct rig *rig)
{
    struct sgpu_render_ref ref = {.bytes = 0x1000, .flags = SGPU_REF_READ};

    rig_render(rig, 1, 1, &ref, 1);
}

#define FIELD(type, field, bad)                                                                    \
    {                                                                                              \
        offsetof(struct type, field), sizeof(((struct type *)0)->field), bad                       \
    }
#define HEADER(opcode, words)                                                                      \
    {                                                                                              \
        0, 4, SGPU_PACKET_HEADER(opcode, words)                                                    \
    }

static void malformed_packets_fault_with_their_offset(void **state)
{
    const struct spoiled copy[] = {
        HEADER(0x0b, 8),
        HEADER(0xff, 8),
        HEADER(SGPU_OP_COPY, 0),
        HEADER(SGPU_OP_COPY, 7),
        HEADER(SGPU_OP_COPY, 6),
        HEADER(SGPU_OP_COPY, 10),
        HEADER(SGPU_OP_COPY, 0xffffff),
        FIELD(sgpu_packet_copy, flags, 1),
        FIELD(sgpu_packet_copy, bytes, (UINT64_C(1) << 48) + 1),
    };
    const struct spoiled fill[] = {
        FIELD(sgpu_packet_fill, flags, 2),
        FIELD(sgpu_packet_fill, destination, 2),
        FIELD(sgpu_packet_fill, bytes, 6),
        FIELD(sgpu_packet_fill, reserved, 1),
    };
    const struct spoiled copy_pages[] = {
        FIELD(sgpu_packet_copy_pages, page_count, 1),
        FIELD(sgpu_packet_copy_pages, page_count, 3),
        FIELD(sgpu_packet_copy_pages, page_count, UINT32_MAX),
        FIELD(sgpu_packet_copy_pages, reserved, 1),
        FIELD(sgpu_packet_copy_pages, linear, 0x800),
        FIELD(sgpu_packet_copy_pages, flags, SGPU_PACKET_PHYSICAL),
    };
    const struct spoiled gart[] = {
        FIELD(sgpu_packet_gart, first_slot, 16 * MiB / PAGE_BYTES - 1),
        FIELD(sgpu_packet_gart, first_slot, UINT32_MAX),
        FIELD(sgpu_packet_gart, slot_count, 1),
    };
    const struct spoiled pte[] = {
        FIELD(sgpu_packet_pte, first, SGPU_PTE_WORDS_MAX - 1),
        FIELD(sgpu_packet_pte, first, UINT32_MAX),
        FIELD(sgpu_packet_pte, table, 0x10008),
        FIELD(sgpu_packet_pte, count, 3),
        FIELD(sgpu_packet_pte, flags, 4),
    };
    const struct spoiled flush[] = {
        FIELD(sgpu_packet_tlb_flush, start, 0x3000),
        FIELD(sgpu_packet_tlb_flush, end, UINT64_MAX),
        FIELD(sgpu_packet_tlb_flush, flags, 8),
    };
    const struct spoiled fence[] = {
        FIELD(sgpu_packet_fence, address, 0x44),
        FIELD(sgpu_packet_fence, flags, 2),
    };
    const struct spoiled render[] = {
        FIELD(sgpu_packet_render, ref_count, 0),
        FIELD(sgpu_packet_render, ref_count, UINT32_MAX),
        FIELD(sgpu_packet_render, reserved, 9),
        FIELD(sgpu_packet_render, duration_ns, UINT64_MAX),
        FIELD(sgpu_packet_render, refs[0].flags, 8),
        FIELD(sgpu_packet_render, refs[0].bytes, UINT64_MAX),
    };
    struct rig rig;

    rig_init(&rig);
    expect_malformed(&rig, build_copy, copy, ARRAY_COUNT(copy));
    expect_malformed(&rig, build_fill, fill, ARRAY_COUNT(fill));
    expect_malformed(&rig, build_copy_pages, copy_pages, ARRAY_COUNT(copy_pages));
    expect_malformed(&rig, build_gart, gart, ARRAY_COUNT(gart));
    expect_malformed(&rig, build_pte, pte, ARRAY_COUNT(pte));
    expect_malformed(&rig, build_flush, flush, ARRAY_COUNT(flush));
    expect_malformed(&rig, build_fence, fence, ARRAY_COUNT(fence));
    expect_malformed(&rig, build_render, render, ARRAY_COUNT(render));

    /* A submission that starts askew, and one that ends inside a header. */
    rig_expect_fault_at(&rig, 0, rig_submit_at(&rig, 0, SGPU_PA_SYSTEM | 0x20, 0, 64, 0),
                        SGPU_FAULT_PACKET, 0);
    rig_fill(&rig, 0, 4, 0);
    rig_bytes(&rig, "1234", 4);
    rig_expect_fault(&rig, 0, SGPU_FAULT_PACKET, sizeof(struct sgpu_packet_fill));
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_describe_the_board),
        cmocka_unit_test(aperture_slots_are_pointed_by_registers_too),
        cmocka_unit_test(unlawful_node_counts_give_null),
        cmocka_unit_test(copy_moves_between_all_memories),
        cmocka_unit_test(fill_writes_the_pattern_and_nothing_else),
        cmocka_unit_test(copy_pages_gathers_and_scatters),
        cmocka_unit_test(copy_pages_reads_no_page_behind_its_list),
        cmocka_unit_test(aperture_slots_point_where_they_were_pointed),
        cmocka_unit_test(a_fence_packet_writes_after_what_came_before),
        cmocka_unit_test(render_reads_then_writes_and_says_so),
        cmocka_unit_test(a_blit_copies_the_reference_before_it_or_fills),
        cmocka_unit_test(a_blit_without_its_source_is_malformed),
        cmocka_unit_test(a_reference_may_be_as_long_as_the_addresses),
        cmocka_unit_test(a_render_that_faults_reports_its_token),
        cmocka_unit_test(nops_and_empty_submissions_complete),
        cmocka_unit_test(effects_come_at_the_end_and_not_before),
        cmocka_unit_test(links_set_the_time_of_copies),
        cmocka_unit_test(nodes_run_side_by_side_and_each_in_order),
        cmocka_unit_test(the_queue_holds_64_and_loses_the_next),
        cmocka_unit_test(reset_drops_what_is_queued_and_running),
        cmocka_unit_test(enabled_interrupts_reach_the_handler),
        cmocka_unit_test(defective_memory_faults),
        cmocka_unit_test(addresses_that_nothing_answers_fault),
        cmocka_unit_test(a_fault_stops_the_node_and_no_other),
        cmocka_unit_test(malformed_packets_fault_with_their_offset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
