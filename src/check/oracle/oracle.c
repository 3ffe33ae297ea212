/*
 * Oracle: life, the workload's reads and writes, and the GPU's runs of submissions. The files of
 * the oracle are listed in oracle_private.h.
 */
#include "check/oracle/oracle_private.h"

#include <stdio.h>
#include <string.h>

/* ---- Life ---- */

NTSTATUS oracle_create(const struct oracle_config *config, struct oracle **out_oracle)
{
    struct oracle *oracle;

    *out_oracle = NULL;
    oracle = base_alloc(config->services, sizeof *oracle);
    if (!oracle)
        return STATUS_NO_MEMORY;
    oracle->config = *config;
    oracle->services = config->services;
    oracle->config.expected_bytes = align_up(oracle->config.expected_bytes, PAGE_BYTES);
    if (range_allocator_init(&oracle->ranges, config->services, 0, oracle->config.expected_bytes,
                             PAGE_BYTES) != RANGE_OK)
        goto free_oracle;
    oracle->expected =
        page_store_create(config->services, oracle->config.expected_bytes / PAGE_BYTES);
    if (!oracle->expected)
        goto fini_ranges;
    list_init(&oracle->allocations);
    list_init(&oracle->announced);
    list_init(&oracle->parts);
    list_init(&oracle->packets);
    id_map_init(&oracle->by_id, oracle->services);
    id_map_init(&oracle->by_handle, oracle->services);
    id_map_init(&oracle->fences, oracle->services);
    id_map_init(&oracle->submissions, oracle->services);
    id_map_init(&oracle->kernel.buffers, oracle->services);
    id_map_init(&oracle->kernel.packets, oracle->services);
    id_map_init(&oracle->va_chunks, oracle->services);
    *out_oracle = oracle;
    return STATUS_SUCCESS;

fini_ranges:
    range_allocator_fini(&oracle->ranges);
free_oracle:
    base_free(config->services, oracle, sizeof *oracle);
    return STATUS_NO_MEMORY;
}

static size_t submission_bytes(unsigned reference_count)
{
    return sizeof(struct submission) + reference_count * sizeof(struct submission_reference);
}

static void free_submission(struct oracle *oracle, struct submission *submission)
{
    for (unsigned i = 0; i < submission->reference_count; i++)
        allocation_put(oracle, submission->references[i].allocation);
    if (oracle->last_submission == submission)
        oracle->last_submission = NULL;
    base_free(oracle->services, submission, submission_bytes(submission->reference_count));
}

static void unbind(struct oracle *oracle, struct oracle_allocation *allocation)
{
    if (!allocation->is_bound)
        return;
    id_map_remove(&oracle->by_handle, allocation->handle);
    allocation->is_bound = false;
    allocation_put(oracle, allocation);
}

void oracle_destroy(struct oracle *oracle)
{
    struct oracle_allocation *allocation;
    struct oracle_allocation *following;
    struct submission *submission;
    size_t position = 0;

    if (!oracle)
        return;
    oracle_forget_paging(oracle);
    while ((submission = id_map_next(&oracle->submissions, &position)))
        free_submission(oracle, submission);
    list_for_each_safe (allocation, following, &oracle->allocations, struct oracle_allocation,
                        link) {
        allocation_get(allocation);
        unbind(oracle, allocation);
        if (allocation->is_live)
            oracle_allocation_freed(oracle, allocation->id);
        ASSERT(allocation->reference_count == 1);
        allocation_put(oracle, allocation);
    }
    range_allocator_fini(&oracle->ranges);
    id_map_fini(&oracle->by_id);
    id_map_fini(&oracle->by_handle);
    oracle_forget_fences(oracle);
    id_map_fini(&oracle->submissions);
    id_map_fini(&oracle->kernel.buffers);
    id_map_fini(&oracle->kernel.packets);
    id_map_fini(&oracle->va_chunks);
    page_store_destroy(oracle->expected);
    base_free(oracle->services, oracle, sizeof *oracle);
}

const struct oracle_counters *oracle_counters(const struct oracle *oracle)
{
    return &oracle->counters;
}

/* ---- Allocations ---- */

static struct oracle_allocation *find_allocation(const struct oracle *oracle, uint64_t id)
{
    struct oracle_allocation *allocation = id_map_find(&oracle->by_id, id);

    ASSERT(allocation);
    return allocation;
}

void oracle_allocation_reordered(struct oracle *oracle, uint64_t id, oracle_layout *page_in_memory,
                                 bool is_swizzled)
{
    struct oracle_allocation *allocation = find_allocation(oracle, id);

    ASSERT(!allocation->locations && !allocation->operation_count);
    allocation->layout = page_in_memory;
    allocation->is_swizzled = is_swizzled;
}

void oracle_allocation_pitched(struct oracle *oracle, uint64_t id, oracle_layout *page_in_memory)
{
    oracle_allocation_reordered(oracle, id, page_in_memory, false);
    find_allocation(oracle, id)->is_pitched = true;
}

void oracle_allocation_freed(struct oracle *oracle, uint64_t id)
{
    struct oracle_allocation *allocation = find_allocation(oracle, id);

    list_remove(&allocation->announced_link);
    id_map_remove(&oracle->by_id, id);
    allocation->is_live = false;
    allocation_put(oracle, allocation);
}

/* allocation NULL: the handle is of none that is followed. */
static void bind(struct oracle *oracle, struct oracle_allocation *allocation, uint64_t handle)
{
    struct oracle_allocation *former = id_map_find(&oracle->by_handle, handle);

    if (former)
        unbind(oracle, former);
    if (!allocation)
        return;
    if (!id_map_set(&oracle->by_handle, handle, allocation)) {
        oracle->counters.lost_operations++;
        oracle->is_blind = true;
        return;
    }
    allocation->handle = handle;
    allocation->is_bound = true;
    allocation_get(allocation);
}

void oracle_handle_created(struct oracle *oracle, uint64_t handle)
{
    struct list *link = list_pop_front(&oracle->announced);

    bind(oracle, link ? container_of(link, struct oracle_allocation, announced_link) : NULL,
         handle);
}

NTSTATUS oracle_allocation_renamed(struct oracle *oracle, uint64_t id, const void *handle)
{
    struct oracle_allocation *former = find_allocation(oracle, id);
    char name[NAME_BYTES];
    NTSTATUS status;

    id_map_remove(&oracle->by_id, id);
    snprintf(name, sizeof name, "%s", former->name);
    status = oracle_allocation_created(oracle, id, former->bytes, name);
    if (!NT_SUCCESS(status)) {
        bool is_back = id_map_set(&oracle->by_id, id, former);

        ASSERT(is_back); /* where it was there is room for it */
        (void)is_back;
        return status;
    }
    list_remove(&find_allocation(oracle, id)->announced_link);
    bind(oracle, find_allocation(oracle, id), (uint64_t)(uintptr_t)handle);
    find_allocation(oracle, id)->layout = former->layout;
    find_allocation(oracle, id)->is_swizzled = former->is_swizzled;
    find_allocation(oracle, id)->is_pitched = former->is_pitched;
    oracle_content_lost(oracle, id);
    former->is_live = false;
    allocation_put(oracle, former);
    return STATUS_SUCCESS;
}

void oracle_instance_ended(struct oracle *oracle, const void *handle)
{
    struct oracle_allocation *allocation =
        id_map_find(&oracle->by_handle, (uint64_t)(uintptr_t)handle);

    if (allocation)
        unbind(oracle, allocation);
}

void oracle_handle_destroyed(struct oracle *oracle, uint64_t handle)
{
    struct oracle_allocation *allocation = id_map_find(&oracle->by_handle, handle);

    if (!allocation)
        return;
    /* The workload has not freed it: it could not be made in the end, and is tried again. */
    if (allocation->is_live && list_is_empty(&allocation->announced_link))
        list_push_back(&oracle->announced, &allocation->announced_link);
    unbind(oracle, allocation);
}

/* ---- Undefined content ---- */

void oracle_content_lost(struct oracle *oracle, uint64_t id)
{
    oracle_lose_content(oracle, find_allocation(oracle, id));
}

void oracle_lose_content(struct oracle *oracle, struct oracle_allocation *allocation)
{
    lose_pages(oracle, allocation);
    /* Its pages went with it, and belong to others: where it is next, the next operation tells. */
    for (uint64_t page = 0; allocation->locations && page < allocation->page_count; page++)
        allocation->locations[page] = LOCATION_UNKNOWN;
    drop_backing(oracle, allocation);
}

bool oracle_content_offered(struct oracle *oracle, uint64_t id, bool is_offered)
{
    struct oracle_allocation *allocation = find_allocation(oracle, id);
    bool was_offered = allocation->is_offered;

    allocation->is_offered = is_offered;
    return was_offered;
}

/* Pages that are wholly written have a content again. */
static void define_pages(struct oracle_allocation *allocation, uint64_t offset, uint64_t bytes)
{
    uint64_t end = min_u64(align_up(offset + bytes, PAGE_BYTES), offset + bytes) / PAGE_BYTES;

    if (!allocation->undefined)
        return;
    if (offset + bytes == allocation->bytes)
        end = allocation->page_count;
    for (uint64_t page = div_round_up(offset, PAGE_BYTES); page < end; page++)
        allocation->undefined[page / 64] &= ~(UINT64_C(1) << (page % 64));
}

static void write_expected(struct oracle *oracle, struct oracle_allocation *allocation,
                           uint64_t offset, uint64_t bytes, uint64_t tag)
{
    page_store_write_tag(oracle->expected, allocation->expected_page * PAGE_BYTES + offset, bytes,
                         tag);
    define_pages(allocation, offset, bytes);
}

/* ---- The CPU ---- */

static bool lies_inside(const struct oracle_allocation *allocation, uint64_t offset, uint64_t bytes)
{
    return offset <= allocation->bytes && bytes <= allocation->bytes - offset;
}

/* The pages of [offset, + bytes) follow each other from the page of address on. */
static void learn(struct oracle *oracle, struct oracle_allocation *allocation, uint64_t offset,
                  struct page_store *store, uint64_t address, uint64_t bytes)
{
    uint64_t page = offset / PAGE_BYTES;
    uint64_t end = div_round_up(offset + bytes, PAGE_BYTES);
    uint64_t location = location_in(oracle, store, address / PAGE_BYTES);

    if (!location || !ensure_locations(oracle, allocation))
        return;
    for (; page < end; page++)
        allocation->locations[page] = location++;
}

void oracle_cpu_wrote(struct oracle *oracle, uint64_t id, uint64_t offset, struct page_store *store,
                      uint64_t address, uint64_t bytes)
{
    struct oracle_allocation *allocation = find_allocation(oracle, id);
    bool is_inside = lies_inside(allocation, offset, bytes);

    ASSERT(is_inside);
    ASSERT(offset % PAGE_BYTES == address % PAGE_BYTES);
    learn(oracle, allocation, offset, store, address, bytes);
    oracle_wrote(oracle, store, address, bytes, ORACLE_NO_WRITER);
}

void oracle_cpu_content(struct oracle *oracle, uint64_t id, uint64_t offset, uint64_t bytes,
                        uint64_t tag)
{
    struct oracle_allocation *allocation = find_allocation(oracle, id);
    bool is_inside = lies_inside(allocation, offset, bytes);

    ASSERT(is_inside);
    write_expected(oracle, allocation, offset, bytes, tag);
}

void oracle_cpu_write(struct oracle *oracle, uint64_t id, uint64_t offset, struct page_store *store,
                      uint64_t address, uint64_t bytes, uint64_t tag)
{
    oracle_cpu_wrote(oracle, id, offset, store, address, bytes);
    oracle_cpu_content(oracle, id, offset, bytes, tag);
}

void oracle_cpu_read(struct oracle *oracle, uint64_t id, uint64_t offset, struct page_store *store,
                     uint64_t address, uint64_t bytes)
{
    struct oracle_allocation *allocation = find_allocation(oracle, id);
    bool is_inside = lies_inside(allocation, offset, bytes);

    ASSERT(is_inside);
    ASSERT(offset % PAGE_BYTES == address % PAGE_BYTES);
    learn(oracle, allocation, offset, store, address, bytes);
    compare_bytes(oracle, allocation, offset, store, address, bytes,
                  &(struct occasion){.kind = OCCASION_CPU});
}

/* ---- Submissions ---- */

NTSTATUS oracle_submission(struct oracle *oracle, uint64_t token, unsigned reference_count,
                           const struct oracle_reference *references)
{
    struct submission *submission;

    ASSERT(!id_map_find(&oracle->submissions, token));
    submission = base_alloc(oracle->services, submission_bytes(reference_count));
    if (!submission)
        return STATUS_NO_MEMORY;
    submission->token = token;
    submission->reference_count = reference_count;
    if (!id_map_set(&oracle->submissions, token, submission)) {
        base_free(oracle->services, submission, submission_bytes(reference_count));
        return STATUS_NO_MEMORY;
    }
    for (unsigned i = 0; i < reference_count; i++) {
        struct oracle_allocation *allocation = find_allocation(oracle, references[i].allocation);

        ASSERT(lies_inside(allocation, references[i].offset, references[i].bytes));
        ASSERT(references[i].source != ORACLE_COPY ||
               (i && references[i - 1].bytes == references[i].bytes));
        submission->references[i].told = references[i];
        submission->references[i].allocation = allocation;
        allocation_get(allocation);
    }
    return STATUS_SUCCESS;
}

static struct submission *find_submission(struct oracle *oracle, uint64_t token)
{
    if (!oracle->last_submission || oracle->last_submission->token != token)
        oracle->last_submission = id_map_find(&oracle->submissions, token);
    return oracle->last_submission;
}

static void coverage_problem(struct oracle *oracle, struct submission *submission, uint32_t index,
                             const char *verb, uint64_t done, uint64_t wanted)
{
    const struct submission_reference *reference = &submission->references[index];

    oracle_problem(
        oracle, ORACLE_COVERAGE, reference->allocation, submission, reference->told.offset + done,
        "submission 0x%llx: reference %u (%s, 0x%llx bytes at 0x%llx) was %s up to "
        "0x%llx, and the next part was at 0x%llx",
        (unsigned long long)submission->token, index, reference->allocation->name,
        (unsigned long long)reference->told.bytes, (unsigned long long)reference->told.offset, verb,
        (unsigned long long)done, (unsigned long long)wanted);
}

void oracle_submission_retired(struct oracle *oracle, uint64_t token)
{
    struct submission *submission = find_submission(oracle, token);

    ASSERT(submission);
    if (submission->begin_count == 0 || submission->begin_count != submission->end_count) {
        oracle_problem(oracle, ORACLE_RUN_COUNT, NULL, submission, 0,
                       "submission 0x%llx was reported complete, and the GPU has begun it %u times "
                       "and ended it %u times",
                       (unsigned long long)token, submission->begin_count, submission->end_count);
    }
    for (unsigned i = 0; i < submission->reference_count && submission->end_count; i++) {
        const struct submission_reference *reference = &submission->references[i];
        uint64_t bytes = reference->told.bytes;

        if (reference->told.is_read && reference->read_bytes != bytes)
            coverage_problem(oracle, submission, i, "read", reference->read_bytes, bytes);
        if (reference->told.is_written && reference->written_bytes != bytes)
            coverage_problem(oracle, submission, i, "written", reference->written_bytes, bytes);
    }
    oracle->counters.submissions++;
    id_map_remove(&oracle->submissions, token);
    free_submission(oracle, submission);
}

void oracle_submission_cancelled(struct oracle *oracle, uint64_t token)
{
    struct submission *submission = id_map_remove(&oracle->submissions, token);

    ASSERT(submission);
    free_submission(oracle, submission);
}

/* ---- The GPU ---- */

void oracle_render_begin(struct oracle *oracle, uint64_t token, uint32_t node)
{
    struct submission *submission = find_submission(oracle, token);

    if (!submission) {
        oracle_problem(
            oracle, ORACLE_RUN_COUNT, NULL, NULL, 0,
            "node %u runs submission 0x%llx, which has ended, was given up in a reset, or was "
            "not to run (NullRendering)",
            node, (unsigned long long)token);
        return;
    }
    if (submission->begin_count++) {
        oracle_problem(oracle, ORACLE_RUN_COUNT, NULL, submission, 0,
                       "node %u runs submission 0x%llx for the second time", node,
                       (unsigned long long)token);
    }
    for (unsigned i = 0; i < submission->reference_count; i++) {
        submission->references[i].read_bytes = 0;
        submission->references[i].written_bytes = 0;
    }
}

/*
 * The reference that a run is of; *done counts its bytes so far. NULL, after a report, when the
 * submission has no such reference or the run lies outside it.
 */
static struct submission_reference *enter_run(struct oracle *oracle, uint64_t token, uint32_t index,
                                              uint64_t offset, uint64_t bytes, bool is_write)
{
    struct submission *submission = find_submission(oracle, token);
    struct submission_reference *reference;
    uint64_t *done;

    if (!submission || index == ORACLE_NOT_FOLLOWED)
        return NULL; /* told at its beginning, or nobody's content */
    if (index >= submission->reference_count) {
        oracle_problem(oracle, ORACLE_COVERAGE, NULL, submission, 0,
                       "submission 0x%llx has %u references, and the GPU uses number %u",
                       (unsigned long long)token, submission->reference_count, index);
        return NULL;
    }
    reference = &submission->references[index];
    done = is_write ? &reference->written_bytes : &reference->read_bytes;
    if (offset != *done)
        coverage_problem(oracle, submission, index, is_write ? "written" : "read", *done, offset);
    *done = offset + bytes;
    if (offset > reference->told.bytes || bytes > reference->told.bytes - offset) {
        coverage_problem(oracle, submission, index, is_write ? "written" : "read", offset,
                         offset + bytes);
        return NULL;
    }
    return reference;
}

/* Number of leading locations that are known: all of them, mostly, so eight at a time. */
static uint64_t located_run(const uint64_t *locations, uint64_t count)
{
    uint64_t i = 0;

    for (; i + 8 <= count; i += 8) {
        uint64_t are_located = UINT64_MAX;

        /* Of the two bits of the kind one is set: it is system or local memory. */
        for (uint64_t j = 0; j < 8; j++)
            are_located &= locations[i + j] ^ locations[i + j] << 1;
        if (!(are_located >> 63))
            break;
    }
    while (i < count && is_located(locations[i]))
        i++;
    return i;
}

/*
 * Page by page: an access may begin where something was learnt before, and go on where nothing was.
 */
static void learn_if_unknown(struct oracle *oracle, struct oracle_allocation *allocation,
                             uint64_t offset, struct page_store *store, uint64_t address,
                             uint64_t bytes)
{
    uint64_t page = offset / PAGE_BYTES;
    uint64_t end = div_round_up(offset + bytes, PAGE_BYTES);
    uint64_t location;

    if (allocation->locations &&
        located_run(allocation->locations + page, end - page) == end - page)
        return;
    location = location_in(oracle, store, address / PAGE_BYTES);
    if (!location || !ensure_locations(oracle, allocation))
        return;
    for (; page < end; page++, location++) {
        uint64_t known = located_run(allocation->locations + page, end - page);

        page += known;
        location += known;
        if (page < end)
            allocation->locations[page] = location;
    }
}

/* Written where a packet that has not retired yet brought it: the content is there now. */
static void learn_if_moving(struct oracle *oracle, struct oracle_allocation *allocation,
                            uint64_t offset, struct page_store *store, uint64_t address,
                            uint64_t bytes)
{
    if (allocation->operation_count && store == oracle->config.local)
        learn(oracle, allocation, offset, store, address, bytes);
}

void oracle_render_read(struct oracle *oracle, uint64_t token, uint32_t index,
                        uint64_t offset_in_ref, struct page_store *store, uint64_t address,
                        uint64_t bytes)
{
    struct submission_reference *reference =
        enter_run(oracle, token, index, offset_in_ref, bytes, false);
    struct occasion occasion = {.kind = OCCASION_RENDER, .token = token, .index = index};
    uint64_t offset, location;

    if (!reference)
        return;
    offset = reference->told.offset + offset_in_ref;
    location = location_in(oracle, store, address / PAGE_BYTES);
    learn_if_unknown(oracle, reference->allocation, offset, store, address, bytes);
    if (location && is_aligned(offset | address | bytes, PAGE_BYTES)) {
        compare_pages(oracle, reference->allocation, offset / PAGE_BYTES, bytes / PAGE_BYTES,
                      location, &occasion);
    } else {
        compare_bytes(oracle, reference->allocation, offset, store, address, bytes, &occasion);
    }
}

void oracle_render_write(struct oracle *oracle, uint64_t token, uint32_t index,
                         uint64_t offset_in_ref, struct page_store *store, uint64_t address,
                         uint64_t bytes)
{
    struct submission_reference *reference =
        enter_run(oracle, token, index, offset_in_ref, bytes, true);
    uint64_t offset;

    if (!reference)
        return;
    offset = reference->told.offset + offset_in_ref;
    if (store) {
        oracle_wrote(oracle, store, address, bytes, ORACLE_NO_WRITER);
        learn_if_unknown(oracle, reference->allocation, offset, store, address, bytes);
        learn_if_moving(oracle, reference->allocation, offset, store, address, bytes);
        return;
    }
    oracle_problem(oracle, ORACLE_WRITE_LOST, reference->allocation, NULL, offset,
                   "%s (allocation %llu): submission 0x%llx, reference %u: the write of 0x%llx "
                   "bytes at 0x%llx went through a zero entry",
                   reference->allocation->name, (unsigned long long)reference->allocation->id,
                   (unsigned long long)token, index, (unsigned long long)bytes,
                   (unsigned long long)offset);
}

/* What is copied from pages of undefined content is undefined, too. */
static void copy_expected(struct oracle *oracle, const struct submission_reference *source,
                          const struct submission_reference *reference)
{
    uint64_t offset = reference->told.offset, from = source->told.offset;
    uint64_t end = offset + reference->told.bytes;

    page_store_copy_bytes(oracle->expected,
                          reference->allocation->expected_page * PAGE_BYTES + offset,
                          oracle->expected, source->allocation->expected_page * PAGE_BYTES + from,
                          reference->told.bytes);
    define_pages(reference->allocation, offset, reference->told.bytes);
    for (uint64_t page = offset / PAGE_BYTES; page * PAGE_BYTES < end; page++) {
        uint64_t first = max_u64(page * PAGE_BYTES, offset) - offset + from;
        uint64_t last = min_u64((page + 1) * PAGE_BYTES, end) - 1 - offset + from;

        if (is_undefined(source->allocation, first / PAGE_BYTES) ||
            is_undefined(source->allocation, last / PAGE_BYTES))
            lose_page(oracle, reference->allocation, page);
    }
}

/* All of the reference has been written. */
static void expect_written(struct oracle *oracle, const struct submission_reference *reference)
{
    const struct oracle_reference *told = &reference->told;

    switch (told->source) {
    case ORACLE_KEYS:
        write_expected(oracle, reference->allocation, told->offset, told->bytes, told->key);
        break;
    case ORACLE_COPY:
        copy_expected(oracle, reference - 1, reference);
        break;
    case ORACLE_COLOR:
        page_store_fill(oracle->expected,
                        reference->allocation->expected_page * PAGE_BYTES + told->offset,
                        told->bytes, (uint32_t)told->key);
        define_pages(reference->allocation, told->offset, told->bytes);
        break;
    }
}

void oracle_render_piece_end(struct oracle *oracle, uint64_t token)
{
    struct submission *submission = find_submission(oracle, token);

    for (unsigned i = 0; submission && i < submission->reference_count; i++) {
        struct submission_reference *reference = &submission->references[i];

        if (!reference->told.is_written || reference->is_expected ||
            reference->written_bytes != reference->told.bytes)
            continue;
        expect_written(oracle, reference);
        reference->is_expected = true;
    }
}

void oracle_render_end(struct oracle *oracle, uint64_t token)
{
    struct submission *submission = find_submission(oracle, token);

    if (!submission)
        return;
    submission->end_count++;
    for (unsigned i = 0; i < submission->reference_count; i++) {
        struct submission_reference *reference = &submission->references[i];

        if (reference->told.is_written && !reference->is_expected)
            expect_written(oracle, reference);
        reference->is_expected = false;
    }
}

/* ---- Look ---- */

bool oracle_find_page(const struct oracle *oracle, uint64_t id, uint64_t page,
                      struct page_store **out_store, uint64_t *out_page)
{
    const struct oracle_allocation *allocation = id_map_find(&oracle->by_id, id);
    uint64_t location = LOCATION_UNKNOWN;

    if (allocation && page < allocation->page_count && allocation->locations)
        location = allocation->locations[page];
    *out_store = location_store(oracle, location);
    *out_page = *out_store ? location_page(location) : 0;
    return *out_store != NULL;
}

bool oracle_check(const struct oracle *oracle)
{
    const struct oracle_allocation *allocation;
    size_t live_count = 0;
    size_t bound_count = 0;

    list_for_each (allocation, &oracle->allocations, struct oracle_allocation, link) {
        live_count += allocation->is_live;
        bound_count += allocation->is_bound;
        ASSERT(allocation->reference_count >=
               (uint64_t)allocation->is_live + allocation->is_bound + allocation->operation_count);
        ASSERT(!allocation->is_bound ||
               id_map_find(&oracle->by_handle, allocation->handle) == allocation);
        ASSERT(!allocation->is_live || id_map_find(&oracle->by_id, allocation->id) == allocation);
        ASSERT(allocation->locations || !allocation->backing);
        for (uint64_t i = 0; allocation->locations && i < allocation->page_count; i++) {
            uint64_t location = allocation->locations[i];
            const struct page_store *store = location_store(oracle, location);

            ASSERT(!store || location_page(location) < page_store_page_count(store));
            (void)store;
        }
    }
    ASSERT(!range_allocator_check(&oracle->ranges));
    ASSERT(range_allocator_live_count(&oracle->ranges) == list_count(&oracle->allocations));
    ASSERT(live_count == oracle->by_id.count && bound_count == oracle->by_handle.count);
    return live_count == oracle->by_id.count && bound_count == oracle->by_handle.count;
}
