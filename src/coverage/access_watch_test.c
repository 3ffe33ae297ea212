/* Access watch: instructions that the compiler makes, and a few byte by byte. */
#include "coverage/access_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define BYTES 256u

static uint8_t *memory;

static int make_memory(void **state)
{
    memory = access_watch_alloc(BYTES);
    return memory ? 0 : -1;
}

static int free_memory(void **state)
{
    access_watch_free(memory, BYTES);
    return 0;
}

/* Exactly [offset, offset + bytes) was read. */
static void assert_read(size_t offset, size_t bytes)
{
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(access_watch_was_read(i, 1), i >= offset && i < offset + bytes);
}

#define SIZE_TEST(type)                                                                            \
    static void a_read_of_##type##_is_seen_whole(void **state)                                     \
    {                                                                                              \
        volatile type *at = (volatile type *)(memory + 64);                                        \
        type value;                                                                                \
                                                                                                   \
        if (!access_watch_is_available())                                                          \
            skip();                                                                                \
        *at = (type)0x1122334455667788;                                                            \
        assert_true(access_watch_begin(memory, BYTES));                                            \
        value = *at;                                                                               \
        access_watch_end();                                                                        \
        assert_true(value == (type)0x1122334455667788);                                            \
        assert_read(64, sizeof value);                                                             \
    }
SIZE_TEST(uint8_t)
SIZE_TEST(uint16_t)
SIZE_TEST(uint32_t)
SIZE_TEST(uint64_t)

static void a_write_is_no_read(void **state)
{
    if (!access_watch_is_available())
        skip();
    assert_true(access_watch_begin(memory, BYTES));
    *(volatile uint32_t *)(memory + 32) = 7;
    access_watch_end();
    assert_int_equal(memory[32], 7);
    assert_read(0, 0);
}

static void a_copied_structure_is_read_whole(void **state)
{
    struct structure {
        uint64_t words[8];
    };
    struct structure copy;

    if (!access_watch_is_available())
        skip();
    for (unsigned i = 0; i < sizeof copy; i++)
        memory[16 + i] = (uint8_t)i;
    assert_true(access_watch_begin(memory, BYTES));
    copy = *(volatile struct structure *)(memory + 16);
    access_watch_end();
    assert_int_equal(copy.words[1] & 0xFF, 8);
    assert_read(16, sizeof copy);
}

static void a_watch_forgets_the_one_before(void **state)
{
    if (!access_watch_is_available())
        skip();
    assert_true(access_watch_begin(memory, BYTES));
    (void)*(volatile uint8_t *)memory;
    assert_false(access_watch_begin(memory, BYTES)); /* one at a time */
    access_watch_end();
    assert_read(0, 1);
    assert_true(access_watch_begin(memory, BYTES));
    access_watch_end();
    assert_read(0, 0);
    access_watch_end();
}

static void neighbours_on_the_page_work_and_do_not_count(void **state)
{
    if (!access_watch_is_available())
        skip();
    assert_true(access_watch_begin(memory + 64, 64));
    *(volatile uint32_t *)memory = 5;
    assert_int_equal(*(volatile uint32_t *)memory, 5);
    (void)*(volatile uint16_t *)(memory + 100);
    access_watch_end();
    assert_read(36, 2);
}

static void instructions_are_as_long_as_the_manual_says(void **state)
{
    static const struct {
        uint8_t code[8];
        size_t bytes;
        const char *text;
    } table[] = {
        {{0x8A, 0x07}, 1, "mov al, [rdi]"},
        {{0x8B, 0x07}, 4, "mov eax, [rdi]"},
        {{0x66, 0x8B, 0x07}, 2, "mov ax, [rdi]"},
        {{0x48, 0x8B, 0x07}, 8, "mov rax, [rdi]"},
        {{0x0F, 0xB6, 0x07}, 1, "movzx eax, byte [rdi]"},
        {{0x0F, 0xB7, 0x07}, 2, "movzx eax, word [rdi]"},
        {{0x48, 0x63, 0x07}, 4, "movsxd rax, dword [rdi]"},
        {{0x80, 0x3F, 0x00}, 1, "cmp byte [rdi], 0"},
        {{0x48, 0x83, 0x3F, 0x00}, 8, "cmp qword [rdi], 0"},
        {{0xF6, 0x07, 0x04}, 1, "test byte [rdi], 4"},
        {{0xF3, 0x48, 0xA5}, 8, "rep movsq"},
        {{0xF3, 0xA4}, 1, "rep movsb"},
        {{0x0F, 0x10, 0x07}, 16, "movups xmm0, [rdi]"},
        {{0xF3, 0x0F, 0x6F, 0x07}, 16, "movdqu xmm0, [rdi]"},
        {{0xF3, 0x0F, 0x7E, 0x07}, 8, "movq xmm0, [rdi]"},
        {{0x66, 0x0F, 0x6E, 0x07}, 4, "movd xmm0, [rdi]"},
        {{0xC5, 0xFE, 0x6F, 0x07}, 32, "vmovdqu ymm0, [rdi]"},
        {{0x62, 0xF1, 0xFE, 0x48, 0x6F, 0x07}, 64, "vmovdqu64 zmm0, [rdi]"},
    };

    if (!access_watch_is_available())
        skip();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (access_watch_instruction_bytes(table[i].code) != table[i].bytes)
            fail_msg("%s: %zu", table[i].text, access_watch_instruction_bytes(table[i].code));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(test) cmocka_unit_test_setup_teardown(test, make_memory, free_memory)
        T(a_read_of_uint8_t_is_seen_whole),
        T(a_read_of_uint16_t_is_seen_whole),
        T(a_read_of_uint32_t_is_seen_whole),
        T(a_read_of_uint64_t_is_seen_whole),
        T(a_write_is_no_read),
        T(a_copied_structure_is_read_whole),
        T(a_watch_forgets_the_one_before),
        T(neighbours_on_the_page_work_and_do_not_count),
        T(instructions_are_as_long_as_the_manual_says),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
