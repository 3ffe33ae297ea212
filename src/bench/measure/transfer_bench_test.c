/* Transfer bench: the engine and its peers do the same work. What takes how long is no test. */
#include "bench/measure/transfer_bench.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void packets_of_every_size_move_their_bytes(void **state)
{
    struct transfer_bench *bench = transfer_bench_create();
    struct comparison comparison;
    const char *peer = NULL;

    assert_non_null(bench);
    for (int is_copy = 0; is_copy <= 1; is_copy++) {
        for (uint64_t bytes = 4 * KiB; bytes <= TRANSFER_BENCH_MOST_BYTES; bytes *= 128) {
            assert_true(transfer_bench_run(bench, is_copy, bytes, 1, &comparison, &peer));
            assert_non_null(peer);
            assert_true(comparison.ours_ns > 0 && comparison.peer_ns > 0);
        }
    }
    transfer_bench_destroy(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_of_every_size_move_their_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
