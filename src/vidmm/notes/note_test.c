/*
 * Notes: planned situations, in each of which one thing is known that the notes must say. That they
 * are complete is tested by every rig (rig/test_rig_notes.h), after random calls, too
 * (vidmm_random_test.c).
 */
#include "vidmm/memory/page_units.h"
#include "vidmm/notes.h"
#include "vidmm/policy.h"
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_notes.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

/* What a rig has been told since log_begin(). What a note points at is not kept. */
struct log {
    struct vidmm_note notes[4096];
    struct vidmm_noted_run first_runs[4096];
    unsigned count;
};

static void keep(struct rig *rig, const struct vidmm_note *note)
{
    struct log *log = rig->test;

    if (log->count == ARRAY_COUNT(log->notes))
        return;
    if ((note->kind == VIDMM_NOTE_PLACED || note->kind == VIDMM_NOTE_LEFT) && note->place.run_count)
        log->first_runs[log->count] = note->place.runs[0];
    log->notes[log->count++] = *note;
}

static void log_begin(struct rig *rig, struct log *log)
{
    log->count = 0;
    rig->test = log;
    rig->note_hook = keep;
}

/* The next note of the kind from *at on, which becomes the one behind it. NULL: there is none. */
static const struct vidmm_note *next_of(const struct log *log, enum vidmm_note_kind kind,
                                        unsigned *at)
{
    while (*at < log->count) {
        const struct vidmm_note *note = &log->notes[(*at)++];

        if (note->kind == kind)
            return note;
    }
    return NULL;
}

static const struct vidmm_note *first_of(const struct log *log, enum vidmm_note_kind kind)
{
    unsigned at = 0;

    return next_of(log, kind, &at);
}

static const struct vidmm_note *last_of(const struct log *log, enum vidmm_note_kind kind)
{
    const struct vidmm_note *note, *last = NULL;
    unsigned at = 0;

    while ((note = next_of(log, kind, &at)) != NULL)
        last = note;
    return last;
}

static unsigned count_of(const struct log *log, enum vidmm_note_kind kind)
{
    unsigned at = 0, count = 0;

    while (next_of(log, kind, &at))
        count++;
    return count;
}

/* The waits that have been told of a request, in order, as words. */
static const char *waits_of(const struct log *log, uint64_t number)
{
    static char text[256];
    const struct vidmm_note *note;
    unsigned at = 0;

    text[0] = '\0';
    while ((note = next_of(log, VIDMM_NOTE_REQUEST_WAITS, &at)) != NULL) {
        if (note->request_waits.number == number)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s ",
                     vidmm_wait_name(note->request_waits.wait));
    }
    return text;
}

/* The object is used by the GPU, and is then held by nobody. */
static void use(struct rig *rig, struct rig_object *object)
{
    if (rig->config.is_virtual)
        rig_make_resident(rig, object);
    if (rig->config.is_virtual && !object->va)
        rig_map(rig, object);
    rig_gpu(rig, object, 2);
    if (rig->config.is_virtual)
        rig_evict(rig, object);
}

/* ---- Who left for whom ----------------------------------------------------------------------- */

static void the_least_recently_used_leaves_for_the_request_that_needs_its_place(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig_object objects[3];
        struct rig *rig;
        struct log log;
        const struct vidmm_note *request, *victim, *departs, *left, *placed, *ends;
        uint64_t last_use;

        config.keeps_tables_in_system = config.is_virtual;
        rig = rig_create(&config);
        for (unsigned i = 0; i < 3; i++)
            rig_object(rig, 110, 1, &objects[i]);
        use(rig, &objects[1]);
        last_use = rig->vidmm->submitted;
        use(rig, &objects[0]);
        log_begin(rig, &log);
        use(rig, &objects[2]);

        request = first_of(&log, VIDMM_NOTE_REQUEST);
        victim = first_of(&log, VIDMM_NOTE_VICTIM);
        departs = first_of(&log, VIDMM_NOTE_DEPARTS);
        left = first_of(&log, VIDMM_NOTE_LEFT);
        placed = last_of(&log, VIDMM_NOTE_PLACED);
        ends = first_of(&log, VIDMM_NOTE_REQUEST_ENDS);
        assert_true(request && victim && departs && left && placed && ends);
        assert_int_equal(count_of(&log, VIDMM_NOTE_VICTIM), 1);

        assert_ptr_equal(victim->victim.allocation.named, objects[1].allocation);
        assert_int_equal(victim->victim.request, request->request.number);
        assert_int_equal(victim->victim.segment, 1);
        assert_int_equal(victim->victim.group, VIDMM_VICTIM_PRIORITY);
        assert_int_equal(victim->victim.compared, 1);
        assert_int_equal(victim->victim.passed_over, 0);
        assert_int_equal(victim->victim.last_use, last_use);
        assert_string_equal(victim->victim.policy, "lru");
        assert_string_equal(victim->victim.reason, "memory pressure");
        assert_ptr_equal(departs->departs.allocation.named, objects[1].allocation);
        assert_int_equal(departs->departs.request, request->request.number);

        /* The bytes that the one leaves are those that the other gets. */
        assert_true(left < placed && placed < ends);
        assert_ptr_equal(left->place.allocation.named, objects[1].allocation);
        assert_int_equal(left->place.reason, VIDMM_LEFT_EVICTED);
        assert_ptr_equal(placed->place.allocation.named, objects[2].allocation);
        assert_int_equal(placed->place.reason, VIDMM_PLACE_ASKED);
        assert_int_equal(placed->place.request, request->request.number);
        assert_int_equal(placed->place.bytes, PAGE_BYTES_OF(110));
        assert_int_equal(log.first_runs[left - log.notes].first_page,
                         log.first_runs[placed - log.notes].first_page);
        assert_int_equal(ends->request_ends.number, request->request.number);
        assert_int_equal(ends->request_ends.status, STATUS_SUCCESS);
        assert_string_equal(waits_of(&log, request->request.number), "room paging ");

        rig->note_hook = NULL;
        for (unsigned i = 0; i < 3; i++)
            rig_destroy_object(rig, &objects[i]);
        rig_free(rig);
    }
}

/* Two processes share a segment: the one over its budget loses, though the other waits longer. */
static void what_is_over_its_budget_leaves_before_what_was_used_less_recently(void **state)
{
    struct rig_config config = rig_model(2);
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct rig_request request = {.bytes = PAGE_BYTES_OF(110), .preferred = {1}};
    struct rig_object objects[2], other;
    struct rig_done done = {0};
    struct rig *rig;
    struct log log;
    const struct vidmm_note *note;
    uint64_t fence;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config);
    EXPECT(vidmm_process_create(rig->vidmm, &process) == STATUS_SUCCESS);
    EXPECT(vidmm_device_create(process, &device) == STATUS_SUCCESS);
    EXPECT(rig_try_object(rig, device, &request, &other) == STATUS_SUCCESS);
    for (unsigned i = 0; i < 2; i++)
        rig_object(rig, 110, 1, &objects[i]);

    log_begin(rig, &log);
    EXPECT(vidmm_make_resident(device, 1, &other.allocation, rig_done, &done, &fence) ==
           STATUS_PENDING);
    rig_drain(rig);
    vidmm_evict(device, 1, &other.allocation);
    use(rig, &objects[0]);
    vidmm_set_budget(rig->process, VIDMM_BUDGET_LOCAL, PAGE_BYTES_OF(50));
    note = first_of(&log, VIDMM_NOTE_BUDGET);
    assert_true(note && note->budget.process == rig->process);
    assert_int_equal(note->budget.bytes, PAGE_BYTES_OF(50));
    use(rig, &objects[1]);

    note = first_of(&log, VIDMM_NOTE_VICTIM);
    assert_non_null(note);
    assert_ptr_equal(note->victim.allocation.named, objects[0].allocation);
    assert_int_equal(note->victim.group, VIDMM_VICTIM_OVER_BUDGET);
    assert_int_equal(note->victim.passed_over, 1); /* the other process's, used before */
    assert_string_equal(note->victim.reason, "over budget");
    note = first_of(&log, VIDMM_NOTE_TRIM);
    assert_non_null(note);
    assert_ptr_equal(note->budget.process, rig->process);
    assert_int_equal(note->budget.bytes, PAGE_BYTES_OF(60));

    rig->note_hook = NULL;
    rig_destroy_object(rig, &other);
    for (unsigned i = 0; i < 2; i++)
        rig_destroy_object(rig, &objects[i]);
    rig_drain(rig);
    vidmm_device_destroy(device);
    vidmm_process_destroy(process);
    rig_free(rig);
}

static void what_is_offered_leaves_first_and_is_dropped(void **state)
{
    struct rig_config config = rig_model(2);
    struct rig_object objects[3];
    struct rig *rig;
    struct log log;
    const struct vidmm_note *note;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config);
    for (unsigned i = 0; i < 3; i++)
        rig_object(rig, 110, 1, &objects[i]);
    use(rig, &objects[0]);
    use(rig, &objects[1]);
    log_begin(rig, &log);
    EXPECT(vidmm_offer(rig->device, 1, &objects[1].allocation, VIDMM_OFFER_NORMAL) ==
           STATUS_SUCCESS);
    note = first_of(&log, VIDMM_NOTE_OFFER);
    assert_true(note && note->offer.is_offered);
    use(rig, &objects[2]);
    note = first_of(&log, VIDMM_NOTE_VICTIM);
    assert_non_null(note);
    assert_ptr_equal(note->victim.allocation.named, objects[1].allocation);
    assert_int_equal(note->victim.group, VIDMM_VICTIM_OFFERED);
    assert_int_equal(note->victim.priority, VIDMM_OFFER_NORMAL);
    assert_int_equal(first_of(&log, VIDMM_NOTE_LEFT)->place.reason, VIDMM_LEFT_DROPPED);

    rig->note_hook = NULL;
    for (unsigned i = 0; i < 3; i++)
        rig_destroy_object(rig, &objects[i]);
    rig_free(rig);
}

/* ---- What requests wait for ------------------------------------------------------------------ */

static void a_request_waits_for_the_one_in_front_of_it(void **state)
{
    struct rig_config config = rig_model(2);
    struct rig_object objects[2];
    struct rig_done done[2] = {{0}};
    struct rig *rig;
    struct log log;
    const struct vidmm_note *first, *second, *wait;
    uint64_t fence;
    unsigned at = 0;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config);
    for (unsigned i = 0; i < 2; i++)
        rig_object(rig, 200, 1, &objects[i]);
    log_begin(rig, &log);
    EXPECT(vidmm_make_resident(rig->device, 1, &objects[0].allocation, rig_done, &done[0],
                               &fence) == STATUS_PENDING);
    EXPECT(vidmm_make_resident(rig->device, 1, &objects[1].allocation, rig_done, &done[1],
                               &fence) == STATUS_PENDING);
    EXPECT(vidmm_make_resident(rig->device, 1, &objects[1].allocation, NULL, NULL, &fence) ==
           STATUS_PENDING);
    first = next_of(&log, VIDMM_NOTE_REQUEST, &at);
    second = next_of(&log, VIDMM_NOTE_REQUEST, &at);
    assert_true(first && second);
    assert_int_equal(first->request.kind, VIDMM_REQUEST_CLIENT);
    assert_int_equal(second->request.fence_value, first->request.fence_value + 1);
    /* The first one is placed at once; the second finds no room while that comes in. */
    assert_string_equal(waits_of(&log, first->request.number), "paging ");
    assert_string_equal(waits_of(&log, second->request.number), "room ");
    wait = last_of(&log, VIDMM_NOTE_REQUEST_WAITS);
    assert_int_equal(wait->request_waits.wait, VIDMM_WAIT_REQUEST);
    assert_int_equal(wait->request_waits.request, second->request.number);
    assert_int_equal(wait->request_waits.number, second->request.number + 1);

    /* Nothing helps the second: the first one's reference holds the place. */
    rig_drain(rig);
    assert_int_equal(done[0].status, STATUS_SUCCESS);
    assert_int_equal(done[1].status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    wait = last_of(&log, VIDMM_NOTE_REQUEST_ENDS);
    assert_int_equal(wait->request_ends.status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    assert_int_equal(wait->request_ends.needed, done[1].needed);
    assert_int_equal(wait->request_ends.available, done[1].available);

    rig->note_hook = NULL;
    vidmm_evict(rig->device, 1, &objects[0].allocation);
    for (unsigned i = 0; i < 2; i++)
        rig_destroy_object(rig, &objects[i]);
    rig_free(rig);
}

/* RES-014, physical: what the CPU looks at does not enter local memory. */
static void a_request_waits_for_a_lock(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig_object objects[2], *locked = &objects[1];
    struct rig_done done[2] = {{0}};
    struct rig *rig = rig_create(&config);
    struct log log;
    const struct vidmm_note *wait;

    for (unsigned i = 0; i < 2; i++)
        rig_object(rig, 20, 1, &objects[i]);
    rig_lock(rig, locked);
    log_begin(rig, &log);
    for (unsigned i = 0; i < 2; i++) {
        struct rig_object *object = &objects[i];

        EXPECT(rig_gpu_in(rig, rig->context, &object, 1, 2, rig_done, &done[i]) == STATUS_SUCCESS);
    }
    wait = last_of(&log, VIDMM_NOTE_REQUEST_WAITS);
    assert_non_null(wait);
    assert_int_equal(wait->request_waits.wait, VIDMM_WAIT_LOCK);
    assert_ptr_equal(wait->request_waits.allocation.named, locked->allocation);
    vidmm_unlock(locked->allocation);
    rig_drain(rig);
    assert_int_equal(done[0].status, STATUS_SUCCESS);
    assert_int_equal(done[1].status, STATUS_SUCCESS);
    assert_string_equal(waits_of(&log, wait->request_waits.number), "lock paging ");

    rig->note_hook = NULL;
    for (unsigned i = 0; i < 2; i++)
        rig_destroy_object(rig, &objects[i]);
    rig_free(rig);
}

static void a_packet_waits_for_the_paging_fence_of_its_device(void **state)
{
    struct rig_config config = rig_model(2);
    struct rig_object object;
    struct rig_object *named = &object;
    struct rig_done asked = {0}, done = {0};
    struct log log = {.count = 0};
    struct rig *rig;
    const struct vidmm_note *note, *value;
    const void *fence_of_device = NULL;
    uint64_t fence;
    unsigned at = 0;

    config.keeps_tables_in_system = true;
    rig = rig_new(&config);
    log_begin(rig, &log);
    EXPECT(rig_start(rig) == STATUS_SUCCESS);
    EXPECT(rig_open(rig) == STATUS_SUCCESS);
    while ((note = next_of(&log, VIDMM_NOTE_OBJECT, &at)) != NULL) {
        if (note->object.kind == VIDMM_OBJECT_DEVICE && note->object.object == rig->device)
            fence_of_device = note->object.paging_fence;
    }
    assert_non_null(fence_of_device);
    rig_object(rig, 20, 1, &object);
    rig_map(rig, &object);
    EXPECT(vidmm_make_resident(rig->device, 1, &object.allocation, rig_done, &asked, &fence) ==
           STATUS_PENDING);
    EXPECT(vidmm_context_wait_for_paging(rig->context, fence) == STATUS_SUCCESS);
    log.count = 0;
    EXPECT(rig_gpu_in(rig, rig->context, &named, 1, 2, rig_done, &done) == STATUS_SUCCESS);
    note = first_of(&log, VIDMM_NOTE_PACKET);
    assert_non_null(note);
    assert_int_equal(note->packet.step, VIDMM_PACKET_QUEUED);
    assert_int_equal(note->packet.kind, VIDMM_PACKET_SUBMISSION);
    assert_ptr_equal(note->packet.wait_fence, fence_of_device);
    assert_int_equal(note->packet.wait_value, fence);
    assert_int_equal(note->packet.subject,
                     first_of(&log, VIDMM_NOTE_SUBMISSION)->submission.number);
    assert_int_equal(count_of(&log, VIDMM_NOTE_PACKET), 1);

    /* It goes when the request has ended. */
    rig_drain(rig);
    assert_int_equal(done.status, STATUS_SUCCESS);
    note = last_of(&log, VIDMM_NOTE_PACKET);
    assert_int_equal(note->packet.step, VIDMM_PACKET_RETIRED);
    assert_int_equal(note->packet.kind, VIDMM_PACKET_SUBMISSION);
    assert_true(last_of(&log, VIDMM_NOTE_REQUEST_ENDS) < note);
    at = 0;
    while ((note = next_of(&log, VIDMM_NOTE_PACKET, &at)) != NULL &&
           (note->packet.kind != VIDMM_PACKET_SUBMISSION ||
            note->packet.step != VIDMM_PACKET_SUBMITTED)) {
    }
    assert_non_null(note);
    assert_int_equal(count_of(&log, VIDMM_NOTE_FENCE_VALUE), 1);
    value = first_of(&log, VIDMM_NOTE_FENCE_VALUE);
    assert_true(last_of(&log, VIDMM_NOTE_REQUEST_ENDS) < value && value < note);
    assert_null(value->fence.fence);
    assert_ptr_equal(value->fence.device, rig->device);
    assert_int_equal(value->fence.value, fence);
    assert_int_equal(value->fence.request,
                     last_of(&log, VIDMM_NOTE_REQUEST_ENDS)->request_ends.number);

    rig->note_hook = NULL;
    vidmm_evict(rig->device, 1, &object.allocation);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/* ---- Page tables ----------------------------------------------------------------------------- */

/* The entries of a mapping are told as one range for each piece of its place. */
static void entries_are_told_as_ranges(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig_object object;
        struct rig *rig;
        struct log log;
        const struct vidmm_note *note, *placed;
        uint64_t pages = 0;
        unsigned at = 0;

        config.keeps_tables_in_system = true;
        rig = rig_create(&config);
        rig_object(rig, 40, 1, &object);
        rig_map(rig, &object);
        log_begin(rig, &log);
        rig_make_resident(rig, &object);
        placed = first_of(&log, VIDMM_NOTE_PLACED);
        assert_true(placed && placed->place.run_count == 1);
        while ((note = next_of(&log, VIDMM_NOTE_ENTRIES, &at)) != NULL) {
            if (note->entries.process != rig->process || note->entries.level ||
                !note->entries.is_valid)
                continue;
            assert_int_equal(note->entries.segment, 1);
            assert_int_equal(note->entries.entry_bytes, PAGE_BYTES);
            assert_int_equal(note->entries.stride, PAGE_BYTES);
            assert_int_equal(note->entries.va, object.va + PAGE_BYTES_OF(pages));
            assert_int_equal(note->entries.offset,
                             PAGE_BYTES_OF(log.first_runs[placed - log.notes].first_page + pages));
            pages += note->entries.count;
        }
        assert_int_equal(pages, 40);
        /* One range for each leaf table that the 40 pages lie in. */
        assert_true(count_of(&log, VIDMM_NOTE_ENTRIES) <= 16);

        rig->note_hook = NULL;
        rig_evict(rig, &object);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/* ---- Nobody listens -------------------------------------------------------------------------- */

static void nobody_hears_anything_without_an_observer(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig_object objects[3];
        struct rig *rig = rig_new(&config);

        rig->manager.events.told = NULL;
        EXPECT(rig_start(rig) == STATUS_SUCCESS);
        EXPECT(rig_open(rig) == STATUS_SUCCESS);
        for (unsigned i = 0; i < 3; i++)
            rig_object(rig, 80, 1, &objects[i]);
        for (unsigned i = 0; i < 3; i++)
            use(rig, &objects[i]);
        for (unsigned kind = 0; kind < VIDMM_NOTE_KINDS; kind++)
            assert_int_equal(rig_notes_count(rig, (enum vidmm_note_kind)kind), 0);
        for (unsigned i = 0; i < 3; i++)
            rig_destroy_object(rig, &objects[i]);
        rig_free(rig);
    }
}

static void each_value_has_a_word_of_its_own(void **state)
{
    for (unsigned kind = 0; kind < VIDMM_NOTE_KINDS; kind++) {
        assert_string_not_equal(vidmm_note_name(kind), "?");
        for (unsigned other = 0; other < kind; other++)
            assert_string_not_equal(vidmm_note_name(kind), vidmm_note_name(other));
    }
    assert_string_equal(vidmm_note_name(VIDMM_NOTE_KINDS), "?");
    assert_string_equal(vidmm_note_name(VIDMM_NOTE_PACKET), "packet");
    assert_string_equal(vidmm_note_name(VIDMM_NOTE_PLACED), "placed");
    assert_string_equal(vidmm_object_name(VIDMM_OBJECT_NATIVE_FENCE), "native fence");
    assert_string_equal(vidmm_request_name(VIDMM_REQUEST_UPDATE), "update");
    assert_string_equal(vidmm_wait_name(VIDMM_WAIT_PAGING), "paging");
    assert_string_equal(vidmm_victim_group_name(VIDMM_VICTIM_PRIORITY), "priority");
    assert_string_equal(vidmm_place_reason_name(VIDMM_LEFT_UNUSED), "unused");
    assert_string_equal(vidmm_range_name(VIDMM_RANGE_EVICTION), "eviction");
    assert_string_equal(vidmm_state_name(VIDMM_STATE_DYING), "dying");
    assert_string_equal(vidmm_queue_wait_name(VIDMM_QUEUE_WAIT_GIVEN_WAY), "given way");
    assert_string_equal(vidmm_packet_name(VIDMM_PACKET_SWITCH), "switch");
    assert_string_equal(vidmm_packet_step_name(VIDMM_PACKET_RETIRED), "retired");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_recently_used_leaves_for_the_request_that_needs_its_place),
        cmocka_unit_test(what_is_over_its_budget_leaves_before_what_was_used_less_recently),
        cmocka_unit_test(what_is_offered_leaves_first_and_is_dropped),
        cmocka_unit_test(a_request_waits_for_the_one_in_front_of_it),
        cmocka_unit_test(a_request_waits_for_a_lock),
        cmocka_unit_test(a_packet_waits_for_the_paging_fence_of_its_device),
        cmocka_unit_test(entries_are_told_as_ranges),
        cmocka_unit_test(nobody_hears_anything_without_an_observer),
        cmocka_unit_test(each_value_has_a_word_of_its_own),
    };

    return cmocka_run_group_tests_name("vidmm/note", tests, NULL, NULL);
}
