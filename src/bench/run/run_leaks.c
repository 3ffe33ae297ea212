/*
 * Leaks: things of the driver, the manager and the machine that are left when their owner is gone.
 */
#include "bench/run/run_private.h"

#include <stdio.h>

/* NULL: there is none, or no room for it. */
static struct run_finding *report_leak_after(struct run_assembly *run, const char *after,
                                             const char *what, uint64_t count, uint64_t bytes)
{
    return !count ? NULL
                  : run_result_report(run->result, RUN_FINDING_LEAK, 0, machine_now(run->machine),
                                      "%llu %s (%llu bytes) are left after %s",
                                      (unsigned long long)count, what, (unsigned long long)bytes,
                                      after);
}

void run_report_leak(struct run_assembly *run, const char *what, uint64_t count, uint64_t bytes)
{
    report_leak_after(run, "everything was destroyed", what, count, bytes);
}

static void report_leftover(void *context, const char *text)
{
    struct run_assembly *run = context;

    run_result_report(run->result, RUN_FINDING_LEAK, 0, machine_now(run->machine), "%s", text);
}

struct run_held run_what_driver_holds(const struct run_assembly *run)
{
    struct run_held held = {.blocks = nt_pool_live_blocks(run->nt),
                            .block_bytes = nt_pool_live_bytes(run->nt)};

    held.mappings = nt_mapping_count(run->nt, &held.mapping_bytes);
    held.lists = nt_held_list_count(run->nt, &held.list_bytes);
    return held;
}

/* A leak of as many as are there beyond the number that may be kept. */
static struct run_finding *report_more(struct run_assembly *run, const char *after,
                                       const char *what, uint64_t count, uint64_t bytes,
                                       uint64_t kept, uint64_t kept_bytes)
{
    if (count <= kept)
        return NULL;
    return report_leak_after(run, after, what, count - kept,
                             bytes > kept_bytes ? bytes - kept_bytes : 0);
}

/* The oldest block behind those that may be kept, rather one that a function of the driver took. */
struct oldest {
    uint64_t kept;
    struct nt_pool_block block;
    bool is_found;
};

static void look_for_oldest(void *context, const struct nt_pool_block *block)
{
    struct oldest *oldest = context;

    if (oldest->kept) {
        oldest->kept--;
    } else if (!oldest->is_found || (!oldest->block.during && block->during)) {
        oldest->block = *block;
        oldest->is_found = true;
    }
}

/* A leak stands at the function of the driver that took the oldest of the blocks. */
static void place_leak(const struct run_assembly *run, struct run_finding *finding, uint64_t kept)
{
    struct oldest oldest = {.kept = kept};
    char tag[5];

    nt_pool_for_each(run->nt, look_for_oldest, &oldest);
    if (!finding || !oldest.is_found)
        return;
    nt_put_tag(oldest.block.tag, tag);
    if (oldest.block.during)
        snprintf(finding->detail.where, sizeof finding->detail.where, "%s", oldest.block.during);
    snprintf(finding->detail.objects, sizeof finding->detail.objects,
             "the oldest: %llu bytes, tag '%s', allocation %llu, taken in %s",
             (unsigned long long)oldest.block.bytes, tag, (unsigned long long)oldest.block.sequence,
             oldest.block.during ? oldest.block.during : "DriverEntry or a thread of the driver");
}

void run_report_driver_leaks(struct run_assembly *run, const char *after, bool is_unloaded)
{
    const struct run_held now = run_what_driver_holds(run);
    const struct run_held kept = is_unloaded ? (struct run_held){0} : run->entered;
    uint64_t bytes, count = host_mapping_count(&run->host, &bytes);

    report_leak_after(run, after, "mappings of the driver's device", count, bytes);
    place_leak(run,
               report_more(run, after, "blocks of the driver's pool", now.blocks, now.block_bytes,
                           kept.blocks, kept.block_bytes),
               kept.blocks);
    report_more(run, after, "mappings of the driver's", now.mappings, now.mapping_bytes,
                kept.mappings, kept.mapping_bytes);
    report_more(run, after, "MDLs of the driver's with pages", now.lists, now.list_bytes,
                kept.lists, kept.list_bytes);
    nt_for_each_leftover(run->nt, report_leftover, run);
}
