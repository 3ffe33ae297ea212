/*
 * The invariant walk: each invariant is broken by hand in a child process, and must be named there.
 */
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/memory/segment.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/work/client.h"

#include "base/bits.h"
#include "base/list.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void change_state(struct vidmm_allocation *allocation)
{
    allocation->state = ALLOCATION_BACKED;
}

static void lose_place(struct vidmm_allocation *allocation)
{
    allocation->place.segment = NULL;
}

static void take_more_than_it_has(struct vidmm_allocation *allocation)
{
    allocation->place.page_count++;
}

static void leave_lru(struct vidmm_allocation *allocation)
{
    list_remove(&allocation->link);
}

static void forget_listing(struct vidmm_allocation *allocation)
{
    /* Held, so that it is on no list; and said to be on one. */
    allocation_hold(allocation);
    allocation->listed = LISTED_DYING;
}

static void put_holds_aside(struct vidmm_allocation *allocation)
{
    allocation->offered_holds++;
}

static void hold_behind_the_back(struct vidmm_allocation *allocation)
{
    allocation->holds++;
}

static void lock_without_hold(struct vidmm_allocation *allocation)
{
    allocation->lock_count = 1;
}

static void use_more(struct vidmm_allocation *allocation)
{
    allocation->place.segment->used += PAGE_BYTES;
}

static void leave_more(struct vidmm_allocation *allocation)
{
    allocation->place.segment->leaving += PAGE_BYTES;
}

static void doom_more(struct vidmm_allocation *allocation)
{
    allocation->place.segment->doomed += PAGE_BYTES;
}

static void count_more(struct vidmm_allocation *allocation)
{
    allocation->place.segment->allocation_count++;
}

static void lose_page_of_a_run(struct vidmm_allocation *allocation)
{
    allocation->place.runs->run[0].page_count--;
}

static void put_stranger_on_lru(struct vidmm_allocation *allocation)
{
    static struct list stranger;

    list_push_back(&allocation->place.segment->lru[0], &stranger);
}

static void count_free_pages_wrong(struct vidmm_allocation *allocation)
{
    allocation->place.segment->pages.free_count--;
}

static void count_ranges_wrong(struct vidmm_allocation *allocation)
{
    allocation->device->process->space.ranges.live_count++;
}

static void forget_backing(struct vidmm_allocation *allocation)
{
    /* Resident in memory, nothing else: make it look paged out. */
    segment_lru_remove(allocation);
    segment_unplace(allocation);
    allocation->state = ALLOCATION_BACKED;
}

static void empty_with_content(struct vidmm_allocation *allocation)
{
    segment_lru_remove(allocation);
    segment_unplace(allocation);
    allocation->state = ALLOCATION_EMPTY;
}

static void submit_for_a_stranger(struct vidmm_allocation *allocation)
{
    static struct companion stranger;

    allocation->vidmm->queue.submitted_for = &stranger;
}

static void keep(struct vidmm_allocation *allocation)
{
}

static const struct breakage {
    void (*break_it)(struct vidmm_allocation *allocation);
    const char *text; /* "": the walk finds nothing */
} breakages[] = {
    {keep, ""},
    {change_state, "placement and state disagree"},
    {lose_place, "placement and state disagree"},
    {forget_backing, "backed without backing store"},
    {empty_with_content, "empty with content"},
    {take_more_than_it_has, "a place has not the bytes of its allocation"},
    {leave_lru, "on the LRU list and evictable disagree"},
    {forget_listing, "on a list and said to be on one disagree"},
    {put_holds_aside, "references put aside and their count disagree"},
    {hold_behind_the_back, "on the LRU list and evictable disagree"},
    {lock_without_hold, "more locks than holds"},
    {lose_page_of_a_run, "runs do not add up to the allocation"},
    {use_more, "bytes used are not those of the allocations"},
    {leave_more, "bytes leaving are not those of the allocations"},
    {doom_more, "bytes doomed are not those of the allocations"},
    {count_more, "allocations are miscounted"},
    {put_stranger_on_lru, "the LRU lists hold others than the evictable"},
    {count_free_pages_wrong, "vidmm_check: "},
    {count_ranges_wrong, "vidmm_check: "},
    {submit_for_a_stranger, "the paging queue knows a companion that has gone"},
};

/* What the walk says of a broken manager, in a child; the manager here stays whole. */
static bool walk_in_child(struct vidmm *vidmm, const struct breakage *breakage,
                          struct vidmm_allocation *allocation, char *text, size_t text_bytes)
{
    int ends[2], status;
    size_t used = 0;
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        breakage->break_it(allocation);
        _exit(vidmm_check(vidmm) ? 0 : 1);
    }
    close(ends[1]);
    while (used + 1 < text_bytes && (got = read(ends[0], text + used, text_bytes - used - 1)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void each_broken_invariant_is_named(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_create(&config);
    struct rig_object object;

    rig_object(rig, 20, 1, &object);
    rig_map(rig, &object);
    rig_make_resident(rig, &object);
    rig_evict(rig, &object);
    for (size_t i = 0; i < ARRAY_COUNT(breakages); i++) {
        const struct breakage *breakage = &breakages[i];
        char text[4096];
        bool is_whole = walk_in_child(rig->vidmm, breakage, object.allocation, text, sizeof text);

        if (is_whole != !breakage->text[0] || !strstr(text, breakage->text))
            print_error("breakage %zu: %s\n", i, text);
        assert_int_equal(is_whole, !breakage->text[0]);
        assert_non_null(strstr(text, breakage->text));
    }
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_invariant_is_named),
    };

    return cmocka_run_group_tests_name("vidmm/check", tests, NULL, NULL);
}
