/*
 * random: any operation at any time, for stress and for tests.
 *
 * The generator keeps a list of the live allocations and draws each operation from a weighted
 * choice. Each operation is valid, and means the same in every run: where two contexts use one
 * allocation and one of them writes it, the second waits for the first. Nothing refers to an
 * allocation that has no GPU VA. Raw page-table updates and reservations go to GPU VAs from
 * PTE_BASE up, where no memory manager of ours puts a mapping; fixed VAs of allocations and maps
 * go below it, each at a place of its own. Tiles have the addresses of raw updates. A case
 * has either raw updates, or operations that do not go together with them: tiles, save areas at GPU
 * VAs, sleep, and resets, after which nobody could make those updates again.
 */
#include "workload/generate/gen_random_private.h"

#include <stdio.h>
#include <stdlib.h>

const struct workload_param gen_random_params[] = {
    {"ops", NULL, 2000, 1, 100000000, "operations"},
    {"allocations", NULL, 128, 1, 1000000, "allocations alive at once, at most"},
    {"max-size", NULL, 512 * KiB, 1, 1 * GiB, "largest allocation"},
    {"refs", NULL, 4, 1, MAX_REFS, "references of one submission, at most"},
    {"processes", NULL, 2, 1, 64, "processes, one device each"},
    {"contexts", NULL, 2, 1, 16, "contexts of each device"},
    {"nodes", NULL, 2, 1, WORKLOAD_MAX_NODES, "engines that the contexts are on"},
    {"maps", "no|yes", 1, 0, 0, "map and unmap lines, allocations with nomap or a fixed va"},
    {"ptes", "no|yes", 0, 0, 0, "pte, vm-reserve and vm-release lines"},
    {"memory", "no|yes", 1, 0, 0, "offer, reclaim, priority, budget and move lines"},
    {"full", "no|yes", 0, 0, 0, "as many allocations alive as there may be"},
    {"held", NULL, 4, 0, MOST_HELD, "allocations that resident lines hold at once, at most"},
    {"tiles", "no|yes", 0, 0, 0, "tile lines, where there are no pte lines"},
    {"incidents", "no|yes", 0, 0, 0, "hang, lose-interrupt, preempt and reset lines"},
    {"power", "no|yes", 0, 0, 0, "power and switch-domain lines"},
    {"saves", "no|yes", 0, 0, 0, "context-save areas"},
    {"wishes", "no|yes", 0, 0, 0, "alternate VAs, permanent system memory, no large pages, ..."},
    {"tiled", "no|yes", 1, 0, 0, "allocations that are tiled or swizzled in local memory"},
    {"rows", "no|yes", 0, 0, 0, "surfaces of rows, which have a pitch on some boards"},
    {"pinned", "no|yes", 0, 0, 0, "small allocations that are pinned once they are resident"},
    {"fences", "no|yes|leave", 0, 0, 0,
     "native fences, signalled by submissions and waited for; `leave`: and sent out of segments"},
    {"discards", "no|yes", 0, 0, 0, "writes with discard, mostly of what a submission uses"},
    {"faults", "no|yes", 0, 0, 0, "fault lines, where there are no pte lines"},
    {"renewals", "no|yes", 0, 0, 0, "contexts, devices and processes that are made anew"},
    {"shows", "no|yes", 0, 0, 0, "primaries that a display shows"},
    {"large", NULL, 0, 0, 6 * GiB, "size of two allocations that are moved in the end; 0: none"},
    {"client-memory", "no|yes", 0, 0, 0, "allocations over memory of the client's, protected ones"},
    {"presents", "no|yes", 0, 0, 0, "submissions that are presents"},
    {"escapes", "no|yes", 0, 0, 0, "escapes, with data that most drivers do not know"},
    {"removal", NULL, 0, 0, 100000000,
     "operations in front of which the board is pulled out; 0: it is not"},
    {"monitors", "no|yes", 0, 0, 0, "unplug and plug lines, for display-only drivers"},
    {NULL, NULL, 0, 0, 0, NULL},
};

static void random_op(struct random *r, uint64_t index)
{
    uint64_t dice = below(r, 100);
    char text[32];

    if (r->live_count == 0 ||
        (dice < (r->values[FULL] ? 70u : 18u) && r->live_count < r->values[ALLOCATIONS]))
        gen_random_alloc(r);
    else if (dice < 28)
        gen_random_free(r);
    else if (dice < 37 && r->values[DISCARDS] && rng_chance(r->rng, 1, 3))
        gen_random_discard(r);
    else if (dice < 37)
        gen_random_cpu_access(r, true);
    else if (dice < 45)
        gen_random_cpu_access(r, false);
    else if (dice < 82)
        gen_random_submit(r);
    else if (dice < 87 && r->values[FENCES] && rng_chance(r->rng, 1, 2))
        gen_random_fence(r);
    else if (dice < 87)
        gen_random_wait(r);
    else if (dice < 90 && r->values[SHOWS])
        gen_random_show(r);
    else if (dice < 92 && rng_chance(r->rng, 1, 2) && r->values[MEMORY])
        gen_random_memory(r);
    else if (dice < 92)
        gen_random_residency(r);
    else if (dice < 95 && r->values[MAPS])
        gen_random_map(r);
    else if (dice == 97 && r->values[RENEWALS])
        gen_random_renewal(r);
    else if (dice < 98 && r->values[PTES])
        gen_random_pte(r);
    else if (dice < 98 && r->values[TILES] && !r->values[PTES])
        dice >= 96 ? gen_random_shown_tiles(r) : gen_random_tile(r);
    else if (dice == 98 && r->values[POWER] && rng_chance(r->rng, 1, 2))
        gen_random_sleep(r);
    else if (dice >= 98 && r->values[FAULTS] && !r->values[PTES] && rng_chance(r->rng, 1, 2))
        gen_random_fault(r);
    else if (dice >= 98 && r->values[INCIDENTS] && rng_chance(r->rng, 3, 4))
        gen_random_incident(r);
    else if (dice == 98) {
        snprintf(text, sizeof text, "phase %u", (unsigned)index);
        workload_builder_step(r->builder, text);
    } else if (dice == 99) {
        workload_builder_note(r->builder, "a note with a \\ and a \" in it");
    }
}

/* Behind one of some operations: all else of the case stays as it is without escapes. */
static void random_escape(struct random *r)
{
    const uint64_t contexts = r->values[PROCESSES] * r->values[CONTEXTS];

    if (rng_chance(&r->escape_rng, 1, 12))
        gen_escape(r->gen, &r->escape_rng, (uint32_t)rng_below(&r->escape_rng, contexts));
}

/* The same of the monitor: mostly it is there. */
static void random_monitor(struct random *r)
{
    if (!rng_chance(&r->monitor_rng, 1, r->is_unplugged ? 16 : 48))
        return;
    if (r->is_unplugged)
        workload_builder_plug(r->builder);
    else
        workload_builder_unplug(r->builder);
    r->is_unplugged = !r->is_unplugged;
}

/* A save area of few pages, for two of three contexts. */
static void random_save_area(struct random *r, uint32_t context)
{
    bool is_shared = rng_chance(r->rng, 1, 4);
    struct workload_save_area save = {.bytes = 64 + 8 * below(r, 8 * KiB),
                                      .has_cpu_image = rng_chance(r->rng, 1, 4),
                                      .is_local = rng_chance(r->rng, 1, 2),
                                      .is_mapped = rng_chance(r->rng, 1, 2) && !r->values[PTES]};

    if (is_shared) /* all of them alike */
        save = (struct workload_save_area){.bytes = 20 * KiB, .is_shared = true};
    if (rng_chance(r->rng, 2, 3))
        workload_builder_save_area(r->builder, context, &save);
}

#define FAR_BYTES (16 * PAGE_BYTES)

/* Where operations are as long as can be: pages are neighbours, and pieces large. */
static void set_large(struct random *r)
{
    static const char *const options[][2] = {
        {"scatter", "no"}, {"paging-buffer", "64K"}, {"transfer-piece", "1G"}, {"scratch", "256M"}};

    static const char *const far[][2] = {
        {"scatter", "no"},         {"paging-buffer", "64K"},          {"scratch", "24G"},
        {"transfer-piece", "16G"}, {"link-bandwidth", "15754000000"}, /* within 2 s */
        {"system-memory", "32G"}};
    bool is_far = r->values[LARGE] > GiB;

    for (size_t i = 0; i < (is_far ? ARRAY_COUNT(far) : ARRAY_COUNT(options)); i++)
        workload_builder_option(r->builder, is_far ? far[i][0] : options[i][0],
                                is_far ? far[i][1] : options[i][1]);
}

/*
 * Two allocations that push each other out of local memory. The last submission has more references
 * than 32 KiB of commands hold.
 */
static void random_large(struct random *r)
{
    const struct workload_allocation_info info = {
        .size = r->values[LARGE], .segments = {WORKLOAD_SEGMENT_LOCAL}, .segment_count = 1};
    uint32_t ids[2];

    workload_builder_wait(r->builder, WORKLOAD_NONE);
    for (unsigned i = 0; i < 2; i++) {
        ids[i] = workload_builder_alloc(r->builder, i ? "large1" : "large0", &info);
        workload_builder_submit_begin(r->builder, 0, 1000);
        if (info.size > 4 * GiB) { /* little is written: what all is filled with tells the rest */
            workload_builder_ref(r->builder, ids[i], 0, FAR_BYTES, WORKLOAD_ACCESS_WRITE, 0);
            workload_builder_ref(r->builder, ids[i], 4 * GiB, FAR_BYTES, WORKLOAD_ACCESS_WRITE, 0);
            workload_builder_ref(r->builder, ids[i], info.size - FAR_BYTES, FAR_BYTES,
                                 WORKLOAD_ACCESS_WRITE, 0);
        } else {
            workload_builder_ref(r->builder, ids[i], 0, info.size, WORKLOAD_ACCESS_WRITE, 0);
        }
        workload_builder_submit_end(r->builder);
        workload_builder_wait(r->builder, WORKLOAD_NONE);
    }
    workload_builder_submit_begin(r->builder, 0, 1000);
    for (uint64_t i = 0; i < min_u64(LARGE_REFS, info.size / PAGE_BYTES); i++)
        workload_builder_ref(r->builder, ids[0], i * PAGE_BYTES, PAGE_BYTES, WORKLOAD_ACCESS_READ,
                             0);
    if (info.size > 4 * GiB) { /* what has an offset of more than 32 bits has come back, too */
        workload_builder_ref(r->builder, ids[0], 4 * GiB, FAR_BYTES, WORKLOAD_ACCESS_READ, 0);
        workload_builder_ref(r->builder, ids[0], info.size - FAR_BYTES, FAR_BYTES,
                             WORKLOAD_ACCESS_READ, 0);
    }
    workload_builder_submit_end(r->builder);
}

void gen_random(struct gen *gen, const uint64_t *values)
{
    struct random r = {.gen = gen,
                       .builder = gen->builder,
                       .rng = &gen->rng,
                       .values = values,
                       .next_va = VA_BASE};
    uint64_t waits[MAX_CONTEXTS + 1] = {0};
    bool goes_on = true;
    char name[32];

    rng_fork(&gen->rng, CLIENT_MEMORY, &r.backing_rng);
    rng_fork(&gen->rng, ESCAPES, &r.escape_rng);
    rng_fork(&gen->rng, MONITORS, &r.monitor_rng);
    r.waits = waits;
    r.live = calloc(values[ALLOCATIONS] + 1, sizeof *r.live);
    if (!r.live) {
        workload_builder_fail(gen->builder, "out of memory");
        return;
    }
    workload_builder_name(gen->builder, "random operations");
    snprintf(name, sizeof name, "%u", (unsigned)max_u64(values[NODES], 2)); /* of the GPU */
    workload_builder_option(gen->builder, "nodes", name);
    if (values[LARGE])
        set_large(&r);
    for (unsigned p = 0; p < values[PROCESSES]; p++) {
        snprintf(name, sizeof name, "p%u", p);
        workload_builder_process(gen->builder, name);
    }
    for (unsigned p = 0; p < values[PROCESSES]; p++) {
        snprintf(name, sizeof name, "d%u", p);
        workload_builder_device(gen->builder, name, p);
    }
    for (unsigned c = 0; c < values[PROCESSES] * values[CONTEXTS]; c++) {
        snprintf(name, sizeof name, "c%u", c);
        workload_builder_context(gen->builder, name, c / (unsigned)values[CONTEXTS],
                                 c % (unsigned)values[NODES]);
        if (values[SAVES])
            random_save_area(&r, c);
    }
    for (uint64_t i = 0; i < values[OPS] && goes_on && !workload_builder_failed(gen->builder);
         i++) {
        if (values[REMOVAL] && i == values[REMOVAL])
            goes_on = gen_random_removal(&r);
        if (goes_on)
            random_op(&r, i);
        if (goes_on && values[ESCAPES])
            random_escape(&r);
        if (goes_on && values[MONITORS])
            random_monitor(&r);
    }
    if (values[LARGE] && goes_on)
        random_large(&r);
    free(r.live);
}
