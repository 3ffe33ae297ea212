/*
 * The look at page tables: what the workload's pte lines left against what the GPU would walk.
 *
 * Both sides are runs sorted by address. The tables also hold what the manager mapped for
 * allocations and command buffers, the client's and its own; those ranges are known, and left out.
 * Then the two lists must say the same, page for page:
 *
 *     tables     [--- A ---)[-- ring --)      [---- B ----)
 *     expected   [--- A ---)                  [-- B --)[B')      B' differs, or is missing
 */
#include "bench/play/player_private.h"

#include "base/assert.h"
#include "workload/summary.h"
#include "workload/translations.h"

#include <drydock/sgpu.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORTED_MISMATCHES 5u

/* struct player.protections stands for both. */
_Static_assert(VIDMM_PROTECT_READ_ONLY == WORKLOAD_PROTECT_READ_ONLY &&
                   VIDMM_PROTECT_NO_EXECUTE == WORKLOAD_PROTECT_NO_EXECUTE &&
                   VIDMM_PROTECT_ZERO == WORKLOAD_PROTECT_ZERO,
               "protections have the same bits");

struct known_range {
    uint64_t va, end;
};

/*
 * One run of translations: [va, end) at pa, with flags (enum workload_protection). Zero entries
 * lead nowhere; their pa is the address itself.
 */
struct span {
    uint64_t va, end, pa;
    uint8_t flags;
};

struct comparison {
    struct player *player;
    uint32_t process;
    const struct known_range *known;
    size_t known_count, known_at;
    const struct span *expected;
    size_t expected_count, at;
    uint64_t cursor; /* expected translations below it have been looked at */
    uint64_t mismatches;
};

static void mismatch(struct comparison *c, enum rule_id rule, uint64_t va, uint64_t bytes,
                     const char *expected, const char *found)
{
    struct player *player = c->player;
    const char *process =
        workload_string(player->workload, player->workload->processes[c->process].name);

    c->mismatches += bytes_to_pages(bytes);
    if (player->result->finding_totals[RUN_FINDING_TRANSLATION] >= REPORTED_MISMATCHES) {
        player->result->finding_totals[RUN_FINDING_TRANSLATION]++;
        return;
    }
    player_name_translation_rule(
        player,
        run_result_report(player->result, RUN_FINDING_TRANSLATION, 0, machine_now(player->machine),
                          "process '%s', %llu pages from VA 0x%llx: the workload says %s, the page "
                          "tables say %s",
                          process, (unsigned long long)bytes_to_pages(bytes),
                          (unsigned long long)va, expected, found),
        rule);
}

/* An entry that stands one place beside its own, an address, what makes it zero, a protection. */
static enum rule_id difference(uint64_t expected_pa, uint8_t expected_flags, uint64_t pa,
                               uint8_t flags)
{
    if ((expected_flags ^ flags) & WORKLOAD_PROTECT_ZERO)
        return RULE_PT_031;
    if (pa == expected_pa + PAGE_BYTES || pa + PAGE_BYTES == expected_pa)
        return RULE_PT_017;
    return pa != expected_pa ? RULE_PT_030 : RULE_PT_032;
}

static const char *describe(char text[64], uint64_t pa, uint8_t flags)
{
    const char *kind = flags & WORKLOAD_PROTECT_ZERO ? "zero at"
                       : pa >= SGPU_PA_SYSTEM        ? "system"
                       : pa >= SGPU_PA_APERTURE      ? "aperture"
                                                     : "local";
    uint64_t base = pa >= SGPU_PA_SYSTEM     ? SGPU_PA_SYSTEM
                    : pa >= SGPU_PA_APERTURE ? SGPU_PA_APERTURE
                                             : 0;

    snprintf(text, 64, "%s 0x%llx%s%s", kind, (unsigned long long)(pa - base),
             flags & WORKLOAD_PROTECT_READ_ONLY ? ", read-only" : "",
             flags & WORKLOAD_PROTECT_NO_EXECUTE ? ", no-execute" : "");
    return text;
}

/* Expected translations in [cursor, end) that the tables do not have. */
static void missing_up_to(struct comparison *c, uint64_t end)
{
    char text[64];

    while (c->at < c->expected_count && c->expected[c->at].va < end) {
        const struct span *span = &c->expected[c->at];
        uint64_t start = max_u64(span->va, c->cursor);
        uint64_t stop = min_u64(span->end, end);

        if (start < stop)
            mismatch(c, RULE_PT_031, start, stop - start,
                     describe(text, span->pa + (start - span->va), span->flags), "nothing");
        if (span->end > end)
            break;
        c->at++;
    }
    c->cursor = max_u64(c->cursor, end);
}

/* Translations [va, end) of the tables that belong to no known range. */
static void compare_found(struct comparison *c, uint64_t va, uint64_t end, uint64_t pa,
                          uint8_t flags)
{
    char expected[64], found[64];

    missing_up_to(c, va);
    while (va < end) {
        const struct span *span = c->at < c->expected_count ? &c->expected[c->at] : NULL;
        uint64_t stop = end;

        if (!span || span->va >= end) {
            mismatch(c, RULE_PT_031, va, end - va, "nothing", describe(found, pa, flags));
        } else if (span->va > va) {
            stop = span->va;
            mismatch(c, RULE_PT_031, va, stop - va, "nothing", describe(found, pa, flags));
        } else {
            stop = min_u64(end, span->end);
            c->player->result->translations_checked += bytes_to_pages(stop - va);
            if (span->pa + (va - span->va) != pa || span->flags != flags)
                mismatch(c, difference(span->pa + (va - span->va), span->flags, pa, flags), va,
                         stop - va, describe(expected, span->pa + (va - span->va), span->flags),
                         describe(found, pa, flags));
            if (stop == span->end)
                c->at++;
        }
        pa += stop - va;
        va = stop;
        c->cursor = stop;
    }
}

static bool look_at_run(void *context, const struct sgpu_run *run)
{
    struct comparison *c = context;
    uint64_t va = run->va, end = run->va + run->bytes, pa = run->pa;
    uint8_t flags = (run->attributes & SGPU_PTE_READ_ONLY ? WORKLOAD_PROTECT_READ_ONLY : 0) |
                    (run->attributes & SGPU_PTE_NO_EXECUTE ? WORKLOAD_PROTECT_NO_EXECUTE : 0) |
                    (run->attributes & SGPU_PTE_ZERO ? WORKLOAD_PROTECT_ZERO : 0);

    if (flags & WORKLOAD_PROTECT_ZERO)
        pa = va;
    while (va < end) {
        uint64_t stop = end;

        while (c->known_at < c->known_count && c->known[c->known_at].end <= va)
            c->known_at++;
        if (c->known_at < c->known_count && c->known[c->known_at].va <= va) {
            stop = min_u64(end, c->known[c->known_at].end);
        } else {
            if (c->known_at < c->known_count)
                stop = min_u64(end, c->known[c->known_at].va);
            compare_found(c, va, stop, pa, flags);
        }
        pa += stop - va;
        va = stop;
    }
    return true;
}

static int by_address(const void *a, const void *b)
{
    const struct known_range *x = a, *y = b;

    return x->va < y->va ? -1 : x->va > y->va;
}

/* Ranges that are known; or, without room for them, how many. */
struct known_list {
    struct known_range *ranges;
    size_t count;
};

static void add_own_range(void *context, uint64_t va, uint64_t bytes)
{
    struct known_list *list = context;

    if (list->ranges)
        list->ranges[list->count] = (struct known_range){va, va + bytes};
    list->count++;
}

/* Where the manager mapped allocations and rings in the process; count in *out_count. */
static struct known_range *known_ranges(const struct player *player, uint32_t process,
                                        size_t *out_count)
{
    struct known_list own = {NULL, 0};
    struct known_range *ranges;
    size_t count, at = 0;

    vidmm_process_own_ranges(player->processes[process], add_own_range, &own);
    count = own.count;
    for (uint32_t i = 0; i < player->workload->allocation_count; i++) {
        for (struct player_mapping *m = player->allocations[i].mappings; m; m = m->next)
            count += m->process == process;
    }
    for (uint32_t i = 0; i < player->workload->context_count; i++)
        count += player->contexts[i].process == process && player->contexts[i].ring_mapping.bytes;
    ranges = calloc(count + 1, sizeof *ranges);
    if (!ranges)
        return NULL;
    for (uint32_t i = 0; i < player->workload->allocation_count; i++) {
        for (struct player_mapping *m = player->allocations[i].mappings; m; m = m->next) {
            if (m->process == process)
                ranges[at++] = (struct known_range){m->va, m->va + m->bytes};
        }
    }
    for (uint32_t i = 0; i < player->workload->context_count; i++) {
        const struct player_mapping *m = &player->contexts[i].ring_mapping;

        if (player->contexts[i].process == process && m->bytes)
            ranges[at++] = (struct known_range){m->va, m->va + align_up(m->bytes, PAGE_BYTES)};
    }
    own = (struct known_list){ranges, at};
    vidmm_process_own_ranges(player->processes[process], add_own_range, &own);
    qsort(ranges, count, sizeof *ranges, by_address);
    *out_count = count;
    return ranges;
}

/* The workload's translations of one process as GPU physical addresses. */
static struct span *expected_spans(const struct player *player, uint32_t process,
                                   const struct workload_translation *list, size_t list_count,
                                   size_t *out_count)
{
    struct span *spans = calloc(list_count + 1, sizeof *spans);
    size_t count = 0;

    if (!spans)
        return NULL;
    for (size_t i = 0; i < list_count; i++) {
        const struct workload_translation *t = &list[i];
        uint64_t base = SGPU_PA_SYSTEM;
        unsigned id;

        if (t->process != process || !player_segment_id(player, t->segment, &id))
            continue; /* a segment that is not there has been reported at its line */
        if (id) {
            struct vidmm_segment_info info;

            vidmm_segment_info(player->vidmm, id, &info);
            base = info.base;
        }
        if (t->flags & WORKLOAD_PROTECT_ZERO)
            base = 0;
        spans[count++] = (struct span){
            .va = t->va,
            .end = t->va + t->page_count * PAGE_BYTES,
            .pa = base + t->page * PAGE_BYTES,
            .flags = t->flags & player->protections,
        };
    }
    *out_count = count;
    return spans;
}

static bool root_address(const struct player *player, uint32_t process, uint64_t *out_pa)
{
    unsigned segment;
    uint64_t offset, entries;

    *out_pa = 0;
    if (!vidmm_process_root(player->processes[process], &segment, &offset, &entries))
        return false;
    if (segment == 0) {
        *out_pa = SGPU_PA_SYSTEM + offset;
    } else {
        struct vidmm_segment_info info;

        vidmm_segment_info(player->vidmm, segment, &info);
        *out_pa = info.base + offset;
    }
    *out_pa = SGPU_ROOT(*out_pa, log2_ceil_u64(entries));
    return true;
}

static bool compare_process(struct player *player, uint32_t process,
                            const struct workload_translation *list, size_t list_count)
{
    struct comparison c = {.player = player, .process = process};
    struct known_range *known = known_ranges(player, process, &c.known_count);
    struct span *expected =
        known ? expected_spans(player, process, list, list_count, &c.expected_count) : NULL;
    uint64_t root_pa;

    if (!expected) {
        free(known);
        return player_stop_with(player, PLAYER_OBJECT, "no memory to compare page tables");
    }
    c.known = known;
    c.expected = expected;
    if (root_address(player, process, &root_pa) &&
        !sgpu_mmu_for_each_run(player->config.gpu, root_pa, 0, UINT64_C(1) << SGPU_VA_BITS,
                               look_at_run, &c))
        mismatch(&c, RULE_PT_030, 0, PAGE_BYTES, "page tables in memory",
                 "a table where nothing answers");
    missing_up_to(&c, UINT64_C(1) << SGPU_VA_BITS);
    player->result->translation_mismatches += c.mismatches;
    free(known);
    free(expected);
    return true;
}

/* ---- Mappings with a protection -------------------------------------------------------------- */

struct attribute_check {
    struct player *player;
    const char *name;
    uint64_t wanted;
};

static bool check_run_attributes(void *context, const struct sgpu_run *run)
{
    const struct attribute_check *check = context;
    struct player *player = check->player;
    struct run_finding *finding;
    uint64_t found = run->attributes & ~(SGPU_PTE_VALID | SGPU_PTE_SYSTEM | SGPU_PTE_COHERENT);

    player->result->translations_checked += bytes_to_pages(run->bytes);
    if (found == check->wanted)
        return true;
    player->result->translation_mismatches += bytes_to_pages(run->bytes);
    finding =
        run_result_report(player->result, RUN_FINDING_TRANSLATION, 0, machine_now(player->machine),
                          "allocation '%s' at VA 0x%llx: its mapping asks for entries with 0x%llx, "
                          "the page tables have 0x%llx",
                          check->name, (unsigned long long)run->va,
                          (unsigned long long)check->wanted, (unsigned long long)found);
    player_name_translation_rule(
        player, finding,
        (found ^ check->wanted) & SGPU_PTE_ZERO                                ? RULE_PT_031
        : (found ^ check->wanted) & (SGPU_PTE_READ_ONLY | SGPU_PTE_NO_EXECUTE) ? RULE_PT_032
                                                                               : RULE_PT_028);
    return false;
}

/*
 * Every entry of the mapping that is valid now has the protection that the mapping asks for, and no
 * other.
 */
static void check_protected_mapping(struct player *player, uint32_t allocation,
                                    const struct player_mapping *mapping)
{
    struct attribute_check check = {
        .player = player,
        .name = workload_allocation_name(player->workload, allocation),
        .wanted = (mapping->driver_protection & SGPU_PTE_PROTECTION_MASK)
                  << SGPU_PTE_PROTECTION_SHIFT,
    };
    uint64_t root_pa;

    if (mapping->protect & player->protections & VIDMM_PROTECT_READ_ONLY)
        check.wanted |= SGPU_PTE_READ_ONLY;
    if (mapping->protect & player->protections & VIDMM_PROTECT_NO_EXECUTE)
        check.wanted |= SGPU_PTE_NO_EXECUTE;
    if (root_address(player, mapping->process, &root_pa))
        sgpu_mmu_for_each_run(player->config.gpu, root_pa, mapping->va,
                              mapping->va + mapping->bytes, check_run_attributes, &check);
}

static void check_mappings(struct player *player)
{
    const struct player_mapping *mapping;
    uint64_t root_pa;

    for (uint32_t i = 0; i < player->workload->allocation_count; i++) {
        for (mapping = player->allocations[i].mappings; mapping; mapping = mapping->next) {
            if (mapping->is_ready && NT_SUCCESS(mapping->status) &&
                (mapping->protect || mapping->driver_protection))
                check_protected_mapping(player, i, mapping);
            if (mapping->is_tile && root_address(player, mapping->process, &root_pa))
                player_check_tile(player, i, mapping, root_pa);
        }
    }
}

/*
 * The translations that the pte lines leave; none in the physical model and where there are no such
 * lines. The caller frees *out_list. False: stopped.
 */
static bool expected_translations(struct player *player, bool *out_has_lines,
                                  struct workload_translation **out_list, size_t *out_count)
{
    struct workload_summary summary;
    struct workload_error error;

    *out_list = NULL;
    *out_count = 0;
    workload_summarise(player->workload, &summary);
    *out_has_lines =
        player->has_page_tables && !player_is_foreign(player) &&
        (summary.op_counts[WORKLOAD_OP_PTE_MAP] + summary.op_counts[WORKLOAD_OP_PTE_UNMAP]);
    if (!*out_has_lines)
        return true;
    if (!workload_expected_translations(player->workload, player->workload->op_count, out_list,
                                        out_count, &error))
        return player_stop_with(player, PLAYER_OBJECT, "%s", error.text);
    return true;
}

bool player_check_translations(struct player *player)
{
    struct workload_translation *list;
    size_t count;
    bool done = true, has_lines;

    if (!expected_translations(player, &has_lines, &list, &count))
        return false;
    if (player->has_page_tables && !player_is_foreign(player))
        check_mappings(player);
    has_lines &= !player->has_refused_page_table && !player->page_table_failures;
    for (uint32_t i = 0; i < player->workload->process_count && done && has_lines; i++)
        done = compare_process(player, i, list, count);
    free(list);
    return done;
}

bool player_unmap_translations(struct player *player)
{
    struct workload_translation *list;
    size_t count;
    bool has_lines;
    bool done = expected_translations(player, &has_lines, &list, &count);

    for (size_t i = 0; i < count && done; i++) {
        struct vidmm_process *process = player->processes[list[i].process];
        unsigned attempts = 0;
        NTSTATUS status;

        if (!process)
            continue; /* the run ended before it was there */
        while (player->page_table_pending >= PLAYER_PAGE_TABLE_WINDOW && done)
            done = player_advance(player);
        do {
            player->page_table_pending++;
            status = vidmm_unmap_physical(process, list[i].va, list[i].page_count * PAGE_BYTES,
                                          player_page_table_done, player);
            if (!NT_SUCCESS(status))
                player->page_table_pending--;
        } while (player_should_repeat(player, status, &attempts));
    }
    free(list);
    return done;
}
