/*
 * Foreign pages against the plainest model: an array of bytes, of which a part is another process's
 * memory.
 */
#define _GNU_SOURCE
#include "machine/page_foreign.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { STORE_PAGES = 1100, REMOTE_PAGES = 96, SHOWN_PAGES = 40 };

struct world {
    struct page_store *store, *other; /* the other has no foreign pages */
    struct page_foreign memory;
    uint8_t *client; /* the process's own memory */
    uint8_t *seen;   /* its mapping of the file */
    uint64_t remote[REMOTE_PAGES], shown[SHOWN_PAGES];
    uint8_t *model, *other_model; /* of the stores */
    struct rng rng;
    bool is_gone;
};

static bool read_client(void *context, uint64_t address, void *out, uint64_t bytes)
{
    const struct world *world = context;

    memset(out, 0, bytes);
    if (!world->is_gone)
        memcpy(out, (const void *)(uintptr_t)address, bytes);
    return !world->is_gone;
}

static bool write_client(void *context, uint64_t address, const void *from, uint64_t bytes)
{
    const struct world *world = context;

    if (!world->is_gone)
        memcpy((void *)(uintptr_t)address, from, bytes);
    return !world->is_gone;
}

static void make(struct world *world, uint64_t seed)
{
    *world = (struct world){0};
    rng_init(&world->rng, seed);
    world->store = page_store_create(base_services_libc(), STORE_PAGES);
    world->other = page_store_create(base_services_libc(), STORE_PAGES);
    world->client = aligned_alloc(PAGE_BYTES, REMOTE_PAGES * PAGE_BYTES);
    world->model = calloc(STORE_PAGES, PAGE_BYTES);
    world->other_model = calloc(STORE_PAGES, PAGE_BYTES);
    world->memory = (struct page_foreign){.context = world,
                                          .file = memfd_create("client", MFD_CLOEXEC),
                                          .read = read_client,
                                          .write = write_client};
    assert_non_null(world->store);
    assert_non_null(world->other);
    assert_int_equal(ftruncate(world->memory.file, SHOWN_PAGES * PAGE_BYTES), 0);
    world->seen = mmap(NULL, SHOWN_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                       world->memory.file, 0);
    assert_ptr_not_equal(world->seen, MAP_FAILED);
    for (unsigned i = 0; i < REMOTE_PAGES * PAGE_BYTES; i++)
        world->client[i] = (uint8_t)rng_next(&world->rng);
    /* In two pieces, of which the first goes over the end of a group of 512 pages. */
    for (unsigned i = 0; i < REMOTE_PAGES; i++)
        world->remote[i] = (i < 40 ? 490 : 660) + i;
    for (unsigned i = 0; i < SHOWN_PAGES; i++)
        world->shown[i] = i % 2 ? 200 + i : 300 + i;
}

static void end(struct world *world)
{
    page_store_destroy(world->store);
    page_store_destroy(world->other);
    munmap(world->seen, SHOWN_PAGES * PAGE_BYTES);
    close(world->memory.file);
    free(world->client);
    free(world->model);
    free(world->other_model);
}

/* What the process has belongs in the model at these pages. */
static void sync_model(struct world *world)
{
    for (unsigned i = 0; i < REMOTE_PAGES; i++)
        memcpy(world->model + world->remote[i] * PAGE_BYTES, world->client + i * PAGE_BYTES,
               PAGE_BYTES);
}

static void make_foreign(struct world *world)
{
    assert_true(page_store_make_remote(world->store, &world->memory, world->remote, REMOTE_PAGES,
                                       (uintptr_t)world->client));
    assert_true(page_store_show_in(world->store, &world->memory, world->shown, SHOWN_PAGES, 0));
    sync_model(world);
}

static void play(struct world *world)
{
    const uint64_t size = STORE_PAGES * PAGE_BYTES;
    const uint64_t bytes = 1 + rng_below(&world->rng, rng_below(&world->rng, 2) ? 9000 : 200000);
    const bool is_aligned = rng_below(&world->rng, 2);
    uint64_t to = rng_below(&world->rng, size - bytes), from = rng_below(&world->rng, size - bytes);
    const uint32_t pattern = (uint32_t)rng_next(&world->rng);
    uint8_t *content;

    if (is_aligned) {
        to -= to % PAGE_BYTES;
        from -= from % PAGE_BYTES;
    }
    switch (rng_below(&world->rng, 5)) {
    case 0:
        page_store_copy_bytes(world->other, to, world->store, from, bytes);
        memcpy(world->other_model + to, world->model + from, bytes);
        break;
    case 1:
        page_store_copy_bytes(world->store, to, world->other, from, bytes);
        memcpy(world->model + to, world->other_model + from, bytes);
        break;
    case 2:
        page_store_fill(world->store, to, bytes, pattern);
        for (uint64_t i = 0; i < bytes; i++)
            world->model[to + i] = (uint8_t)(pattern >> (to + i) % 4 * 8);
        break;
    case 3:
        content = malloc(bytes);
        for (uint64_t i = 0; i < bytes; i++)
            content[i] = (uint8_t)rng_next(&world->rng);
        page_store_write(world->store, to, content, bytes);
        memcpy(world->model + to, content, bytes);
        free(content);
        break;
    case 4:
        if (to + bytes > from && from + bytes > to)
            break;
        page_store_copy_bytes(world->store, to, world->store, from, bytes);
        memcpy(world->model + to, world->model + from, bytes);
        break;
    }
}

static void is_as_the_model(struct world *world)
{
    uint8_t *found = malloc(STORE_PAGES * PAGE_BYTES);

    page_store_read(world->store, 0, found, STORE_PAGES * PAGE_BYTES);
    assert_memory_equal(found, world->model, STORE_PAGES * PAGE_BYTES);
    page_store_read(world->other, 0, found, STORE_PAGES * PAGE_BYTES);
    assert_memory_equal(found, world->other_model, STORE_PAGES * PAGE_BYTES);
    free(found);
    for (unsigned i = 0; i < REMOTE_PAGES; i++)
        assert_memory_equal(world->client + i * PAGE_BYTES,
                            world->model + world->remote[i] * PAGE_BYTES, PAGE_BYTES);
    for (unsigned i = 0; i < SHOWN_PAGES; i++)
        assert_memory_equal(world->seen + i * PAGE_BYTES,
                            world->model + world->shown[i] * PAGE_BYTES, PAGE_BYTES);
    assert_true(page_store_check(world->store));
}

static void operations_agree_with_an_array(void **state)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct world world;

        make(&world, seed);
        for (unsigned i = 0; i < 30; i++)
            play(&world);
        make_foreign(&world);
        for (unsigned round = 0; round < 8; round++) {
            for (unsigned i = 0; i < 25; i++)
                play(&world);
            /* The process writes, too: through its mapping, and its own memory. */
            world.seen[rng_below(&world.rng, SHOWN_PAGES * PAGE_BYTES)] ^= 0x55;
            for (unsigned i = 0; i < SHOWN_PAGES; i++)
                memcpy(world.model + world.shown[i] * PAGE_BYTES, world.seen + i * PAGE_BYTES,
                       PAGE_BYTES);
            world.client[rng_below(&world.rng, REMOTE_PAGES * PAGE_BYTES)] ^= 0x55;
            sync_model(&world);
            is_as_the_model(&world);
        }
        end(&world);
    }
}

static void the_content_of_shown_pages_stays_when_they_are_shown_no_more(void **state)
{
    struct world world;
    uint8_t page[PAGE_BYTES];

    make(&world, 7);
    make_foreign(&world);
    memset(world.seen, 0xa5, PAGE_BYTES);
    memset(world.seen + PAGE_BYTES, 0x5a, PAGE_BYTES);
    page_store_end_show(world.store, world.shown, 1, false);
    page_store_end_show(world.store, world.shown + 1, 1, true);
    memset(world.seen, 0, 2 * PAGE_BYTES); /* nobody's any more */
    page_store_read(world.store, world.shown[0] * PAGE_BYTES, page, sizeof page);
    for (unsigned i = 0; i < PAGE_BYTES; i++)
        assert_int_equal(page[i], 0xa5);
    page_store_read(world.store, world.shown[1] * PAGE_BYTES, page, sizeof page);
    for (unsigned i = 0; i < PAGE_BYTES; i++)
        assert_int_equal(page[i], 0);
    assert_true(page_store_show_in(world.store, &world.memory, world.shown, 2, 0));
    assert_int_equal(world.seen[5], 0xa5);
    end(&world);
}

static void what_is_foreign_is_not_made_so_twice_and_remote_pages_are_not_mapped(void **state)
{
    struct page_mapping mapping;
    struct world world;

    make(&world, 8);
    make_foreign(&world);
    assert_false(page_store_make_remote(world.store, &world.memory, world.shown, 1,
                                        (uintptr_t)world.client));
    assert_false(page_store_show_in(world.store, &world.memory, world.remote, 1, 0));
    assert_false(page_store_map(world.store, world.remote, 3, &mapping));
    assert_true(page_store_map(world.store, world.shown, 3, &mapping));
    memset(mapping.address, 0x33, 3 * PAGE_BYTES);
    assert_int_equal(world.seen[0], 0x33);
    assert_int_equal(world.seen[3 * PAGE_BYTES - 1], 0x33);
    page_store_unmap(world.store, &mapping);
    /* A page that is mapped is not shown: whoever has it mapped would see the old one. */
    assert_true(page_store_map(world.store, (uint64_t[]){900, 905}, 2, &mapping));
    assert_false(page_store_show_in(world.store, &world.memory, (uint64_t[]){905}, 1, 0));
    page_store_unmap(world.store, &mapping);
    assert_true(page_store_check(world.store));
    end(&world);
}

static void two_pages_may_be_one_of_the_process_and_a_gone_process_reads_as_zero(void **state)
{
    const uint64_t twin = 1000;
    uint8_t byte = 0x77;
    struct world world;

    make(&world, 9);
    make_foreign(&world);
    assert_true(
        page_store_make_remote(world.store, &world.memory, &twin, 1, (uintptr_t)world.client));
    page_store_write(world.store, twin * PAGE_BYTES + 9, &byte, 1);
    assert_false(page_store_compare(world.store, twin, world.store, world.remote[1], 1, NULL));
    byte = 0;
    page_store_read(world.store, world.remote[0] * PAGE_BYTES + 9, &byte, 1);
    assert_int_equal(byte, 0x77);
    assert_true(page_store_compare(world.store, twin, world.store, world.remote[0], 1, NULL));
    world.is_gone = true;
    page_store_read(world.store, twin * PAGE_BYTES + 9, &byte, 1);
    assert_int_equal(byte, 0);
    page_store_end_remote(world.store, &twin, 1);
    assert_int_equal(page_store_kind(world.store, twin), PAGE_ZERO);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_agree_with_an_array),
        cmocka_unit_test(the_content_of_shown_pages_stays_when_they_are_shown_no_more),
        cmocka_unit_test(what_is_foreign_is_not_made_so_twice_and_remote_pages_are_not_mapped),
        cmocka_unit_test(two_pages_may_be_one_of_the_process_and_a_gone_process_reads_as_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
