/* Write watches: each instruction that writes is told, with the bytes that it changed. */
#include "machine/write_watch.h"

#include "machine/page_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define MOST 64u

struct told {
    const uint8_t *at;
    size_t bytes;
    const struct page_store *store;
    uint64_t page;
};

/* A signal handler writes it. */
static struct {
    volatile unsigned come, wrote;
    struct told told[MOST];
} seen;

static void comes(void *context, const void *signal_context)
{
    assert_ptr_equal(context, &seen);
    seen.come++;
}

static void wrote(void *context, const uint8_t *at, size_t bytes, const struct page_store *store,
                  uint64_t page)
{
    unsigned place = seen.wrote % MOST;

    seen.told[place] = (struct told){at, bytes, store, page};
    seen.wrote++;
}

static void begin(void *start, size_t bytes)
{
    const struct write_watch_piece piece = {start, bytes};
    const struct write_watch watch = {&seen, &piece, start ? 1 : 0, comes, wrote};

    seen.come = seen.wrote = 0;
    assert_true(write_watch_begin(&watch));
    assert_false(write_watch_begin(&watch));
}

static void assert_told(unsigned place, const void *at, size_t bytes)
{
    assert_true(place < seen.wrote);
    assert_ptr_equal(seen.told[place].at, at);
    assert_int_equal(seen.told[place].bytes, bytes);
}

static uint8_t *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static void each_write_is_told_with_its_bytes(void **state)
{
    uint8_t *memory = map(3 * PAGE_BYTES);
    volatile uint32_t *word = (uint32_t *)(memory + 0x20);
    struct odd {
        volatile uint64_t value;
    } __attribute__((packed)) *crossing = (struct odd *)(memory + 2 * PAGE_BYTES - 4);
    volatile uint64_t *beside = (uint64_t *)(memory + 2 * PAGE_BYTES + 8);

    begin(memory + 0x10, 2 * PAGE_BYTES - 0x10);
    *word = 0x01020304;
    *word = 0x01020305; /* a byte of it is another */
    *word = 0x01020305; /* none is */
    *beside = 1;        /* not watched */
    crossing->value = UINT64_C(0x1111111122222222);
    assert_int_equal(*word, 0x01020305);
    write_watch_end();
    *word = 7;
    assert_int_equal(seen.come, 4);
    assert_int_equal(seen.wrote, 4);
    assert_told(0, (uint8_t *)word, 4);
    assert_told(1, (uint8_t *)word, 1);
    assert_told(2, (uint8_t *)word, 1);
    assert_told(3, (uint8_t *)crossing, 4);
    assert_null(seen.told[0].store);
    munmap(memory, 3 * PAGE_BYTES);
}

static void a_string_instruction_is_told_step_by_step(void **state)
{
    uint8_t *memory = map(PAGE_BYTES), *to = memory;
    const char text[] = "0123456789";
    const char *from = text;
    size_t count = 10;

    begin(memory, PAGE_BYTES);
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    write_watch_end();
    assert_memory_equal(memory, text, 10);
    assert_int_equal(seen.wrote, 10);
    assert_told(9, memory + 9, 1);
    munmap(memory, PAGE_BYTES);
}

static void touched(void *context, struct page_store *store, uint64_t page, uint8_t *address)
{
}

static void unmapped(void *context, const uint8_t *address, uint64_t count)
{
}

static void pages_of_a_watched_store_are_watched_again_and_again(void **state)
{
    static const struct page_watch watch = {.touched = touched, .unmapped = unmapped};
    struct page_store *store = page_store_create(base_services_libc(), 4096);
    const uint64_t pages[] = {5, 900};
    struct page_mapping mapping;
    volatile uint32_t *word;

    assert_non_null(store);
    assert_true(page_store_set_watch(store, &watch));
    assert_true(page_store_map(store, pages, 2, &mapping));
    word = (uint32_t *)(mapping.address + PAGE_BYTES + 0x40);
    *word = 0x01010101; /* opens the page */
    begin(NULL, 0);
    *word = 0x02020202;
    *word = 0x03030303;
    write_watch_end();
    *word = 0x04040404;
    assert_int_equal(seen.wrote, 2);
    assert_told(1, (uint8_t *)word, 4);
    assert_ptr_equal(seen.told[1].store, store);
    assert_int_equal(seen.told[1].page, 900);
    page_store_unmap(store, &mapping);
    page_store_destroy(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_write_is_told_with_its_bytes),
        cmocka_unit_test(a_string_instruction_is_told_step_by_step),
        cmocka_unit_test(pages_of_a_watched_store_are_watched_again_and_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
