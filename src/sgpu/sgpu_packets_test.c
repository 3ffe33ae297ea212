/*
 * Packets: those that nobody but the driver sends, renders in pieces, what is told of them, and
 * what starts while something is under way.
 */
#include "sgpu/test_rig.h"

#include "base/bits.h"

#include <stdio.h>
#include <string.h>

#define VA          UINT64_C(0x123456789000)
#define SIZE_LIMIT  (UINT64_C(1) << 48)
#define LOCAL_BYTES (64 * MiB)

static struct sgpu_statistics statistics_of(const struct rig *rig)
{
    struct sgpu_statistics statistics;

    sgpu_get_statistics(rig->gpu, &statistics);
    return statistics;
}

static void touch(struct rig *rig, uint32_t flags, uint64_t address, uint32_t bytes)
{
    struct sgpu_packet_touch packet = {.flags = flags, .address = address, .bytes = bytes};

    rig_packet(rig, SGPU_OP_TOUCH, &packet, sizeof packet, NULL, 0);
}

static void clean(struct rig *rig, uint64_t root, uint64_t address, uint64_t bytes)
{
    struct sgpu_packet_clean packet = {.root = root, .address = address, .bytes = bytes};

    rig_packet(rig, SGPU_OP_CLEAN, &packet, sizeof packet, NULL, 0);
}

static void render(struct rig *rig, uint32_t flags, uint64_t token,
                   const struct sgpu_render_ref *refs, uint32_t count)
{
    struct sgpu_packet_render packet = {
        .flags = flags, .token = token, .duration_ns = 1000, .ref_count = count};

    rig_packet(rig, SGPU_OP_RENDER, &packet, sizeof packet, refs, count * sizeof *refs);
}

/* Sets one field of the packet that has been built. */
static void spoil(struct rig *rig, uint64_t offset, uint64_t value, uint64_t size)
{
    page_store_write(rig->ram, rig->command_pa + offset, &value, size);
}

static void expect_fault_virtual(struct rig *rig, uint64_t root, uint32_t kind, uint64_t address)
{
    rig_expect_fault_at(rig, 0, rig_submit_virtual(rig, 0, root), kind, address);
}

/* ---- TOUCH, CLEAN ---------------------------------------------------------------------------- */

static void a_touch_writes_zeros_as_long_as_it_is(void **state)
{
    static const struct {
        uint32_t start, bytes;
    } touches[] = {{3, 5}, {0x7f8, 8}, {0xffe, 8}, {0x1fff, 1}};
    struct rig rig;

    rig_init(&rig);
    for (size_t i = 0; i < ARRAY_COUNT(touches); i++) {
        uint8_t seen[2 * PAGE_BYTES];

        page_store_fill(rig.local, 0, sizeof seen, 0xffffffff);
        touch(&rig, 0, touches[i].start, touches[i].bytes);
        rig_execute(&rig, 0);
        assert_true(page_store_is_fill(rig.local, 0, sizeof seen, 0xffffffff, NULL));
        touch(&rig, SGPU_TOUCH_WRITE, touches[i].start, touches[i].bytes);
        rig_execute(&rig, 0);
        page_store_read(rig.local, 0, seen, sizeof seen);
        for (uint32_t at = 0; at < sizeof seen; at++) {
            bool is_zero = at >= touches[i].start && at < touches[i].start + touches[i].bytes;

            assert_int_equal(seen[at], is_zero ? 0 : 0xff);
        }
        assert_int_equal(statistics_of(&rig).touches, 2 * (i + 1));
    }
    rig_fini(&rig);
}

static void a_touch_of_what_is_not_there_faults(void **state)
{
    struct rig rig;
    uint64_t root;

    rig_init(&rig);
    touch(&rig, 0, LOCAL_BYTES - 4, 8);
    rig_expect_fault(&rig, 0, SGPU_FAULT_BUS, LOCAL_BYTES);
    assert_int_equal(statistics_of(&rig).touches, 0);
    root = rig_root(&rig);
    rig_map(&rig, root, VA, 1, 0x10000 | SGPU_PTE_VALID | SGPU_PTE_READ_ONLY);
    rig_map(&rig, root, VA + PAGE_BYTES, 1, SGPU_PTE_VALID | SGPU_PTE_ZERO);
    touch(&rig, 0, VA, 8);
    touch(&rig, SGPU_TOUCH_WRITE, VA + PAGE_BYTES, 8);
    touch(&rig, SGPU_TOUCH_WRITE | SGPU_PACKET_PHYSICAL, 0x10000, 8);
    rig_execute_virtual(&rig, 0, root);
    touch(&rig, SGPU_TOUCH_WRITE, VA, 8);
    expect_fault_virtual(&rig, root, SGPU_FAULT_READ_ONLY, VA);
    rig_fini(&rig);
}

static void a_touch_is_of_1_to_8_bytes(void **state)
{
    static const struct {
        uint32_t bytes, reserved;
        bool is_fine;
    } cases[] = {{0, 0, false}, {1, 0, true}, {8, 0, true}, {9, 0, false}, {4, 1, false}};
    struct rig rig;

    rig_init(&rig);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        touch(&rig, 0, 0, cases[i].bytes);
        spoil(&rig, offsetof(struct sgpu_packet_touch, reserved), cases[i].reserved, 4);
        if (cases[i].is_fine)
            rig_execute(&rig, 0);
        else
            rig_expect_fault(&rig, 0, SGPU_FAULT_PACKET, 0);
    }
    touch(&rig, 0, 0, 8);
    rig_bytes(&rig, "padding", 8);
    spoil(&rig, 0, SGPU_PACKET_HEADER(SGPU_OP_TOUCH, sizeof(struct sgpu_packet_touch) / 4 + 2), 4);
    rig_expect_fault(&rig, 0, SGPU_FAULT_PACKET, 0);
    rig_fini(&rig);
}

/* Through the root that it names, or the submission's own, or none. */
static void a_clean_looks_up_each_page_of_its_space(void **state)
{
    struct rig rig;
    uint64_t root, other;

    rig_init(&rig);
    root = rig_root(&rig);
    other = rig_root(&rig);
    rig_map(&rig, root, VA, 1, 0x10000 | SGPU_PTE_VALID);
    rig_map(&rig, root, VA + PAGE_BYTES, 1, 0x30000 | SGPU_PTE_VALID | SGPU_PTE_READ_ONLY);
    clean(&rig, 0, VA, 2 * PAGE_BYTES);
    rig_execute_virtual(&rig, 0, root);
    assert_int_equal(statistics_of(&rig).cleaned_bytes, 2 * PAGE_BYTES);
    clean(&rig, root, VA + 5, PAGE_BYTES);
    rig_execute_virtual(&rig, 0, other);
    clean(&rig, root, VA + 5, PAGE_BYTES);
    clean(&rig, 0, LOCAL_BYTES - 5, 5);
    rig_execute(&rig, 0);
    assert_int_equal(statistics_of(&rig).cleaned_bytes, 4 * PAGE_BYTES + 5);
    clean(&rig, 0, VA, 2 * PAGE_BYTES);
    expect_fault_virtual(&rig, other, SGPU_FAULT_NOT_VALID, VA);
    clean(&rig, other, VA, 2 * PAGE_BYTES);
    expect_fault_virtual(&rig, root, SGPU_FAULT_NOT_VALID, VA);
    clean(&rig, root, VA, 2 * PAGE_BYTES + 1);
    rig_expect_fault(&rig, 0, SGPU_FAULT_NOT_VALID, VA + 2 * PAGE_BYTES);
    clean(&rig, 0, LOCAL_BYTES - 5, 6);
    rig_expect_fault(&rig, 0, SGPU_FAULT_BUS, LOCAL_BYTES);
    assert_int_equal(statistics_of(&rig).cleaned_bytes, 4 * PAGE_BYTES + 5);
    rig_fini(&rig);
}

/* ---- What is well formed --------------------------------------------------------------------- */

/* Of the largest size a packet faults where memory ends, and of one more it is malformed. */
static void sizes_ends_and_durations_go_up_to_their_limit(void **state)
{
    struct rig rig;

    rig_init(&rig);
    for (unsigned more = 0; more < 2; more++) {
        const uint32_t kind = more ? SGPU_FAULT_PACKET : SGPU_FAULT_BUS;
        const uint64_t at = more ? 0 : LOCAL_BYTES;

        rig_copy(&rig, 0, 0, LOCAL_BYTES, SIZE_LIMIT + more);
        rig_expect_fault(&rig, 0, kind, at);
        rig_fill(&rig, LOCAL_BYTES, SIZE_LIMIT + 4 * more, 1);
        rig_expect_fault(&rig, 0, kind, at);
        clean(&rig, 0, 0, SIZE_LIMIT + more);
        rig_expect_fault(&rig, 0, kind, at);
    }
    rig_flush(&rig, 0, 0, SIZE_LIMIT, SIZE_LIMIT);
    rig_flush(&rig, 0, 0, 0, SIZE_LIMIT);
    rig_flush(&rig, SGPU_TLB_ALL, 0, 5, SIZE_LIMIT + 1); /* of all nobody looks at the ends */
    rig_render(&rig, 1, SIZE_LIMIT, NULL, 0);
    rig_execute(&rig, 0);
    assert_int_equal(statistics_of(&rig).tlb_flushes, 3);
    rig_flush(&rig, 0, 0, 0, SIZE_LIMIT + 1);
    rig_expect_fault(&rig, 0, SGPU_FAULT_PACKET, 0);
    rig_flush(&rig, 0, 0, 0x1001, 0x1000);
    rig_expect_fault(&rig, 0, SGPU_FAULT_PACKET, 0);
    rig_render(&rig, 1, SIZE_LIMIT + 1, NULL, 0);
    rig_expect_fault(&rig, 0, SGPU_FAULT_PACKET, 0);
    rig_fini(&rig);
}

/* Lawful packets stand there; only the place is wrong. */
static void a_submission_starts_at_its_alignment_and_ends_with_a_packet(void **state)
{
    struct rig rig;
    uint64_t pa;

    rig_init(&rig);
    pa = rig.command_pa;
    for (uint64_t at = 0; at <= SGPU_SUBMIT_ALIGN; at += 8) {
        const uint64_t nop[1] = {SGPU_PACKET_HEADER(SGPU_OP_NOP, 2)};

        rig_bytes(&rig, nop, sizeof nop);
    }
    rig.used = 0;
    rig_expect_done(&rig, 0,
                    rig_submit_at(&rig, 0, SGPU_PA_SYSTEM | (pa + SGPU_SUBMIT_ALIGN), 0, 8, 0));
    rig_expect_fault_at(&rig, 0, rig_submit_at(&rig, 0, SGPU_PA_SYSTEM | (pa + 8), 0, 8, 0),
                        SGPU_FAULT_PACKET, 0);
    rig_expect_fault_at(
        &rig, 0, rig_submit_at(&rig, 0, SGPU_PA_SYSTEM | (pa + SGPU_SUBMIT_ALIGN / 2), 0, 8, 0),
        SGPU_FAULT_PACKET, 0);
    /* No memory is behind the last 4 bytes, and nobody looks for it. */
    rig_fill(&rig, LOCAL_BYTES - 64, 64, SGPU_PACKET_HEADER(SGPU_OP_NOP, 2));
    rig_execute(&rig, 0);
    rig_expect_fault_at(&rig, 0, rig_submit_at(&rig, 0, LOCAL_BYTES - 64, 0, 68, 0),
                        SGPU_FAULT_PACKET, 64);
    rig_fini(&rig);
}

static void a_surface_with_a_pitch_is_not_tiled(void **state)
{
    static const uint64_t pages[] = {7, 8};
    struct rig rig;

    rig_init(&rig);
    rig_copy_pages(&rig, SGPU_COPY_TILED, SGPU_PA_PITCHED | 0x10000, pages, 2);
    rig_expect_fault(&rig, 1, SGPU_FAULT_PACKET, 0);
    rig_fini(&rig);
}

/* ---- Renders --------------------------------------------------------------------------------- */

struct seen {
    struct rig *rig;
    char text[2048];
};

static void see(struct seen *seen, const char *format, ...)
{
    size_t length = strlen(seen->text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(seen->text + length, sizeof seen->text - length, format, arguments);
    va_end(arguments);
}

static void expect_seen(struct seen *seen, const char *text)
{
    assert_string_equal(seen->text, text);
    seen->text[0] = '\0';
}

static char store_letter(const struct seen *seen, const struct page_store *store)
{
    return store == seen->rig->ram ? 'r' : store == seen->rig->local ? 'l' : '-';
}

static void saw_begin(void *context, uint64_t token, uint32_t node)
{
    see(context, "begin %d on %d; ", (int)token, (int)node);
}

static void saw_piece_end(void *context, uint64_t token)
{
    see(context, "piece of %d; ", (int)token);
}

static void saw_end(void *context, uint64_t token)
{
    see(context, "end %d; ", (int)token);
}

static uint64_t find_token(void *context, uint32_t node, uint32_t fence)
{
    return 1000 * node + fence;
}

static void saw_write(void *context, uint64_t token, uint32_t index, uint64_t offset,
                      struct page_store *store, uint64_t address, uint64_t bytes)
{
    see(context, "%d writes %d+%x at %c%x+%x; ", (int)token, (int)index, (int)offset,
        store_letter(context, store), (int)address, (int)bytes);
}

static void saw_wrote(void *context, const struct sgpu_command *command, struct page_store *store,
                      uint64_t address, uint64_t bytes)
{
    see(context, "%d/%d+%x,%x wrote %c%x+%x; ", (int)command->node, (int)command->fence,
        (int)command->offset, (int)command->bytes, store_letter(context, store), (int)address,
        (int)bytes);
}

static void saw_entries(void *context, const struct sgpu_command *command, struct page_store *store,
                        uint64_t address, uint64_t bytes)
{
    see(context, "entries: ");
    saw_wrote(context, command, store, address, bytes);
}

static void saw_flush(void *context, uint32_t node, uint64_t root, uint64_t start, uint64_t end)
{
    see(context, "flush %d %x %x-%x; ", (int)node, (int)root, (int)start, (int)end);
}

static void saw_queued(void *context, uint32_t node, uint32_t fence, uint64_t address,
                       uint32_t bytes, const uint64_t *root, uint64_t root_entries)
{
    see(context, "queued %d/%d at %x+%x root %x of %d; ", (int)node, (int)fence, (int)address,
        (int)bytes, root ? (int)*root : 0, (int)root_entries);
}

static void saw_submission(void *context, uint32_t node, uint32_t fence)
{
    see(context, "runs %d/%d; ", (int)node, (int)fence);
}

static const struct sgpu_observer seeing = {
    .token_of = find_token,
    .render_begin = saw_begin,
    .render_write = saw_write,
    .render_piece_end = saw_piece_end,
    .render_end = saw_end,
    .wrote = saw_wrote,
    .wrote_entries = saw_entries,
    .tlb_flushed = saw_flush,
};

/* In which each packet has a reference of its own. */
static void a_render_in_pieces_begins_once_and_ends_once(void **state)
{
    const struct sgpu_render_ref refs[] = {
        {.address = 0x1000, .bytes = 8, .key = 7, .flags = SGPU_REF_WRITE, .index = 1},
        {.address = 0x2000, .bytes = 8, .key = 8, .flags = SGPU_REF_WRITE, .index = 2},
        {.address = 0x3000, .bytes = 8, .key = 9, .flags = SGPU_REF_WRITE, .index = 3},
    };
    struct rig rig;
    struct seen seen = {.rig = &rig};

    rig_init(&rig);
    sgpu_set_observer(rig.gpu, &seeing, &seen);
    render(&rig, SGPU_RENDER_GOES_ON, 33, &refs[0], 1);
    render(&rig, SGPU_RENDER_GOES_ON | SGPU_RENDER_CONTINUES, 33, &refs[1], 1);
    render(&rig, SGPU_RENDER_CONTINUES, 33, &refs[2], 1);
    rig_execute(&rig, 0);
    expect_seen(&seen, "begin 33 on 0; 33 writes 1+0 at l1000+8; piece of 33; "
                       "33 writes 2+0 at l2000+8; piece of 33; "
                       "33 writes 3+0 at l3000+8; end 33; ");
    assert_int_equal(statistics_of(&rig).render_written_bytes, 24);
    sgpu_set_observer(rig.gpu, NULL, NULL); /* nobody needs to listen */
    render(&rig, SGPU_RENDER_GOES_ON, 33, &refs[0], 1);
    render(&rig, SGPU_RENDER_CONTINUES, 0, &refs[1], 1);
    rig_execute(&rig, 0);
    rig_fini(&rig);
}

static void a_render_without_a_token_has_that_of_its_submission(void **state)
{
    const struct sgpu_render_ref ref = {
        .address = 0x1000, .bytes = 8, .key = 7, .flags = SGPU_REF_WRITE};
    struct rig rig;
    struct seen seen = {.rig = &rig};

    rig_init(&rig);
    sgpu_set_observer(rig.gpu, &seeing, &seen);
    rig_execute(&rig, 1);
    render(&rig, 0, 0, &ref, 1);
    rig_execute(&rig, 1);
    expect_seen(&seen, "begin 1002 on 1; 1002 writes 0+0 at l1000+8; end 1002; ");
    render(&rig, 0, 5, &ref, 1);
    rig_execute(&rig, 1);
    expect_seen(&seen, "begin 5 on 1; 5 writes 0+0 at l1000+8; end 5; ");
    rig_fini(&rig);
}

/* A blit from where nothing is written copies zeros, and one to there vanishes. */
static void a_blit_goes_through_entries_that_are_zero(void **state)
{
    const uint64_t zero_va = VA + 16 * PAGE_BYTES;
    struct sgpu_render_ref refs[] = {
        {.address = VA, .bytes = 3 * PAGE_BYTES, .flags = SGPU_REF_READ},
        {.bytes = 3 * PAGE_BYTES, .flags = SGPU_REF_WRITE | SGPU_REF_COPY, .index = 1},
    };
    struct rig rig;
    struct seen seen = {.rig = &rig};
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, VA, 1, 0x10000 | SGPU_PTE_VALID);
    rig_map(&rig, root, VA + PAGE_BYTES, 1, SGPU_PTE_VALID | SGPU_PTE_ZERO);
    rig_map(&rig, root, VA + 2 * PAGE_BYTES, 1, 0x20000 | SGPU_PTE_VALID);
    rig_map(&rig, root, zero_va, 3, 0x40000 | SGPU_PTE_VALID);
    page_store_write_tag(rig.local, 0x10000, PAGE_BYTES, 50);
    page_store_write_tag(rig.local, 0x20000, PAGE_BYTES, 60);
    page_store_write_tag(rig.local, 0x40000, 3 * PAGE_BYTES, 70);
    sgpu_set_observer(rig.gpu, &seeing, &seen);
    refs[1].address = zero_va;
    render(&rig, 0, 1, refs, 2);
    rig_execute_virtual(&rig, 0, root);
    assert_true(page_store_is_tag(rig.local, 0x40000, PAGE_BYTES, 50, NULL));
    assert_true(page_store_is_fill(rig.local, 0x41000, PAGE_BYTES, 0, NULL));
    assert_true(page_store_is_tag(rig.local, 0x42000, PAGE_BYTES, 60, NULL));
    expect_seen(&seen, "begin 1 on 0; 1 writes 1+0 at l40000+1000; 1 writes 1+1000 at l41000+1000; "
                       "1 writes 1+2000 at l42000+1000; end 1; ");
    refs[0].address = zero_va;
    refs[1].address = VA;
    render(&rig, 0, 1, refs, 2);
    rig_execute_virtual(&rig, 0, root);
    assert_true(page_store_is_tag(rig.local, 0x10000, PAGE_BYTES, 50, NULL));
    assert_true(page_store_is_tag(rig.local, 0x20000, PAGE_BYTES, 60, NULL));
    expect_seen(&seen, "begin 1 on 0; 1 writes 1+0 at l10000+1000; 1 writes 1+1000 at -0+1000; "
                       "1 writes 1+2000 at l20000+1000; end 1; ");
    assert_int_equal(statistics_of(&rig).render_written_bytes, 6 * PAGE_BYTES);
    refs[1].address = VA + PAGE_BYTES; /* one page behind it is not mapped */
    render(&rig, 0, 1, refs, 2);
    expect_fault_virtual(&rig, root, SGPU_FAULT_NOT_VALID, VA + 3 * PAGE_BYTES);
    refs[0].flags = 0; /* what is not read is not looked up before its copy */
    refs[0].address = VA + 2 * PAGE_BYTES;
    refs[1].address = zero_va;
    render(&rig, 0, 1, refs, 2);
    expect_fault_virtual(&rig, root, SGPU_FAULT_NOT_VALID, VA + 3 * PAGE_BYTES);
    rig_fini(&rig);
}

/* Bit 46 of an address says so of physical ones alone. */
static void an_address_of_a_space_has_no_pitch(void **state)
{
    const uint64_t high = SGPU_PA_PITCHED | 0x10002000;
    struct sgpu_render_ref ref = {
        .address = high, .bytes = 2 * PAGE_BYTES, .key = 500, .flags = SGPU_REF_WRITE};
    uint64_t pfns[3];
    struct rig rig;
    uint32_t pasid;
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, high, 4, 0x10000 | SGPU_PTE_VALID);
    render(&rig, 0, 1, &ref, 1);
    rig_execute_virtual(&rig, 0, root);
    assert_true(page_store_is_tag(rig.local, 0x10000, 2 * PAGE_BYTES, 500, NULL));

    pfns[0] = rig.command_base / PAGE_BYTES;
    assert_true(machine_alloc_pages(rig.machine, 2, pfns + 1));
    assert_true(machine_iommu_space_create(machine_iommu(rig.machine), &pasid));
    assert_true(
        machine_iommu_map(machine_iommu(rig.machine), pasid, high / PAGE_BYTES - 1, 3, pfns));
    render(&rig, 0, 1, &ref, 1);
    rig_expect_done(&rig, 0,
                    rig_submit_at(&rig, 0, high - PAGE_BYTES, pasid, rig.used, SGPU_SUBMIT_PASID));
    for (unsigned i = 0; i < 2; i++)
        assert_true(
            page_store_is_tag(rig.ram, pfns[i + 1] * PAGE_BYTES, PAGE_BYTES, 500 + i, NULL));
    rig_fini(&rig);
}

/* ---- What is told ---------------------------------------------------------------------------- */

static void what_copies_fills_and_entries_write_is_told_piece_by_piece(void **state)
{
    static const uint64_t pages[] = {0x700, 0x701, 0x650};
    uint64_t entries[4] = {11, 12, 13, 14};
    struct rig rig;
    struct seen seen = {.rig = &rig};

    rig_init(&rig);
    sgpu_set_observer(rig.gpu, &seeing, &seen);
    rig_fill(&rig, 0x10010, 0x20, 5);
    rig_copy_pages(&rig, SGPU_COPY_TO_PAGES, 0x10000, pages, 3);
    rig_execute(&rig, 1);
    expect_seen(&seen, "1/1+0,20 wrote l10010+20; 1/1+20,30 wrote r700000+2000; "
                       "1/1+20,30 wrote r650000+1000; ");
    /* A table of more than a page. */
    rig_pte(&rig, SGPU_OP_PTE_WRITE, 0, 0x20000, SGPU_TABLE_ENTRIES - 1, 4, entries);
    rig_pte(&rig, SGPU_OP_PTE_FILL, 0, 0x30000, SGPU_TABLE_ENTRIES - 2, SGPU_TABLE_ENTRIES + 3,
            entries);
    rig_execute(&rig, 1);
    expect_seen(&seen, "entries: 1/2+0,38 wrote l20ff8+8; entries: 1/2+0,38 wrote l21000+18; "
                       "entries: 1/2+38,20 wrote l30ff0+10; entries: 1/2+38,20 wrote l31000+1000; "
                       "entries: 1/2+38,20 wrote l32000+8; ");
    assert_int_equal(statistics_of(&rig).entries_written, 4 + SGPU_TABLE_ENTRIES + 3);
    assert_int_equal(rig_entries(&rig, 0x20000)[511], 11);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(rig_entries(&rig, 0x21000)[i], 12 + i);
    assert_int_equal(rig_entries(&rig, 0x21000)[3], 0);
    for (uint64_t i = 0; i < 3 * SGPU_TABLE_ENTRIES; i++)
        assert_int_equal(rig_entries(&rig, 0x30000 + i / 512 * PAGE_BYTES)[i % 512],
                         i >= 510 && i <= 1024 ? 11 : 0);
    rig_flush(&rig, 0, 0x40003, 0x1000, 0x5000);
    rig_flush(&rig, SGPU_TLB_ALL, 0x41000, 0x1000, 0x5000);
    rig_execute(&rig, 1);
    expect_seen(&seen, "flush 1 40003 1000-5000; flush 1 41000 0-0; ");
    rig_fini(&rig);
}

/* Writes to entries that are zero vanish, and nobody hears of a place. */
static void what_vanishes_is_counted_and_not_told(void **state)
{
    const uint64_t entry = 11;
    struct rig rig;
    struct seen seen = {.rig = &rig};
    uint64_t root;

    rig_init(&rig);
    root = rig_root(&rig);
    rig_map(&rig, root, VA & ~UINT64_C(0xfff), 1, SGPU_PTE_VALID | SGPU_PTE_ZERO);
    rig_map(&rig, root, VA + PAGE_BYTES, 1, 0x10000 | SGPU_PTE_VALID);
    page_store_write_tag(rig.local, 0x10000, PAGE_BYTES, 50);
    sgpu_set_observer(rig.gpu, &seeing, &seen);
    rig_fill(&rig, VA, 8, 3);
    rig_copy(&rig, 0, VA, VA + PAGE_BYTES, 0x10);
    rig_pte(&rig, SGPU_OP_PTE_WRITE, SGPU_PTE_TABLE_VIRTUAL, VA, 0, 1, &entry);
    rig_fence(&rig, 0, VA + 8, 77);
    rig_execute_virtual(&rig, 1, root);
    expect_seen(&seen, "");
    assert_int_equal(statistics_of(&rig).filled_bytes, 8);
    assert_int_equal(statistics_of(&rig).copied_bytes, 0x10);
    assert_int_equal(statistics_of(&rig).entries_written, 1);
    rig_copy(&rig, 0, VA + PAGE_BYTES, VA, 0x10); /* zeros from there */
    rig_execute_virtual(&rig, 1, root);
    expect_seen(&seen, "1/2+0,20 wrote l10000+10; ");
    assert_true(page_store_is_fill(rig.local, 0x10000, 0x10, 0, NULL));
    rig_fini(&rig);
}

static void each_submission_is_told_as_it_is_queued_and_as_it_begins(void **state)
{
    static const struct sgpu_observer observer = {.submission_queued = saw_queued,
                                                  .submission_begins = saw_submission};
    struct rig rig;
    struct seen seen = {.rig = &rig};

    rig_init(&rig);
    sgpu_set_observer(rig.gpu, &observer, &seen);
    rig_submit_at(&rig, 1, 0x40000, 0x5005, 0, SGPU_SUBMIT_VIRTUAL);
    rig_submit_at(&rig, 1, 0x50040, 0x6000, 0, 0);
    rig_submit_at(&rig, 1, 0, 0x7000, 9, SGPU_SUBMIT_VIRTUAL | SGPU_SUBMIT_FENCE_ONLY);
    expect_seen(&seen, "queued 1/1 at 40000+0 root 5005 of 32; runs 1/1; "
                       "queued 1/2 at 50040+0 root 0 of 0; "
                       "queued 1/3 at 0+9 root 7000 of 512; ");
    rig_run(&rig);
    expect_seen(&seen, "runs 1/2; runs 1/3; ");
    rig_fini(&rig);
}

/* ---- While something is under way ------------------------------------------------------------ */

enum second {
    SECOND_NOP,
    SECOND_IN,
    SECOND_OUT,
    SECOND_LOCAL,
    SECOND_NOTHING,
    SECOND_FILL,
    SECOND_PAGES,
    SECOND_GART,
    SECOND_GART_FILL,
    SECOND_PTE,
    SECOND_PTE_FILL,
    SECOND_PTE_MEETS,
    SECOND_FLUSH,
    SECOND_FENCE,
    SECOND_TOUCH,
    SECOND_CLEAN,
    SECOND_RENDER,
    SECONDS
};

/* Builds it; true: it starts while a copy of local memory below 8 MiB to the system goes on. */
static bool build_second(struct rig *rig, enum second second)
{
    static const uint64_t list[] = {0x2000, 0x2001}, nop = SGPU_PACKET_HEADER(SGPU_OP_NOP, 2);

    switch (second) {
    case SECOND_NOP:
        rig_bytes(rig, &nop, sizeof nop);
        return true;
    case SECOND_IN:
        rig_copy(rig, 0, 16 * MiB, SGPU_PA_SYSTEM | 0x2000000, PAGE_BYTES);
        return true;
    case SECOND_OUT:
        rig_copy(rig, 0, SGPU_PA_SYSTEM | 0x2000000, 16 * MiB, PAGE_BYTES);
        return true;
    case SECOND_LOCAL:
        rig_copy(rig, 0, 16 * MiB, 17 * MiB, PAGE_BYTES);
        return false;
    case SECOND_NOTHING:
        rig_copy(rig, 0, 16 * MiB, SGPU_PA_SYSTEM | 0x2000000, 0);
        return false;
    case SECOND_FILL:
        rig_fill(rig, 16 * MiB, PAGE_BYTES, 4);
        return true;
    case SECOND_PAGES:
        rig_copy_pages(rig, 0, 16 * MiB, list, 2);
        return true;
    case SECOND_GART:
        rig_gart(rig, SGPU_OP_GART_WRITE, 0, 0, 2, list);
        return true;
    case SECOND_GART_FILL:
        rig_gart(rig, SGPU_OP_GART_FILL, 0, 0, 2, list);
        return true;
    case SECOND_PTE:
        rig_pte(rig, SGPU_OP_PTE_WRITE, 0, 8 * MiB, 0, 2, list);
        return true;
    case SECOND_PTE_FILL:
        rig_pte(rig, SGPU_OP_PTE_FILL, 0, 16 * MiB, 0, 2, list);
        return true;
    case SECOND_PTE_MEETS:
        rig_pte(rig, SGPU_OP_PTE_WRITE, 0, 8 * MiB - PAGE_BYTES, 511, 2, list);
        return false;
    case SECOND_FLUSH:
        rig_flush(rig, SGPU_TLB_ALL, 0, 0, 0);
        return true;
    case SECOND_FENCE:
        rig_fence(rig, 0, 16 * MiB, 77);
        return true;
    case SECOND_TOUCH:
        touch(rig, 0, 16 * MiB, 8);
        return false;
    case SECOND_CLEAN:
        clean(rig, 0, 16 * MiB, 8);
        return false;
    case SECOND_RENDER:
        rig_render(rig, 1, 1, NULL, 0);
        return false;
    case SECONDS:
        break;
    }
    return false;
}

static void what_overtakes_a_copy_starts_before_its_end_and_nothing_else(void **state)
{
    const struct sgpu_config config = {.straps = SGPU_STRAP_BOTH_WAYS};
    const struct machine_config board = rig_board();

    for (enum second second = 0; second < SECONDS; second++) {
        struct rig rig;
        uint64_t value;
        bool overtakes;

        rig_init_with(&rig, &board, &config);
        rig_copy(&rig, 0, SGPU_PA_SYSTEM | 16 * MiB, 0, 8 * MiB);
        overtakes = build_second(&rig, second);
        rig_fill(&rig, 24 * MiB, 64, 5);
        rig_submit(&rig, SGPU_NODE_COPY);
        machine_run_until(rig.machine, machine_now(rig.machine) + 5000);
        assert_int_equal(statistics_of(&rig).packets, overtakes ? 3 : 1);
        if (second == SECOND_FENCE) { /* it starts, and its value comes in turn */
            page_store_read(rig.local, 16 * MiB, &value, 8);
            assert_int_equal(value, 0);
        }
        assert_int_equal(rig_completed(&rig, SGPU_NODE_COPY), 0);
        rig_expect_done(&rig, SGPU_NODE_COPY, rig.fence);
        assert_int_equal(statistics_of(&rig).packets, 3);
        page_store_read(rig.local, 16 * MiB, &value, 8);
        assert_true((value == 77) == (second == SECOND_FENCE));
        rig_fini(&rig);
    }
}

/* What comes before the fault has happened, whether the node could have gone on or not. */
static void what_faults_part_of_the_way_has_the_effect_of_its_beginning(void **state)
{
    static const uint64_t list[] = {0x2000, 0x2100, 64 * MiB / PAGE_BYTES, 0x2200};
    const struct machine_config board = rig_board();

    for (unsigned both_ways = 0; both_ways < 2; both_ways++) {
        const struct sgpu_config config = {.straps = both_ways ? SGPU_STRAP_BOTH_WAYS : 0};
        struct rig rig;

        rig_init_with(&rig, &board, &config);
        page_store_write_tag(rig.local, 0, 4 * PAGE_BYTES, 50);
        page_store_write_tag(rig.local, LOCAL_BYTES - 2 * PAGE_BYTES, 2 * PAGE_BYTES, 70);
        rig_copy_pages(&rig, SGPU_COPY_TO_PAGES, 0, list, 4);
        rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, SGPU_PA_SYSTEM | 64 * MiB);
        assert_true(page_store_is_tag(rig.ram, 0x2000 * PAGE_BYTES, PAGE_BYTES, 50, NULL));
        assert_true(page_store_is_tag(rig.ram, 0x2100 * PAGE_BYTES, PAGE_BYTES, 51, NULL));
        assert_int_equal(page_store_kind(rig.ram, 0x2200), PAGE_ZERO);
        rig_copy_pages(&rig, SGPU_COPY_TO_PAGES, LOCAL_BYTES - PAGE_BYTES, list, 2);
        rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, LOCAL_BYTES);
        assert_true(page_store_is_tag(rig.ram, 0x2000 * PAGE_BYTES, PAGE_BYTES, 71, NULL));
        assert_true(page_store_is_tag(rig.ram, 0x2100 * PAGE_BYTES, PAGE_BYTES, 51, NULL));
        rig_copy(&rig, 0, SGPU_PA_SYSTEM | 48 * MiB, LOCAL_BYTES - 2 * PAGE_BYTES, 3 * PAGE_BYTES);
        rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, LOCAL_BYTES);
        assert_true(page_store_is_tag(rig.ram, 48 * MiB, 2 * PAGE_BYTES, 70, NULL));
        rig_copy(&rig, 0, SGPU_PA_SYSTEM | (64 * MiB - PAGE_BYTES), 0, 2 * PAGE_BYTES);
        rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, SGPU_PA_SYSTEM | 64 * MiB);
        assert_true(page_store_is_tag(rig.ram, 64 * MiB - PAGE_BYTES, PAGE_BYTES, 50, NULL));
        rig_fill(&rig, LOCAL_BYTES - PAGE_BYTES, 2 * PAGE_BYTES, 9);
        rig_expect_fault(&rig, 1, SGPU_FAULT_BUS, LOCAL_BYTES);
        assert_true(page_store_is_fill(rig.local, LOCAL_BYTES - PAGE_BYTES, PAGE_BYTES, 9, NULL));
        rig_execute(&rig, 1); /* and the node goes on */
        rig_fini(&rig);
    }
}

/* It ends again behind the copy, and does not start again. */
static void entries_that_fault_behind_a_copy_fault_once(void **state)
{
    static const uint64_t entries[] = {11, 12};
    const struct sgpu_config config = {.straps = SGPU_STRAP_BOTH_WAYS};
    const struct machine_config board = rig_board();
    struct rig rig;

    rig_init_with(&rig, &board, &config);
    rig_copy(&rig, 0, SGPU_PA_SYSTEM | 16 * MiB, 0, 8 * MiB);
    rig_pte(&rig, SGPU_OP_PTE_WRITE, 0, LOCAL_BYTES - PAGE_BYTES, 511, 2, entries);
    rig_submit(&rig, SGPU_NODE_COPY);
    machine_run_until(rig.machine, machine_now(rig.machine) + 5000);
    assert_int_equal(statistics_of(&rig).packets, 2);
    assert_int_equal(statistics_of(&rig).faults, 0);
    rig_expect_fault_at(&rig, SGPU_NODE_COPY, rig.fence, SGPU_FAULT_BUS, LOCAL_BYTES);
    assert_int_equal(statistics_of(&rig).copied_bytes, 8 * MiB);
    assert_int_equal(statistics_of(&rig).packets, 2);
    assert_int_equal(statistics_of(&rig).faults, 1);
    assert_int_equal(rig_entries(&rig, LOCAL_BYTES - PAGE_BYTES)[511], 11);
    rig_execute(&rig, SGPU_NODE_COPY);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_touch_writes_zeros_as_long_as_it_is),
        cmocka_unit_test(a_touch_of_what_is_not_there_faults),
        cmocka_unit_test(a_touch_is_of_1_to_8_bytes),
        cmocka_unit_test(a_clean_looks_up_each_page_of_its_space),
        cmocka_unit_test(sizes_ends_and_durations_go_up_to_their_limit),
        cmocka_unit_test(a_submission_starts_at_its_alignment_and_ends_with_a_packet),
        cmocka_unit_test(a_surface_with_a_pitch_is_not_tiled),
        cmocka_unit_test(a_render_in_pieces_begins_once_and_ends_once),
        cmocka_unit_test(a_render_without_a_token_has_that_of_its_submission),
        cmocka_unit_test(a_blit_goes_through_entries_that_are_zero),
        cmocka_unit_test(an_address_of_a_space_has_no_pitch),
        cmocka_unit_test(what_copies_fills_and_entries_write_is_told_piece_by_piece),
        cmocka_unit_test(what_vanishes_is_counted_and_not_told),
        cmocka_unit_test(each_submission_is_told_as_it_is_queued_and_as_it_begins),
        cmocka_unit_test(what_overtakes_a_copy_starts_before_its_end_and_nothing_else),
        cmocka_unit_test(what_faults_part_of_the_way_has_the_effect_of_its_beginning),
        cmocka_unit_test(entries_that_fault_behind_a_copy_fault_once),
    };

    return cmocka_run_group_tests_name("sgpu/packets", tests, NULL, NULL);
}
