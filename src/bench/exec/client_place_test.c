/*
 * Places in processes: names of functions, and files that are none.
 */
#define _GNU_SOURCE /* memfd_create() */
#include "bench/exec/client_place.h"

#include "base/rng.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

__attribute__((noinline)) int client_place_test_landmark(int value);

int client_place_test_landmark(int value)
{
    return value * 3 + 1;
}

static void an_address_is_a_function_and_its_file(void **state)
{
    char text[256];

    client_place(getpid(), (uintptr_t)client_place_test_landmark + 1, text, sizeof text);
    assert_non_null(strstr(text, "client_place_test_landmark+0x1 ("));
    client_place(getpid(), 16, text, sizeof text);
    assert_string_equal(text, "0x10");
    client_place(0x7ffffff0, 4096, text, sizeof text); /* no such process */
    assert_string_equal(text, "0x1000");
}

struct file {
    uint8_t *bytes;
    size_t size;
};

static struct file read_own(void)
{
    FILE *stream = fopen("/proc/self/exe", "rb");
    struct file file = {0};

    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    file.size = (size_t)ftell(stream);
    file.bytes = malloc(file.size);
    rewind(stream);
    assert_int_equal(fread(file.bytes, 1, file.size, stream), file.size);
    fclose(stream);
    return file;
}

/* Of the headers, where they are; each change is undone behind its try. */
static void any_bytes_are_read_within_their_bounds(void **state)
{
    struct file file = read_own();
    const Elf64_Ehdr head = *(const Elf64_Ehdr *)(const void *)file.bytes;
    const uint64_t parts[] = {0, head.e_phoff, head.e_shoff};
    const int written = memfd_create("file", MFD_CLOEXEC);
    char text[160];
    struct rng rng;

    rng_init(&rng, 1);
    assert_false(client_place_symbol(written, 0, text, sizeof text));
    assert_int_equal(write(written, file.bytes, file.size), file.size);
    for (unsigned i = 0; i < 400; i++) {
        const uint64_t at = parts[rng_below(&rng, 3)] + rng_below(&rng, 64) * 8;
        const uint64_t size = rng_below(&rng, 4) ? file.size : rng_below(&rng, file.size);
        uint64_t wrong = rng_below(&rng, 2) ? rng_next(&rng) : rng_below(&rng, file.size);

        if (at + 8 > file.size)
            continue;
        assert_int_equal(pwrite(written, &wrong, 8, (off_t)at), 8);
        assert_int_equal(ftruncate(written, (off_t)size), 0);
        client_place_symbol(written, rng_below(&rng, file.size), text, sizeof text);
        if (size < file.size)
            assert_int_equal(pwrite(written, file.bytes + size, file.size - size, (off_t)size),
                             file.size - size);
        assert_int_equal(pwrite(written, file.bytes + at, 8, (off_t)at), 8);
    }
    close(written);
    free(file.bytes);
}

/*
 * A file of nothing but sections, each of which is a table of all that the file has: 60,000 tables
 * of 40 million symbols. And one whose name has no end.
 */
static void a_file_of_endless_symbols_takes_no_time(void **state)
{
    const Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                             .e_phoff = 1024,
                             .e_phnum = 1,
                             .e_phentsize = sizeof(Elf64_Phdr),
                             .e_shoff = 4096,
                             .e_shnum = 60000,
                             .e_shentsize = sizeof(Elf64_Shdr)};
    const Elf64_Phdr part = {.p_type = PT_LOAD, .p_filesz = 4096};
    const uint64_t end = UINT64_C(1) << 30;
    Elf64_Shdr *sections = calloc(head.e_shnum, sizeof *sections);
    const int file = memfd_create("file", MFD_CLOEXEC);
    const Elf64_Sym symbol = {.st_info = STT_FUNC, .st_size = 4096};
    struct timespec before, after;
    char text[160], name[200];

    assert_non_null(sections);
    for (unsigned i = 0; i < head.e_shnum; i++)
        sections[i] = (Elf64_Shdr){.sh_type = i ? SHT_SYMTAB : SHT_STRTAB, .sh_size = end};
    assert_int_equal(ftruncate(file, (off_t)end), 0);
    assert_int_equal(pwrite(file, &head, sizeof head, 0), sizeof head);
    assert_int_equal(pwrite(file, &part, sizeof part, 1024), sizeof part);
    assert_int_equal(pwrite(file, sections, head.e_shnum * sizeof *sections, 4096),
                     head.e_shnum * sizeof *sections);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    assert_false(client_place_symbol(file, 8, text, sizeof text));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    assert_true(after.tv_sec - before.tv_sec < 20);

    memset(name, 'n', sizeof name);
    sections[0] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = 2048, .sh_size = sizeof name};
    sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_offset = 3072, .sh_size = sizeof symbol};
    assert_int_equal(pwrite(file, name, sizeof name, 2048), sizeof name);
    assert_int_equal(pwrite(file, &symbol, sizeof symbol, 3072), sizeof symbol);
    assert_int_equal(pwrite(file, sections, 2 * sizeof *sections, 4096), 2 * sizeof *sections);
    assert_true(client_place_symbol(file, 8, text, sizeof text));
    assert_int_equal(strlen(text), 100 + strlen("+0x8"));
    close(file);
    free(sections);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_a_function_and_its_file),
        cmocka_unit_test(any_bytes_are_read_within_their_bounds),
        cmocka_unit_test(a_file_of_endless_symbols_takes_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
