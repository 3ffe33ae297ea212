/*
 * Table burial: page tables that nothing needs any more.
 *
 * Three come here: tables whose whole range of addresses has become free, if the embedder wants
 * them back then (vidmm_config.frees_empty_tables), all tables of a process whose driver reports
 * ExplicitPageTableInvalidation, and tables that leave to make room (table_eviction.c). They leave
 * the tree at once, so that a mapping made from now on makes new ones; their memory is free when a
 * job behind everything queued so far has retired:
 *
 *     their entries in tables that stay are set invalid (PT-015)
 *     ExplicitPageTableInvalidation: all of their own entries too, with NotifyEviction, parents
 *     first; else, of those that leave to make room, NotifyEviction alone FLUSH_TLB of their range
 *
 * Source     contract.md PT-013, PT-015, PT-035, PT-037, TLB-003; sequence S-15.
 */
#include "vidmm/tables/table_burial.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/page_tree.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/range_allocator.h"
#include "base/services.h"

enum phase {
    PHASE_UNLINK,
    PHASE_CLEAR,
    PHASE_FLUSH,
    PHASE_END,
};

static struct page_table *table_at(struct list *link)
{
    return container_of(link, struct page_table, fresh);
}

static enum job_step burial_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct table_burial *burial = container_of(job, struct table_burial, job);
    struct address_space *space = burial->space;
    struct page_table *table;

    if (burial->is_moot)
        return JOB_DONE;
    if (!burial->at)
        burial->at = burial->tables.next;
    for (;;) {
        switch ((enum phase)job->phase) {
        case PHASE_UNLINK:
            if (burial->at == &burial->tables) {
                burial->at = burial->tables.next;
                job->phase = PHASE_CLEAR;
                break;
            }
            table = table_at(burial->at);
            burial->at = burial->at->next;
            if (!table->parent || table->parent->is_detached)
                break;
            page_table_op_unlink(space, table, args);
            return JOB_OPERATION;

        case PHASE_CLEAR:
            if (burial->at == &burial->tables ||
                !(space->vidmm->caps.explicit_invalidation || burial->is_eviction)) {
                job->phase = PHASE_FLUSH;
                break;
            }
            table = table_at(burial->at);
            burial->at = burial->at->next;
            if (space->vidmm->caps.explicit_invalidation)
                page_table_op_clear(space, table, args);
            else
                page_table_op_farewell(space, table, args);
            return JOB_OPERATION;

        case PHASE_FLUSH:
            job->phase = PHASE_END;
            page_table_op_flush(space, burial->va, burial->bytes, args);
            return JOB_OPERATION;

        case PHASE_END:
            return JOB_DONE;
        }
    }
}

static void burial_finished(struct job *job)
{
    struct table_burial *burial = container_of(job, struct table_burial, job);
    struct address_space *space = burial->space;

    while (!list_is_empty(&burial->tables))
        page_table_free_detached(space, table_at(burial->tables.prev));
    if (burial->process)
        burial->done(burial->process);
    else
        base_free(space->vidmm->services, burial, sizeof *burial);
}

/* Tables that stay have been made anew without those that go, and nothing is cached. */
static void burial_restarted(struct job *job)
{
    container_of(job, struct table_burial, job)->is_moot = true;
}

static const struct job_ops burial_ops = {.name = "bury table",
                                          .next = burial_next,
                                          .finished = burial_finished,
                                          .restarted = burial_restarted};

static void start(struct table_burial *burial, struct address_space *space, uint64_t va,
                  uint64_t bytes)
{
    burial->space = space;
    burial->va = va;
    burial->bytes = bytes;
    burial->job.ops = &burial_ops;
    paging_queue_add(space->vidmm, &burial->job);
}

bool tables_bury_all(struct vidmm_process *process, void (*done)(struct vidmm_process *process))
{
    struct table_burial *burial = &process->burial;
    struct address_space *space = &process->space;
    struct list *link;

    if (!space->root || !space->vidmm->caps.explicit_invalidation)
        return false;
    list_init(&burial->tables);
    page_tables_collect(space, &burial->tables);
    for (link = burial->tables.next; link != &burial->tables; link = link->next)
        table_at(link)->is_detached = true;
    burial->process = process;
    burial->done = done;
    /* All of it: two zeros (TLB-001). */
    start(burial, space, 0, 0);
    return true;
}

/* Nothing is mapped, or is going to be, in the range of a leaf. */
static bool is_range_free(const struct address_space *space, uint64_t va, uint64_t bytes)
{
    struct range_info info;
    uint64_t at = max_u64(va, space->ranges_start);

    return range_allocator_range_at(&space->ranges, at, &info) && info.is_free &&
           info.offset + info.size >= va + bytes;
}

void table_detach(struct page_table *table, struct list *tables)
{
    while (table->parent && !table->is_detached) {
        struct page_table *parent = table->parent;
        uint64_t i;

        parent->children[table->index] = NULL;
        table->is_detached = true;
        list_remove(&table->fresh);
        list_push_front(tables, &table->fresh);
        for (i = 0; i < parent->child_count; i++) {
            if (parent->children[i])
                return;
        }
        table = parent;
    }
}

NTSTATUS table_burial_create(struct address_space *space, struct table_burial **out_burial)
{
    struct table_burial *burial = base_alloc(space->vidmm->services, sizeof *burial);

    *out_burial = burial;
    if (!burial)
        return STATUS_NO_MEMORY;
    burial->space = space;
    list_init(&burial->tables);
    return STATUS_SUCCESS;
}

void table_burial_begin(struct table_burial *burial, uint64_t va, uint64_t bytes)
{
    if (list_is_empty(&burial->tables))
        base_free(burial->space->vidmm->services, burial, sizeof *burial);
    else
        start(burial, burial->space, va, bytes);
}

void tables_bury_empty(struct address_space *space, uint64_t va, uint64_t bytes)
{
    struct vidmm *vidmm = space->vidmm;
    uint64_t leaf = page_table_coverage(vidmm, 1);
    uint64_t end = va + bytes;
    struct table_burial *burial;

    if (!vidmm->config.frees_empty_tables || !vidmm->caps.has_page_tables || !space->root)
        return;
    if (!NT_SUCCESS(table_burial_create(space, &burial)))
        return; /* they stay until the process goes */
    va = align_down(va, leaf);
    for (bytes = 0; va + bytes < end; bytes += leaf) {
        struct page_table *tables[] = {page_table_find(space, va + bytes),
                                       page_table_find_64k(space, va + bytes)};
        unsigned i;

        for (i = 0; i < ARRAY_COUNT(tables); i++) {
            if (tables[i] && tables[i]->is_linked && is_range_free(space, va + bytes, leaf))
                table_detach(tables[i], &burial->tables);
        }
    }
    table_burial_begin(burial, va, bytes);
}
