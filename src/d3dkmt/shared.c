/*
 * Shared objects: resources and monitored fences that devices of several processes have.
 *
 * An object lives as long as somebody has it: a resource, an allocation or a fence of a process, or
 * an NT handle. The manager's allocations of a resource belong to the process that has made it;
 * when that one has closed them, or is gone, they stay for the others, and so does what the manager
 * knows of the process (vidmm_allocation_leave()).
 */
#include "d3dkmt/front.h"

#include "base/hash.h"

#include <string.h>

/* ---- Indexes --------------------------------------------------------------------------------- */

static void index_init(struct shared_index *index)
{
    for (unsigned i = 0; i < SHARED_CHAINS; i++)
        list_init(&index->chains[i]);
}

void shared_init(struct d3dkmt *front)
{
    index_init(&front->by_name);
    index_init(&front->by_global);
    index_init(&front->by_title);
}

/* The lowest bits alone differ of numbers that follow each other. */
static struct list *chain_of(struct shared_index *index, uint64_t number)
{
    return &index->chains[hash_u64(number) % SHARED_CHAINS];
}

static uint16_t unit_at(const void *name, UINT at, bool ignores_case)
{
    uint16_t unit;

    memcpy(&unit, (const uint8_t *)name + at, sizeof unit);
    return ignores_case && unit >= 'a' && unit <= 'z' ? (uint16_t)(unit - 'a' + 'A') : unit;
}

/* The same for titles that differ in case alone: a call may ignore it. */
static struct list *chain_of_title(struct shared_index *index, const void *name, UINT bytes)
{
    uint64_t number = bytes;

    for (UINT at = 0; at < bytes; at += 2)
        number = hash_pair(number, unit_at(name, at, true));
    return chain_of(index, number);
}

/* ---- Objects --------------------------------------------------------------------------------- */

/* A handle of no process: theirs are smaller (MOST_HANDLES). */
#define GLOBAL_BIT 0x40000000u

/* One that no live object has. */
static D3DKMT_HANDLE choose_global(const struct shared *shared)
{
    uint64_t number = hash_u64(shared->front->config.secret ^ hash_u64(shared->name));
    D3DKMT_HANDLE global;

    do {
        global = (D3DKMT_HANDLE)(number & (GLOBAL_BIT - 1)) | GLOBAL_BIT;
        number = hash_u64(number);
    } while (shared_find(shared->front, shared->type, 0, global));
    return global;
}

/* Itself, or what there is of that type in a bundle; NULL: there is none. */
static struct shared *part_of(struct shared *shared, enum object_type type)
{
    if (shared->type == type)
        return shared;
    for (unsigned i = 0; i < MOST_PARTS; i++) {
        if (shared->parts[i] && shared->parts[i]->type == type)
            return shared->parts[i];
    }
    return NULL;
}

static struct shared *find_named(struct d3dkmt *front, uint64_t name)
{
    struct shared *shared;

    list_for_each (shared, chain_of(&front->by_name, name), struct shared, by_name) {
        if (shared->name == name)
            return shared;
    }
    return NULL;
}

struct shared *shared_find(struct d3dkmt *front, enum object_type type, uint64_t nt_object,
                           D3DKMT_HANDLE global)
{
    struct shared *shared;

    if (nt_object) {
        shared = find_named(front, nt_object);
        return shared && shared->nt_handles ? part_of(shared, type) : NULL;
    }
    if (!global)
        return NULL;
    list_for_each (shared, chain_of(&front->by_global, global), struct shared, by_global) {
        if (shared->type == type && shared->global == global)
            return shared;
    }
    return NULL;
}

void shared_give_global(struct shared *shared)
{
    shared->global = choose_global(shared);
    list_push_back(chain_of(&shared->front->by_global, shared->global), &shared->by_global);
}

NTSTATUS shared_create(struct d3dkmt *front, enum object_type type, struct shared **out_shared)
{
    struct shared *shared = front_alloc(front, sizeof *shared);

    *out_shared = shared;
    if (!shared)
        return STATUS_NO_MEMORY;
    shared->front = front;
    shared->type = type;
    shared->name = ++front->shared_objects;
    shared->users = 1;
    list_init(&shared->by_global);
    list_init(&shared->by_title);
    list_push_back(chain_of(&front->by_name, shared->name), &shared->by_name);
    return STATUS_SUCCESS;
}

static bool has_title(const struct shared *shared, const struct title *title)
{
    if (shared->title_bytes != title->bytes)
        return false;
    for (UINT at = 0; at < title->bytes; at += 2) {
        if (unit_at(shared->title, at, title->ignores_case) !=
            unit_at(title->name, at, title->ignores_case))
            return false;
    }
    return true;
}

struct shared *shared_find_titled(struct d3dkmt *front, const struct title *title)
{
    struct shared *shared;

    list_for_each (shared, chain_of_title(&front->by_title, title->name, title->bytes),
                   struct shared, by_title) {
        if (has_title(shared, title))
            return shared;
    }
    return NULL;
}

NTSTATUS shared_give_title(struct shared *shared, const struct title *title)
{
    shared->title = front_alloc(shared->front, title->bytes);
    if (!shared->title)
        return STATUS_NO_MEMORY;
    memcpy(shared->title, title->name, title->bytes);
    shared->title_bytes = title->bytes;
    list_push_back(chain_of_title(&shared->front->by_title, title->name, title->bytes),
                   &shared->by_title);
    return STATUS_SUCCESS;
}

static void take_title(struct shared *shared)
{
    list_remove(&shared->by_title);
    front_free(shared->front, shared->title, shared->title_bytes);
    shared->title = NULL;
    shared->title_bytes = 0;
}

/* NULL also where there are none. False: no memory. */
static bool copy(struct d3dkmt *front, const void *data, UINT bytes, void **out_copy)
{
    *out_copy = bytes ? front_alloc(front, bytes) : NULL;
    if (*out_copy)
        memcpy(*out_copy, data, bytes);
    return !bytes || *out_copy;
}

NTSTATUS shared_describe(struct shared *shared, struct d3dkmt_process *creator,
                         const D3DKMT_CREATEALLOCATION *arguments)
{
    struct d3dkmt *front = shared->front;

    shared->creator = creator;
    creator->shared_count++;
    if (!arguments->Flags.NtSecuritySharing)
        shared_give_global(shared);
    shared->memories =
        base_alloc_array(front->services, arguments->NumAllocations, sizeof *shared->memories);
    if (!shared->memories)
        return STATUS_NO_MEMORY;
    shared->count = arguments->NumAllocations;
    for (UINT i = 0; i < shared->count; i++) {
        shared->memories[i].shared = shared;
        list_init(&shared->memories[i].openings);
    }
    for (UINT i = 0; i < shared->count; i++) {
        const D3DDDI_ALLOCATIONINFO2 *info = &arguments->pAllocationInfo2[i];
        struct memory *memory = &shared->memories[i];

        if (!copy(front, info->pPrivateDriverData, info->PrivateDriverDataSize,
                  &memory->private_data))
            return STATUS_NO_MEMORY;
        memory->private_bytes = info->PrivateDriverDataSize;
        if (memory->private_bytes > UINT32_MAX - shared->total_bytes)
            return STATUS_INVALID_PARAMETER;
        shared->total_bytes += memory->private_bytes;
    }
    if (!copy(front, arguments->pPrivateRuntimeData, arguments->PrivateRuntimeDataSize,
              &shared->runtime_data))
        return STATUS_NO_MEMORY;
    shared->runtime_bytes = arguments->PrivateRuntimeDataSize;
    if (!copy(front, arguments->pPrivateDriverData, arguments->PrivateDriverDataSize,
              &shared->driver_data))
        return STATUS_NO_MEMORY;
    shared->driver_bytes = arguments->PrivateDriverDataSize;
    return STATUS_SUCCESS;
}

void memory_end(struct memory *memory)
{
    struct vidmm_allocation *handle = memory->handle;

    if (!handle)
        return;
    memory->handle = NULL;
    front_tell_of(memory->shared->front, D3DKMT_DEED_DESTROY, handle, STATUS_SUCCESS);
    vidmm_allocation_destroy(handle);
    memory->shared->front->releases++;
}

/* ---- Files ----------------------------------------------------------------------------------- */

NTSTATUS shared_file_open(struct d3dkmt_process *process, uint64_t count,
                          struct shared_file **out_file)
{
    struct d3dkmt *front = process->front;
    const struct d3dkmt_board *board = &front->config.board;
    struct shared_file *file =
        process->file_count < front->config.most_files ? front_alloc(front, sizeof *file) : NULL;
    NTSTATUS status;

    *out_file = NULL;
    if (!file)
        return STATUS_NO_MEMORY;
    status = board->open_file(board->context, process->client, count, &file->file);
    if (!NT_SUCCESS(status)) {
        front_free(front, file, sizeof *file);
        return status;
    }
    file->payer = process;
    process->file_count++;
    list_push_back(&front->files, &file->link);
    *out_file = file;
    return STATUS_SUCCESS;
}

static void close_file(struct d3dkmt *front, struct shared_file *file)
{
    const struct d3dkmt_board *board = &front->config.board;

    if (!file)
        return;
    board->close_file(board->context, file->file);
    if (file->payer)
        file->payer->file_count--;
    list_remove(&file->link);
    front_free(front, file, sizeof *file);
}

void shared_files_forget(struct d3dkmt_process *process)
{
    struct shared_file *file;

    list_for_each (file, &process->front->files, struct shared_file, link) {
        if (file->payer == process)
            file->payer = NULL;
    }
}

/* ---- The end --------------------------------------------------------------------------------- */

static void free_memories(struct shared *shared)
{
    struct d3dkmt *front = shared->front;

    for (UINT i = 0; i < shared->count; i++) {
        struct memory *memory = &shared->memories[i];

        memory_end(memory);
        close_file(front, memory->file);
        front_free(front, memory->private_data, memory->private_bytes);
    }
    if (shared->memories)
        base_free_array(front->services, shared->memories, shared->count, sizeof *shared->memories);
    front_free(front, shared->driver_data, shared->driver_bytes);
    if (shared->creator)
        shared->creator->shared_count--;
}

static void leave_bundle(struct shared *part)
{
    if (!part)
        return;
    part->bundles--;
    shared_drop(part);
}

static void free_if_unused(struct shared *shared)
{
    struct d3dkmt *front = shared->front;
    const struct d3dkmt_board *board = &front->config.board;

    if (shared->users || shared->nt_handles)
        return;
    list_remove(&shared->by_name);
    list_remove(&shared->by_global);
    front_tap(front, D3DKMT_UNSHARED, NULL, &(struct d3dkmt_call){.nt_object = shared->name});
    if (shared->type == OBJECT_RESOURCE)
        free_memories(shared);
    front_free(front, shared->runtime_data, shared->runtime_bytes);
    for (unsigned i = 0; i < MOST_PARTS; i++)
        leave_bundle(shared->parts[i]);
    if (shared->view)
        board->release_file_page(board->context, shared->file->file, shared->page);
    close_file(front, shared->file);
    front_changed(front);
    front_free(front, shared, sizeof *shared);
}

void shared_keep(struct shared *shared)
{
    shared->users++;
}

void shared_drop(struct shared *shared)
{
    shared->users--;
    free_if_unused(shared);
}

static void close_nt_handle(struct d3dkmt *front, uint64_t nt_object, bool takes_title)
{
    struct shared *shared = find_named(front, nt_object);

    if (!shared || !shared->nt_handles)
        return;
    if (!--shared->nt_handles || takes_title)
        take_title(shared);
    free_if_unused(shared);
}

void d3dkmt_nt_handle_closed(struct d3dkmt *front, uint64_t nt_object)
{
    close_nt_handle(front, nt_object, false);
}

void d3dkmt_nt_handle_refused(struct d3dkmt *front, const struct d3dkmt_call *call)
{
    close_nt_handle(front, call->nt_object, call->gave_title);
}

bool shared_is_last(const struct shared *shared, const struct memory *memory)
{
    return !shared->nt_handles && !shared->bundles &&
           memory->openings.next == memory->openings.prev;
}
