/*
 * The memory manager in the record of a run: what can be counted in the record is what the result
 * says, for cases and for seeds of each model.
 */
#define _GNU_SOURCE /* memfd_create() */
#include "bench/whole_runs/test_run.h"

#include "bench/campaign/campaign.h"
#include "miniport/operation.h"
#include "record/record_reader.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEGMENTS 32u
#define REASONS  16u
#define SEEDS    24u
#define FENCES   256u
#define NODES    16u

#define FENCE_WAITS 65536u

/* Sums of one record. */
struct sums {
    uint64_t used[SEGMENTS], peak[SEGMENTS]; /* bytes that are taken of each segment */
    bool has_ended;
    struct {
        char why[64];
        uint64_t count;
    } reasons[REASONS];
    unsigned reason_count;
    uint64_t asked[MINIPORT_OPERATION_COUNT], operations[MINIPORT_OPERATION_COUNT];
    uint64_t moved_in, moved_out, retired, paging_bytes;
    uint64_t last_operation; /* its name */
    uint64_t requests, ended_requests, packets, ended_packets, submissions, references;
    uint64_t victims, entries, named, waits;
    bool is_named; /* an allocation has its name of the case */
    struct {
        uint64_t type, fence, value;
    } fences[FENCES]; /* with their last values */
    unsigned fence_count;
    struct {
        uint64_t type, fence, value;
        bool is_packet;
    } fence_waits[FENCE_WAITS]; /* by number; type 0: it is over */
    uint64_t fence_waits_begun, fence_waits_ended, packet_waits;
    uint64_t written, requested; /* values with a packet of a client; with a request */
    uint64_t running[NODES];     /* packets */
};

static void take(struct sums *sums, uint64_t segment, uint64_t bytes)
{
    assert_true(segment < SEGMENTS);
    sums->used[segment] += bytes;
    sums->peak[segment] = max_u64(sums->peak[segment], sums->used[segment]);
}

static void give(struct sums *sums, uint64_t segment, uint64_t bytes)
{
    assert_true(segment < SEGMENTS && sums->used[segment] >= bytes);
    sums->used[segment] -= bytes;
}

static void count_reason(struct sums *sums, const char *why)
{
    unsigned i = 0;

    while (i < sums->reason_count && strcmp(sums->reasons[i].why, why) != 0)
        i++;
    assert_true(i < REASONS);
    if (i == sums->reason_count)
        snprintf(sums->reasons[sums->reason_count++].why, sizeof sums->reasons->why, "%s", why);
    sums->reasons[i].count++;
}

static unsigned operation_named(const char *name)
{
    unsigned operation = 0;

    while (operation < MINIPORT_OPERATION_COUNT &&
           strcmp(miniport_operation_name(operation), name) != 0)
        operation++;
    assert_true(operation < MINIPORT_OPERATION_COUNT);
    return operation;
}

static void add_operation(struct sums *sums, const struct record_operation *fields,
                          const char *name)
{
    unsigned operation = operation_named(name);
    bool is_transfer = miniport_operation_kind(operation) == MINIPORT_KIND_TRANSFER;

    sums->last_operation = operation;
    sums->asked[operation]++;
    sums->operations[operation] += !fields->job;
    if (is_transfer && !fields->from_segment && fields->to_segment)
        sums->moved_in += fields->bytes;
    if (is_transfer && fields->from_segment && !fields->to_segment)
        sums->moved_out += fields->bytes;
}

/* Another manager, whose counts the result will have; evictions are counted over both. */
static void forget_counts(struct sums *sums)
{
    memcpy(sums->peak, sums->used, sizeof sums->peak);
    memset(sums->operations, 0, sizeof sums->operations);
    sums->paging_bytes = 0;
}

static uint64_t *value_of(struct sums *sums, uint64_t type, uint64_t fence)
{
    unsigned i = 0;

    while (i < sums->fence_count &&
           (sums->fences[i].type != type || sums->fences[i].fence != fence))
        i++;
    assert_true(i < FENCES && type && fence);
    if (i == sums->fence_count) {
        sums->fences[sums->fence_count].type = type;
        sums->fences[sums->fence_count++].fence = fence;
    }
    return &sums->fences[i].value;
}

/* What a packet writes, it writes while it runs. */
static void add_fence_value(struct sums *sums, const struct record_fence_value *fields)
{
    bool is_running = false;

    for (unsigned i = 0; i < NODES; i++)
        is_running |= fields->packet && sums->running[i] == fields->packet;
    assert_true(!fields->packet || is_running);
    sums->written += fields->packet != 0;
    sums->requested += fields->request != 0;
    *value_of(sums, fields->type, fields->fence) = fields->value;
}

static void add_fence_wait(struct sums *sums, const struct record_fence_waits *fields,
                           bool is_packet)
{
    assert_int_equal(fields->number, ++sums->fence_waits_begun);
    assert_true(fields->number < FENCE_WAITS && fields->waiter);
    assert_true(*value_of(sums, fields->type, fields->fence) < fields->value);
    sums->fence_waits[fields->number].type = fields->type;
    sums->fence_waits[fields->number].fence = fields->fence;
    sums->fence_waits[fields->number].value = fields->value;
    sums->packet_waits += is_packet;
}

static void end_fence_wait(struct sums *sums, const struct record_fence_wait_ends *fields)
{
    assert_true(fields->number && fields->number <= sums->fence_waits_begun);
    assert_true(sums->fence_waits[fields->number].type);
    if (!fields->status)
        assert_true(*value_of(sums, sums->fence_waits[fields->number].type,
                              sums->fence_waits[fields->number].fence) >=
                    sums->fence_waits[fields->number].value);
    sums->fence_waits[fields->number].type = 0;
    sums->fence_waits_ended++;
}

static void add(struct sums *sums, const struct record_reader *reader,
                const struct record_reader_item *item)
{
    const char *text;

    switch (item->kind) {
    case RECORD_KIND_placed:
        take(sums, RECORD_FIELDS(placed, item)->segment, RECORD_FIELDS(placed, item)->bytes);
        break;
    case RECORD_KIND_left:
        give(sums, RECORD_FIELDS(left, item)->segment, RECORD_FIELDS(left, item)->bytes);
        break;
    case RECORD_KIND_range: {
        const struct record_range *fields = RECORD_FIELDS(range, item);

        text = record_reader_text(reader, fields->use);
        if (!strcmp(text, "eviction"))
            break;
        if (!fields->is_taken)
            give(sums, fields->segment, fields->bytes);
        else if (!strcmp(text, "buffers")) /* which the manager counts in its next peak only */
            sums->used[fields->segment] += fields->bytes;
        else
            take(sums, fields->segment, fields->bytes);
        break;
    }
    case RECORD_KIND_departs:
        text = record_reader_text(reader, RECORD_FIELDS(departs, item)->why);
        if (strcmp(text, "moved") != 0 && strcmp(text, "compaction") != 0)
            count_reason(sums, text);
        break;
    case RECORD_KIND_operation:
        add_operation(sums, RECORD_FIELDS(operation, item),
                      record_reader_text(reader, RECORD_FIELDS(operation, item)->name));
        break;
    case RECORD_KIND_operation_built:
        sums->paging_bytes += RECORD_FIELDS(operation_built, item)->bytes;
        if (RECORD_FIELDS(operation_built, item)->is_complete)
            sums->operations[sums->last_operation]++;
        break;
    case RECORD_KIND_operation_retired:
        sums->retired += 1 + RECORD_FIELDS(operation_retired, item)->more;
        break;
    case RECORD_KIND_request:
        sums->requests++;
        sums->ended_requests += RECORD_FIELDS(request, item)->at_once;
        break;
    case RECORD_KIND_request_ends:
        sums->ended_requests++;
        break;
    case RECORD_KIND_request_waits:
        sums->waits++;
        break;
    case RECORD_KIND_packet:
        sums->packets++;
        break;
    case RECORD_KIND_packet_begins:
        sums->running[RECORD_FIELDS(packet_begins, item)->node % NODES] =
            RECORD_FIELDS(packet_begins, item)->number;
        break;
    case RECORD_KIND_packet_ends: {
        const struct record_packet_ends *ends = RECORD_FIELDS(packet_ends, item);

        if (sums->running[ends->node % NODES] == ends->number) /* else one that never began */
            sums->running[ends->node % NODES] = 0;
        break;
    }
    case RECORD_KIND_fence_value:
        add_fence_value(sums, RECORD_FIELDS(fence_value, item));
        break;
    case RECORD_KIND_fence_waits:
        text = record_reader_text(reader, RECORD_FIELDS(fence_waits, item)->waiter_type);
        add_fence_wait(sums, RECORD_FIELDS(fence_waits, item), !strcmp(text, "packet"));
        break;
    case RECORD_KIND_fence_wait_ends:
        end_fence_wait(sums, RECORD_FIELDS(fence_wait_ends, item));
        break;
    case RECORD_KIND_packet_retired:
        sums->ended_packets++;
        break;
    case RECORD_KIND_submission:
        sums->submissions++;
        sums->references += item->group_count;
        break;
    case RECORD_KIND_victim:
        sums->victims++;
        break;
    case RECORD_KIND_entries:
        sums->entries++;
        break;
    case RECORD_KIND_named:
        text = record_reader_text(reader, RECORD_FIELDS(named, item)->type);
        sums->named += !strcmp(text, "allocation");
        text = record_reader_text(reader, RECORD_FIELDS(named, item)->name);
        sums->is_named |= !strcmp(text, "B0");
        break;
    case RECORD_KIND_stage:
        text = record_reader_text(reader, RECORD_FIELDS(stage, item)->name);
        if (!strcmp(text, "restart"))
            forget_counts(sums);
        if (!strcmp(text,
                    "restart")) /* waits of the former manager are forgotten, and its fences */
            sums->fence_count = 0;
        sums->has_ended |= !strcmp(text, "end");
        break;
    default:
        break;
    }
}

/* What the manager itself says of its segments when the workload has been played. */
struct seen {
    uint64_t used[SEGMENTS];
    unsigned count;
};

static void look(void *context, const struct run_live *live)
{
    struct seen *seen = context;

    seen->count = vidmm_segment_count(live->vidmm);
    for (unsigned id = 1; id <= seen->count; id++) {
        struct vidmm_segment_info info;

        vidmm_segment_info(live->vidmm, id, &info);
        seen->used[id] = info.used;
    }
}

/*
 * Plays with a record, reads it, and compares. The sums are those at the end of the workload, when
 * the counts of the result are taken.
 */
static struct run_result *play_and_count(struct run_config *config, const struct workload *workload,
                                         const char *name, struct sums *sums)
{
    static struct sums all;
    struct run_result *result = calloc(1, sizeof *result);
    int file = memfd_create("record", MFD_CLOEXEC);
    struct seen seen = {.count = 0};
    const struct run_tamper tamper = {UINT32_MAX, look, &seen};
    struct record_reader *reader;
    struct record_reader_item item;
    char path[64], error[256];
    uint64_t asked = 0;

    memset(&all, 0, sizeof all);
    assert_true(result && file > 0);
    config->record_file = file;
    if (!config->tamper)
        config->tamper = &tamper;
    config->reference = RUN_REFERENCE_NEVER;
    run_execute(config, workload, result);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    reader = record_reader_open(base_services_libc(), path, error);
    if (!reader)
        fail_msg("%s: %s", name, error);
    while (record_reader_next(reader, &item)) {
        bool had_ended = all.has_ended;

        add(&all, reader, &item);
        if (!had_ended && all.has_ended)
            *sums = all;
    }
    assert_string_equal(record_reader_error(reader), "");
    assert_int_equal(record_reader_state(reader), RECORD_WHOLE);
    record_reader_close(reader);
    close(file);
    if (result->outcome == RUN_REFUSED || result->outcome == RUN_BROKEN)
        return result;

    /* Places: how much was taken at most, at the end of the workload, and when all was over. */
    assert_true(all.has_ended);
    for (unsigned i = 0; i < result->segment_count; i++)
        assert_int_equal(sums->peak[result->segments[i].id], result->segments[i].peak_used);
    for (unsigned id = 1; id <= seen.count; id++)
        assert_int_equal(sums->used[id], seen.used[id]);
    for (unsigned id = 0; id < SEGMENTS; id++)
        assert_int_equal(all.used[id], 0);

    /* Evictions, by reason. */
    assert_int_equal(sums->reason_count, result->eviction_reason_count);
    for (unsigned i = 0; i < sums->reason_count; i++) {
        assert_string_equal(sums->reasons[i].why, result->eviction_reasons[i]);
        assert_int_equal(sums->reasons[i].count, result->evictions_by_reason[i]);
    }

    /* Work: operations by kind, requests and packets, each with its end. */
    for (unsigned i = 0; i < MINIPORT_OPERATION_COUNT; i++) {
        assert_int_equal(sums->operations[i], result->statistics.operations[i]);
        asked += all.asked[i];
    }
    assert_int_equal(sums->paging_bytes, result->statistics.paging_bytes);
    assert_int_equal(all.requests, all.ended_requests);
    assert_int_equal(all.packets, all.ended_packets);
    if (!result->statistics.adapter_resets && !result->statistics.timeouts)
        assert_int_equal(all.retired, asked);
    return result;
}

static void counts_of_a_case_are_those_of_its_result(void **state)
{
    for (unsigned model = RUN_PHYSICAL; model <= RUN_GPUMMU; model++) {
        struct workload *workload = test_load("main.case");
        struct run_config config = test_config(workload);
        static struct sums sums;
        struct run_result *result;

        config.model = (enum run_model)model;
        config.wddm = 0;
        result = play_and_count(&config, workload, "main.case", &sums);
        test_assert_clean(result);
        assert_int_equal(sums.moved_in, result->statistics.moved_in_bytes);
        assert_int_equal(sums.moved_out, result->statistics.moved_out_bytes);
        assert_true(sums.submissions > 10 && sums.named > 5 && sums.victims > 5 && sums.waits > 5);
        assert_true(model == RUN_PHYSICAL ? sums.references > 10 && !sums.entries
                                          : sums.entries > 100);
        run_result_fini(result);
        free(result);
        workload_free(workload);
    }
}

static void counts_of_seeds_are_those_of_their_results(void **state)
{
    unsigned models[3] = {0}, resets = 0;
    uint64_t evictions = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct campaign_options options = {.driver = "ref",
                                                 .model = (enum campaign_model)(seed % 3)};
        struct campaign_setup setup;
        struct workload *workload;
        struct workload_error error;
        struct run_result *result;
        static struct sums sums;
        char name[32];

        assert_true(campaign_draw_workload(seed, NULL, &workload, &error));
        campaign_draw_setup(&options, seed, workload, &setup);
        snprintf(name, sizeof name, "seed %" PRIu64, seed);
        result = play_and_count(&setup.config, workload, name, &sums);
        models[setup.config.model]++;
        evictions += result->statistics.evictions;
        resets += result->statistics.adapter_resets != 0;
        run_result_fini(result);
        free(result);
        workload_free(workload);
    }
    assert_true(models[0] && models[1] && models[2] && evictions > 50 && resets);
}

static void fences_of_clients_are_told_with_who_waits(void **state)
{
    static const struct {
        const char *name;
        unsigned waits, packet_waits, written;
    } cases[] = {{"fences-in-local-memory.case", 4, 0, 6}, {"client/asked-for.case", 2, 1, 0}};
    static struct sums sums;

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct workload *workload = test_load(cases[i].name);
        struct run_config config = test_config(workload);
        struct run_result *result;

        config.model = RUN_GPUMMU;
        result = play_and_count(&config, workload, cases[i].name, &sums);
        test_assert_clean(result);
        assert_int_equal(sums.fence_waits_begun, cases[i].waits);
        assert_int_equal(sums.fence_waits_ended, cases[i].waits);
        assert_int_equal(sums.packet_waits, cases[i].packet_waits);
        assert_int_equal(sums.written, cases[i].written);
        assert_true(sums.requested > 3);
        run_result_fini(result);
        free(result);
        workload_free(workload);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_a_case_are_those_of_its_result),
        cmocka_unit_test(counts_of_seeds_are_those_of_their_results),
        cmocka_unit_test(fences_of_clients_are_told_with_who_waits),
    };

    return cmocka_run_group_tests_name("bench/manager_record", tests, NULL, NULL);
}
