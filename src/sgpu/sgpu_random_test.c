/* GPU: whatever bytes are submitted, it completes or faults; the same seed does the same. */
#include "sgpu/test_rig.h"

#include "base/failing_services.h"

#include <string.h>

static uint64_t random_address(struct rng *rng, bool is_virtual)
{
    static const uint64_t bases[] = {0, SGPU_PA_APERTURE, SGPU_PA_SYSTEM, 60 * MiB};
    uint64_t offset = rng_below(rng, 8 * MiB);

    if (rng_chance(rng, 1, 30))
        return rng_next(rng);
    if (rng_chance(rng, 2, 3))
        offset = align_down(offset, PAGE_BYTES);
    return (is_virtual ? 4 * GiB : bases[rng_below(rng, 4)]) + offset;
}

static uint64_t random_bytes(struct rng *rng)
{
    uint64_t bytes = rng_below(rng, rng_chance(rng, 1, 5) ? 2 * MiB : 8 * PAGE_BYTES);

    return rng_chance(rng, 1, 2) ? align_down(bytes, PAGE_BYTES) : bytes;
}

static uint64_t random_page(struct rng *rng)
{
    return rng_below(rng, rng_chance(rng, 1, 50) ? UINT64_C(1) << 40 : 8 * 1024);
}

static void build_random_packet(struct rig *rig, struct rng *rng, bool is_virtual)
{
    uint64_t list[64];
    struct sgpu_render_ref refs[4];
    uint32_t count = (uint32_t)rng_below(rng, 64);

    for (uint32_t i = 0; i < 64; i++)
        list[i] = random_page(rng);
    switch (rng_below(rng, 9)) {
    case 0:
        rig_copy(rig, 0, random_address(rng, is_virtual), random_address(rng, is_virtual),
                 random_bytes(rng));
        break;
    case 1:
        rig_fill(rig, align_down(random_address(rng, is_virtual), 4),
                 align_down(random_bytes(rng), 4), (uint32_t)rng_below(rng, 3));
        break;
    case 2:
        rig_copy_pages(rig, (uint32_t)rng_below(rng, 2),
                       align_down(random_address(rng, false), PAGE_BYTES), list, count);
        break;
    case 3:
        rig_gart(rig, SGPU_OP_GART_WRITE, 0, (uint32_t)rng_below(rng, 2048), count, list);
        break;
    case 4:
        rig_gart(rig, SGPU_OP_GART_FILL, 0, (uint32_t)rng_below(rng, 2048), count, list);
        break;
    case 5:
        for (uint32_t i = 0; i < 64; i++)
            list[i] = list[i] << 12 | rng_below(rng, 64);
        rig_pte(rig, SGPU_OP_PTE_WRITE, 0, align_down(random_address(rng, false), PAGE_BYTES), 0,
                count, list);
        break;
    case 6:
        rig_flush(rig, (uint32_t)rng_below(rng, 2), 0, 0, rng_below(rng, 8 * GiB));
        break;
    case 7:
        rig_fence(rig, (uint32_t)rng_below(rng, 2), align_down(random_address(rng, is_virtual), 8),
                  rng_next(rng));
        break;
    case 8:
        for (int i = 0; i < 4; i++)
            refs[i] = (struct sgpu_render_ref){
                .address = random_address(rng, is_virtual),
                .bytes = random_bytes(rng),
                .key = rng_below(rng, 1000),
                .flags = (uint32_t)rng_below(rng, 4),
            };
        rig_render(rig, 1, rng_below(rng, 100000), refs, (uint32_t)rng_below(rng, 5));
        break;
    }
}

/* Spoil a few bytes of what has been built. */
static void spoil(struct rig *rig, struct rng *rng)
{
    for (uint64_t i = rng_below(rng, 4); i && rig->used; i--) {
        uint8_t byte = (uint8_t)rng_next(rng);

        page_store_write(rig->ram, rig->command_pa + rng_below(rng, rig->used), &byte, 1);
    }
}

static uint64_t reset_faulted_nodes(struct rig *rig)
{
    uint64_t faults = 0;

    for (uint32_t node = 0; node < 2; node++) {
        uint64_t base = SGPU_REG_NODE(node);

        if (rig_read(rig, base + SGPU_NODE_FAULT_KIND) == SGPU_FAULT_NONE)
            continue;
        faults++;
        rig_reset_node(rig, node);
    }
    return faults;
}

/* A run of random submissions on both nodes; returns its digest, counts what happened. */
static uint64_t random_run(uint64_t seed, int rounds, uint64_t *out_faults,
                           struct sgpu_statistics *out_statistics)
{
    struct machine_config board = rig_board();
    struct sgpu_config config = {0};
    struct rng rng;
    struct rig rig;
    uint64_t digest;
    uint64_t root;

    board.seed = seed;
    board.jitter_ns = 500;
    rng_init(&rng, seed);
    rig_init_with(&rig, &board, &config);
    root = rig_root(&rig);
    rig_map(&rig, root, 4 * GiB, 2048, SGPU_PTE_VALID | 8 * MiB);
    *out_faults = 0;
    for (int round = 0; round < rounds; round++) {
        for (uint32_t node = 0; node < 2; node++) {
            bool is_virtual = rng_chance(&rng, 1, 2);

            for (uint64_t i = rng_below(&rng, 6); i; i--)
                build_random_packet(&rig, &rng, is_virtual);
            if (rng_chance(&rng, 1, 3))
                spoil(&rig, &rng);
            if (is_virtual)
                rig_submit_virtual(&rig, node, root);
            else
                rig_submit(&rig, node);
        }
        rig_run(&rig);
        *out_faults += reset_faulted_nodes(&rig);
        assert_true(sgpu_is_idle(rig.gpu));
        rig.command_pa = rig.command_base;
    }
    assert_true(page_store_check(rig.ram));
    assert_true(page_store_check(rig.local));
    sgpu_get_statistics(rig.gpu, out_statistics);
    digest =
        page_store_digest(rig.ram) ^ page_store_digest(rig.local) ^ machine_digest(rig.machine);
    rig_fini(&rig);
    return digest;
}

static void random_packets_complete_or_fault(void **state)
{
    struct sgpu_statistics statistics;
    uint64_t faults;

    for (uint64_t seed = 1; seed <= 3; seed++) {
        random_run(seed, 300, &faults, &statistics);
        assert_true(faults > 30);
        assert_true(statistics.submissions > 100);
        assert_int_equal(statistics.submissions + faults, 600);
    }
}

static void the_same_seed_does_the_same(void **state)
{
    struct sgpu_statistics first;
    struct sgpu_statistics second;
    uint64_t faults;
    uint64_t digest = random_run(7, 100, &faults, &first);

    assert_int_equal(random_run(7, 100, &faults, &second), digest);
    assert_memory_equal(&first, &second, sizeof first);
    assert_int_not_equal(random_run(8, 100, &faults, &second), digest);
}

static void random_bytes_as_a_submission_fault_and_never_crash(void **state)
{
    uint8_t bytes[512];
    struct rng rng;
    struct rig rig;
    uint64_t faults = 0;

    rig_init(&rig);
    rng_init(&rng, 5);
    for (int round = 0; round < 5000; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)rng_next(&rng);
        /* Every other time a known opcode and a plausible length, so that fields are reached. */
        if (round % 2) {
            bytes[0] = (uint8_t)rng_below(&rng, 11);
            bytes[1] = (uint8_t)(8 + 2 * rng_below(&rng, 12));
            memset(bytes + 2, 0, 6);
        }
        rig_bytes(&rig, bytes, rng_below(&rng, sizeof bytes + 1));
        rig_submit_at(&rig, round % 2, SGPU_PA_SYSTEM | rig.command_pa, rng_next(&rng), rig.used,
                      (uint32_t)rng_below(&rng, 2) ? 0 : (uint32_t)(rng_next(&rng) & 2));
        rig.used = 0;
        rig_run(&rig);
        faults += reset_faulted_nodes(&rig);
        assert_true(sgpu_is_idle(rig.gpu));
    }
    assert_true(faults > 2000);
    rig_fini(&rig);
}

static void every_lost_allocation_leaves_nothing_behind(void **state)
{
    struct machine_config board = rig_board();
    const struct sgpu_config config = {.straps = SGPU_STRAP_BOTH_WAYS | SGPU_STRAP_HOST_APERTURE};
    struct failing_services memory;

    for (uint64_t n = 1;; n++) {
        struct machine *machine;
        struct sgpu *gpu;

        failing_services_init(&memory);
        machine = machine_create(&memory.services, &board);
        assert_non_null(machine);
        failing_services_fail_at(&memory, n);
        gpu = sgpu_create(machine, &config);
        assert_true(memory.has_failed == (gpu == NULL));
        sgpu_destroy(gpu);
        machine_destroy(machine);
        assert_int_equal(memory.live_blocks, 0);
        if (!memory.has_failed)
            break;
    }
}

static void translation_works_without_memory_for_its_cache(void **state)
{
    struct machine_config board = rig_board();
    struct sgpu_config config = {0};
    struct failing_services memory;

    for (uint64_t n = 1;; n++) {
        struct rig rig = {0};
        uint64_t root;
        uint64_t pfn;

        failing_services_init(&memory);
        rig.machine = machine_create(&memory.services, &board);
        rig.gpu = sgpu_create(rig.machine, &config);
        rig.ram = machine_ram(rig.machine);
        rig.local = machine_local(rig.machine);
        rig.bar0 = machine_map_physical(rig.machine, machine_bar0_pa(rig.machine), SGPU_BAR0_BYTES);
        rig.next_table = 32 * MiB;
        assert_true(machine_alloc_contiguous(rig.machine, RIG_COMMAND_PAGES, 1, &pfn));
        rig.command_base = rig.command_pa = pfn * PAGE_BYTES;
        root = rig_root(&rig);
        rig_map(&rig, root, 4 * GiB, 1024, SGPU_PTE_VALID);
        for (uint64_t i = 0; i < 6; i++)
            rig_fill(&rig, 4 * GiB + i * 600 * 1024, PAGE_BYTES, 1);
        failing_services_fail_at(&memory, n);
        rig_submit_virtual(&rig, 0, root);
        rig_run(&rig);
        /* No memory for the packet itself is a bus fault; for the cache it is nothing. */
        if (!reset_faulted_nodes(&rig))
            assert_int_equal(page_store_value(rig.local, 5 * 150), 1);
        rig_reset_node(&rig, 0); /* what the cache had is used again, and no more of it made */
        rig_fill(&rig, 4 * GiB, PAGE_BYTES, 2);
        rig_submit_virtual(&rig, 0, root);
        rig_run(&rig);
        if (!reset_faulted_nodes(&rig))
            assert_int_equal(page_store_value(rig.local, 0), 2);
        rig_fini(&rig);
        assert_int_equal(memory.live_blocks, 0);
        if (!memory.has_failed)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_packets_complete_or_fault),
        cmocka_unit_test(the_same_seed_does_the_same),
        cmocka_unit_test(random_bytes_as_a_submission_fault_and_never_crash),
        cmocka_unit_test(every_lost_allocation_leaves_nothing_behind),
        cmocka_unit_test(translation_works_without_memory_for_its_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
