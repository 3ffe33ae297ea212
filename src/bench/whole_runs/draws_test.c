/*
 * What seeds draw of a machine and of a day: each option does what it says, and the reference
 * driver lives with it.
 */
#include "bench/whole_runs/test_run.h"

#include "base/list.h"

/* Nearest to the manager: sees where operations of paging go. */
struct watcher {
    struct miniport_ops ops;
    struct miniport miniport;
    uint64_t lowest_local, highest_system; /* byte addresses */
    uint32_t fence;                        /* submitted last, anywhere */
    unsigned wraps;
    bool is_submitting;
    unsigned processes, devices, contexts; /* ended so far */
    unsigned starts, stops;
    unsigned interrupts_amid, interrupts_of_others; /* in a submission; of another device */
};

static void see_local(struct watcher *watcher, UINT segment, uint64_t address)
{
    if (segment && address < SGPU_PA_APERTURE)
        watcher->lowest_local = min_u64(watcher->lowest_local, address);
}

static void see_list(struct watcher *watcher, UINT segment, MDL *mdl)
{
    for (uint64_t i = 0; !segment && i < bytes_to_pages(mdl->ByteCount); i++)
        watcher->highest_system =
            max_u64(watcher->highest_system, MmGetMdlPfnArray(mdl)[i] * PAGE_BYTES);
}

static void see_entries(struct watcher *watcher,
                        const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    UINT count = update->Flags.Repeat ? 1 : update->NumPageTableEntries;

    for (UINT i = 0; update->PageTableLevel == 0 && i < count; i++) {
        const DXGK_PTE *entry = &update->pPageTableEntries[i];

        if (!entry->Valid || entry->Zero)
            continue;
        if (entry->Segment == 1)
            see_local(watcher, 1, entry->PageAddress * PAGE_BYTES);
        else if (!entry->Segment)
            watcher->highest_system =
                max_u64(watcher->highest_system, entry->PageAddress * PAGE_BYTES);
    }
}

static NTSTATUS see_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct watcher *watcher = container_of(self, struct watcher, miniport);

    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_TRANSFER:
        see_local(watcher, arg->Transfer.Source.SegmentId,
                  (uint64_t)arg->Transfer.Source.SegmentAddress.QuadPart);
        see_local(watcher, arg->Transfer.Destination.SegmentId,
                  (uint64_t)arg->Transfer.Destination.SegmentAddress.QuadPart);
        see_list(watcher, arg->Transfer.Source.SegmentId, arg->Transfer.Source.pMdl);
        see_list(watcher, arg->Transfer.Destination.SegmentId, arg->Transfer.Destination.pMdl);
        break;
    case DXGK_OPERATION_FILL:
        see_local(watcher, arg->Fill.Destination.SegmentId,
                  (uint64_t)arg->Fill.Destination.SegmentAddress.QuadPart);
        break;
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        see_entries(watcher, &arg->UpdatePageTable);
        break;
    }
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static void see_fence(struct watcher *watcher, uint32_t fence)
{
    watcher->wraps += watcher->fence > UINT32_MAX - 64 && fence < 0x2000;
    watcher->fence = fence;
}

static NTSTATUS see_submit(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *arg)
{
    struct watcher *watcher = container_of(self, struct watcher, miniport);
    NTSTATUS status;

    see_fence(watcher, arg->SubmissionFenceId);
    watcher->is_submitting = true;
    status = miniport_forward_submit_command(self, object, arg);
    watcher->is_submitting = false;
    return status;
}

static NTSTATUS see_submit_virtual(struct miniport *self, HANDLE object,
                                   const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    struct watcher *watcher = container_of(self, struct watcher, miniport);
    NTSTATUS status;

    see_fence(watcher, arg->SubmissionFenceId);
    watcher->is_submitting = true;
    status = miniport_forward_submit_command_virtual(self, object, arg);
    watcher->is_submitting = false;
    return status;
}

static bool see_interrupt(struct miniport *self, ULONG message)
{
    struct watcher *watcher = container_of(self, struct watcher, miniport);
    bool is_ours = miniport_interrupt(self->next, message);

    watcher->interrupts_amid += is_ours && watcher->is_submitting;
    watcher->interrupts_of_others += !is_ours;
    return is_ours;
}

static NTSTATUS see_destroy_process(struct miniport *self, HANDLE object)
{
    container_of(self, struct watcher, miniport)->processes++;
    return miniport_forward_destroy_process(self, object);
}

static NTSTATUS see_destroy_device(struct miniport *self, HANDLE object)
{
    container_of(self, struct watcher, miniport)->devices++;
    return miniport_forward_destroy_device(self, object);
}

static NTSTATUS see_destroy_context(struct miniport *self, HANDLE object)
{
    container_of(self, struct watcher, miniport)->contexts++;
    return miniport_forward_destroy_context(self, object);
}

static NTSTATUS see_start(struct miniport *self, const DXGK_START_INFO *start, ULONG *sources,
                          ULONG *children)
{
    container_of(self, struct watcher, miniport)->starts++;
    return miniport_start_device(self->next, start, sources, children);
}

static NTSTATUS see_stop(struct miniport *self)
{
    container_of(self, struct watcher, miniport)->stops++;
    return miniport_stop_device(self->next);
}

static void see_destroy(struct miniport *self)
{
}

static struct miniport *add_watcher(void *context, struct miniport *next)
{
    struct watcher *watcher = context;

    watcher->ops = miniport_forward_ops;
    watcher->ops.destroy = see_destroy;
    watcher->ops.build_paging_buffer = see_build;
    watcher->ops.submit_command = see_submit;
    watcher->ops.interrupt = see_interrupt;
    watcher->ops.start_device = see_start;
    watcher->ops.stop_device = see_stop;
    watcher->ops.destroy_process = see_destroy_process;
    watcher->ops.destroy_device = see_destroy_device;
    watcher->ops.destroy_context = see_destroy_context;
    watcher->ops.submit_command_virtual = see_submit_virtual;
    watcher->miniport = (struct miniport){.ops = &watcher->ops, .next = next};
    return &watcher->miniport;
}

/* The text behind the first line of a case, in that model. */
static struct run_result *play(const char *model, const char *text, struct watcher *watcher)
{
    struct workload *workload;
    struct run_config config;
    char whole[4096];

    *watcher = (struct watcher){.lowest_local = UINT64_MAX};
    assert_true(snprintf(whole, sizeof whole, "drydock-case 1\noption model %s\n%s", model, text) <
                (int)sizeof whole);
    workload = test_parse(whole);
    config = test_config(workload);
    config.add_layer = add_watcher;
    config.layer_context = watcher;
    return test_execute(&config, workload);
}

#define MODELS(model)                                                                              \
    for (const char *const *model = (const char *const[]){"physical", "gpummu", "iommu", NULL};    \
         *model; model++)

/* More than fits, so that allocations come and go. */
#define BUSY_CASE                                                                                  \
    "option local-memory 8M\n"                                                                     \
    "alloc a size=3M segments=local\nalloc b size=3M segments=local\n"                             \
    "alloc c size=3M segments=local flags=cpu-visible\n"                                           \
    "submit c0 a:w b:rw\nsubmit c0 b:rw c:rw\nsubmit c0 c:r a:rw\nread c\nwait all\n"

/* ---- Memory ---------------------------------------------------------------------------------- */

static void local_memory_is_used_from_an_offset_on(void **state)
{
    /* The dead memory of the last one goes from the visible segment into the front of the other. */
    static const char *const boards[] = {"", "option local-invisible 8M\n",
                                         "option host-aperture yes\n",
                                         "option local-invisible 7M\noption dead-memory 640K\n"};

    for (size_t i = 0; i < 2 * ARRAY_COUNT(boards); i++) {
        const char *model = i % 2 ? "gpummu" : "physical";
        struct run_result *result;
        struct watcher watcher;
        char text[1024];

        snprintf(text, sizeof text, "option far-memory 4352M\n%s" BUSY_CASE, boards[i / 2]);
        result = play(model, text, &watcher);
        test_assert_clean(result);
        assert_true(watcher.lowest_local >= 4352 * MiB && watcher.lowest_local < 4400 * MiB);
        assert_true(result->segments[0].size && result->segments[0].size <= 8 * MiB);
        test_finish(result);
    }
}

static void system_pages_may_lie_beyond_4_gib(void **state)
{
    MODELS(model)
    {
        struct run_result *result;
        struct watcher watcher;

        result = play(*model, "option system-memory 64G\n" BUSY_CASE, &watcher);
        test_assert_clean(result);
        assert_true(watcher.highest_system > 4 * GiB || strcmp(*model, "iommu") == 0);
        test_finish(result);
    }
}

/* ---- Time ------------------------------------------------------------------------------------ */

static void submission_ids_may_wrap(void **state)
{
    MODELS(model)
    {
        for (unsigned i = 0; i < 2; i++) {
            struct run_result *result;
            struct watcher watcher;
            char text[2048] = "option fence-wrap 0\nalloc a size=64K\n", *at = strchr(text, 0x30);

            *at += i ? 3 : 0;
            for (unsigned j = 0; j < 12; j++)
                strcat(text, "submit c0 a:rw\nwait all\n");
            result = play(*model, text, &watcher);
            test_assert_clean(result);
            assert_int_equal(watcher.wraps, i);
            test_finish(result);
        }
    }
}

/* ---- Objects ----------------------------------------------------------------------------------
 */

/* What else ends is the same with and without the lines. */
static void objects_end_and_are_made_anew_while_others_go_on(void **state)
{
    static const char *const lines[] = {"", "renew c0\n", "free a\nrenew c0 with=device\n",
                                        "free a\nrenew c0 with=process\n"};

    MODELS(model)
    {
        struct watcher plain, watcher;

        for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
            struct run_result *result;
            char text[1024];

            snprintf(text, sizeof text,
                     "process p\nprocess q\ndevice d process=p\ndevice e process=q\n"
                     "context c0 device=d node=0\ncontext c1 device=d node=1\n"
                     "context c2 device=e node=0\n"
                     "alloc a size=64K device=d\nalloc b size=64K device=e\n"
                     "submit c2 duration=500000 b:w\nsubmit c0 a:w\nsubmit c1 a:r\n%s"
                     "alloc n size=64K device=d\nsubmit c0 n:rw\nsubmit c2 b:rw\nwait all\n",
                     lines[i]);
            result = play(*model, text, &watcher);
            test_assert_clean(result);
            assert_int_equal(result->submissions, 5);
            if (!i)
                plain = watcher;
            assert_int_equal(watcher.contexts - plain.contexts, i == 0 ? 0 : i == 1 ? 1 : 2);
            assert_int_equal(watcher.devices - plain.devices, i >= 2);
            assert_int_equal(watcher.processes - plain.processes,
                             i == 3 && strcmp(*model, "physical") != 0);
            test_finish(result);
        }
    }
}

static void the_device_is_stopped_and_started_again(void **state)
{
    MODELS(model)
    {
        for (unsigned lines = 0; lines < 40; lines += 5) {
            struct run_result *result;
            struct watcher watcher;
            char text[1024];

            snprintf(text, sizeof text, "option restart-after %u\n" BUSY_CASE, lines);
            result = play(*model, text, &watcher);
            test_assert_clean(result);
            assert_int_equal(watcher.starts, lines ? 2 : 1);
            assert_int_equal(watcher.stops, lines ? 2 : 1);
            assert_true(result->submissions >= 3 && result->submissions <= 6);
            assert_int_equal(result->step_count, 1);
            test_finish(result);
        }
    }
}

/* ---- Interrupts ------------------------------------------------------------------------------ */

/* Submissions and sleeps enough for each of them to come in at least one run. */
#define LONG_CASE                                                                                  \
    "option hardware-queue 4\nalloc a size=64K\nalloc b size=64K\n"                                \
    "submit c0 a:rw\nsubmit c0 b:rw\nsubmit c0 a:rw\nsubmit c0 b:rw\nsubmit c0 a:rw\n"             \
    "submit c0 b:rw\nsubmit c0 a:rw\nsubmit c0 b:rw\nwait all\npower d3\npower on\n"               \
    "submit c0 a:rw b:rw\nwait all\n"

static void interrupts_come_between_two_accesses_to_registers(void **state)
{
    MODELS(model)
    {
        for (unsigned is_slow = 0; is_slow < 2; is_slow++) {
            struct run_result *result;
            struct watcher watcher;

            result = play(*model, is_slow ? "option register-time 8000\n" LONG_CASE : LONG_CASE,
                          &watcher);
            test_assert_clean(result);
            assert_int_equal(watcher.interrupts_amid != 0, is_slow);
            assert_int_equal(watcher.interrupts_of_others, 0);
            test_finish(result);
        }
    }
}

static void another_device_raises_the_same_line(void **state)
{
    MODELS(model)
    {
        struct run_result *result;
        struct watcher watcher;

        result = play(*model, "option shared-interrupt yes\n" LONG_CASE, &watcher);
        test_assert_clean(result);
        assert_true(watcher.interrupts_of_others > 0);
        test_finish(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submission_ids_may_wrap),
        cmocka_unit_test(the_device_is_stopped_and_started_again),
        cmocka_unit_test(objects_end_and_are_made_anew_while_others_go_on),
        cmocka_unit_test(interrupts_come_between_two_accesses_to_registers),
        cmocka_unit_test(another_device_raises_the_same_line),
        cmocka_unit_test(local_memory_is_used_from_an_offset_on),
        cmocka_unit_test(system_pages_may_lie_beyond_4_gib),
    };

    return cmocka_run_group_tests_name("bench/draws", tests, NULL, NULL);
}
