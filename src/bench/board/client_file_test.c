/* Clients that are refused, and one that is loaded (tests/client/odd.c, examples/client). */
#include "bench/board/client_file.h"

#include "base/failing_services.h"
#include "../examples/gpu/sdma.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect_refusal(const char *path, const char *why)
{
    char error[CLIENT_FILE_ERROR_BYTES];
    struct failing_services memory;
    struct client_file *client;

    failing_services_init(&memory);
    assert_false(client_file_load(&memory.services, path, 1, &client, error));
    assert_null(client);
    if (!strstr(error, why))
        fail_msg("\"%s\" has no \"%s\"", error, why);
    assert_non_null(strstr(error, path));
    assert_int_equal(memory.live_blocks, 0);
}

static void files_that_are_no_clients_are_refused(void **state)
{
    expect_refusal("/nowhere/client.so", "cannot open");
    expect_refusal(CLIENT_FOLDER "/odd-none.so", "exports no drydock_client");
    expect_refusal(CLIENT_FOLDER "/odd-old.so", "api_version");
    expect_refusal(CLIENT_FOLDER "/odd-nameless.so", "no name");
    expect_refusal(CLIENT_FOLDER "/odd-poor.so", "create() gave NULL");
}

static void a_client_says_what_it_is_asked(void **state)
{
    const struct drydock_gpu_allocation allocation = {.bytes = 77, .flags = 5, .index = 3};
    const struct drydock_client_range range = {
        .bytes = 65536, .lowest = 0x100000, .end = 0x200000, .alignment = 65536};
    const struct drydock_gpu_reference reference = {
        .va = 0x1234000, .bytes = 4096, .is_read = true, .is_written = true};
    const struct drydock_gpu_work work = {
        .token = 9, .reference_count = 1, .references = &reference};
    char error[CLIENT_FILE_ERROR_BYTES];
    struct failing_services memory;
    struct client_file *client;
    uint32_t data[4] = {0}, packets[3 * SDMA_WORK_DWORDS] = {0};

    assert_null(client_file_table(NULL));
    client_file_unload(NULL);
    failing_services_init(&memory);
    assert_true(
        client_file_load(&memory.services, CLIENT_FOLDER "/sdma_client.so", 1, &client, error));
    assert_string_equal(client_file_table(client)->name, "sdma");
    assert_null(client_file_table(client)->context_data);

    assert_int_equal(client_file_allocation_data(client, &allocation, NULL, 0), 16);
    assert_int_equal(client_file_allocation_data(client, &allocation, data, 16), 16);
    assert_int_equal(data[0], 77);
    assert_int_equal(data[2], 5);
    assert_int_equal(data[3], 3);
    assert_int_equal(client_file_commands(client, &work, NULL, 0), sizeof packets);
    assert_int_equal(client_file_commands(client, &work, packets, sizeof packets), sizeof packets);
    assert_int_equal(packets[2 * SDMA_WORK_DWORDS + 2], SDMA_WORK_WRITE);
    assert_int_equal(packets[2 * SDMA_WORK_DWORDS + 7], 0x1234000);
    assert_int_equal(client_file_choose_address(client, &range), 0x1f0000);
    assert_int_equal(client_file_choose_address(client, &range), 0x1e0000);
    client_file_unload(client);
    assert_int_equal(memory.live_blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_no_clients_are_refused),
        cmocka_unit_test(a_client_says_what_it_is_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
