/* NT handles of several processes: whose they are, how many each may have, and how they end. */
#define _GNU_SOURCE
#include "bench/exec/nt_handles.h"

#include "bench/exec/test_client.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIB    (UINT64_C(1) << 20)
#define A_KIND 7u
#define SPARE  5000u
#define MODEST 64u /* processes */

static struct waiting waiting;
static struct nt_handles handles;

/* So many whose copies are all closed. */
static void hear(unsigned count)
{
    struct waiting_ready ready[WAITING_MOST_READY];

    while (count) {
        unsigned heard;

        waiting_look(&waiting);
        heard = waiting_take(&waiting, ready);
        for (unsigned i = 0; i < heard; i++) {
            assert_int_equal(ready[i].source->kind, A_KIND);
            nt_handles_end(&handles, ready[i].source);
        }
        assert_true(heard <= count);
        count -= heard;
        if (!heard)
            waiting_sleep(&waiting, 0);
    }
}

static void give_to_some(struct exec_session *session)
{
    static int files[SPARE + NT_HANDLES_SURE * (MODEST + 3)];
    unsigned count = 0, given;

    assert_true(waiting_open(&waiting, 0));
    nt_handles_init(&handles, &waiting, A_KIND, session->front, SPARE);

    /* One has what one may have, and the next one what is spare. */
    while ((files[count] = nt_handles_give(&handles, 1, 100)) >= 0)
        count++;
    assert_int_equal(count, NT_HANDLES_MOST_A_PROCESS);
    while ((files[count] = nt_handles_give(&handles, 2, 200)) >= 0)
        count++;
    assert_int_equal(count, SPARE + 2 * NT_HANDLES_SURE);
    /* Everybody else has the sure ones. */
    for (pid_t pid = 1000; pid < 1000 + (pid_t)MODEST; pid++) {
        for (given = 0; (files[count] = nt_handles_give(&handles, pid, 300)) >= 0; given++)
            count++;
        assert_int_equal(given, NT_HANDLES_SURE);
    }
    for (unsigned i = 0; i < SPARE; i += 97)
        assert_int_equal(nt_handles_find(&handles, files[i]),
                         i < NT_HANDLES_MOST_A_PROCESS ? 100 : 200);
    assert_int_equal(nt_handles_find(&handles, files[count - 1]), 300);
    assert_int_equal(nt_handles_find(&handles, -1), 0);

    /* What one closes is there for others; a copy that is open counts. */
    given = (unsigned)fcntl(files[0], F_DUPFD_CLOEXEC, 0);
    close(files[0]);
    close(files[1]);
    hear(1);
    assert_int_equal(nt_handles_find(&handles, (int)given), 100);
    files[0] = nt_handles_give(&handles, 1, 101);
    assert_true(files[0] >= 0);
    assert_int_equal(nt_handles_find(&handles, files[0]), 101);
    assert_int_equal(nt_handles_give(&handles, 1, 102), -1);
    close((int)given);
    hear(1);
    for (unsigned i = 0; i < count; i++) {
        if (i != 1)
            close(files[i]);
    }
    hear(count - 1);
    assert_true(list_is_empty(&handles.owners));
    assert_int_equal(handles.spare, 0);
    waiting_close(&waiting);
}

static void each_process_has_its_own(void **state)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) ||
        limit.rlim_cur < 2 * (SPARE + NT_HANDLES_SURE * (MODEST + 3))) {
        print_message("skipped: too few descriptors\n");
        skip();
    }
    test_on_board(16 * MIB, give_to_some);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_process_has_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
