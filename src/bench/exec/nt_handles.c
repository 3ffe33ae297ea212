#define _GNU_SOURCE
#include "bench/exec/nt_handles.h"

#include "base/hash.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct owner {
    struct list link;
    pid_t pid;
    unsigned count;
};

struct nt_handle {
    struct waiting_source end; /* first: of the pipe, here */
    struct list link;          /* of the chain */
    uint64_t object;           /* of the front, as d3dkmt_call.nt_object names it */
    uint64_t number;           /* of the pipe */
    struct owner *owner;       /* the process that has shared it */
};

void nt_handles_init(struct nt_handles *handles, struct waiting *waiting, unsigned kind,
                     struct d3dkmt *front, unsigned most_spare)
{
    *handles = (struct nt_handles){
        .waiting = waiting, .kind = kind, .front = front, .most_spare = most_spare};
    list_init(&handles->owners);
    for (unsigned i = 0; i < NT_HANDLES_CHAINS; i++)
        list_init(&handles->chains[i]);
}

/* 0: it is no pipe. */
static uint64_t number_of(int file)
{
    char path[32], name[64];
    unsigned long long number = 0;
    ssize_t length;

    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    length = readlink(path, name, sizeof name - 1);
    name[length > 0 ? length : 0] = '\0';
    return sscanf(name, "pipe:[%llu]", &number) == 1 ? number : 0;
}

static struct list *chain_of(const struct nt_handles *handles, uint64_t number)
{
    return (struct list *)&handles->chains[hash_u64(number) % NT_HANDLES_CHAINS];
}

uint64_t nt_handles_find(const struct nt_handles *handles, int file)
{
    const uint64_t number = file < 0 ? 0 : number_of(file);
    const struct nt_handle *handle;

    list_for_each (handle, chain_of(handles, number), struct nt_handle, link) {
        if (handle->number == number)
            return handle->object;
    }
    return 0;
}

/* ---- Owners ---------------------------------------------------------------------------------- */

/* NULL: no memory. One that is given nothing is to be left. */
static struct owner *find_owner(struct nt_handles *handles, pid_t pid)
{
    struct owner *owner;

    list_for_each (owner, &handles->owners, struct owner, link) {
        if (owner->pid == pid)
            return owner;
    }
    owner = calloc(1, sizeof *owner);
    if (!owner)
        return NULL;
    owner->pid = pid;
    list_push_back(&handles->owners, &owner->link);
    return owner;
}

static void leave_owner(struct owner *owner)
{
    if (owner->count)
        return;
    list_remove(&owner->link);
    free(owner);
}

static bool may_have_more(const struct nt_handles *handles, const struct owner *owner)
{
    return owner->count < NT_HANDLES_SURE ||
           (owner->count < NT_HANDLES_MOST_A_PROCESS && handles->spare < handles->most_spare);
}

/* ---- Handles --------------------------------------------------------------------------------- */

static void drop(struct nt_handles *handles, struct nt_handle *handle)
{
    waiting_remove(handles->waiting, &handle->end);
    close(handle->end.file);
    list_remove(&handle->link);
    if (handle->owner->count-- > NT_HANDLES_SURE)
        handles->spare--;
    leave_owner(handle->owner);
    free(handle);
}

static void end(struct nt_handles *handles, struct nt_handle *handle)
{
    d3dkmt_nt_handle_closed(handles->front, handle->object);
    drop(handles, handle);
}

void nt_handles_end(struct nt_handles *handles, struct waiting_source *source)
{
    end(handles, (struct nt_handle *)source);
}

void nt_handles_end_all(struct nt_handles *handles)
{
    for (unsigned i = 0; i < NT_HANDLES_CHAINS; i++) {
        struct list *chain = &handles->chains[i];

        while (!list_is_empty(chain))
            end(handles, list_first_entry(chain, struct nt_handle, link));
    }
}

/* The client's end; -1: no memory, no descriptors. The owner stays in any case. */
static int give(struct nt_handles *handles, struct owner *owner, uint64_t object)
{
    struct nt_handle *handle = calloc(1, sizeof *handle);
    int ends[2];

    if (!handle || pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
        free(handle);
        return -1;
    }
    /* No event is asked for: that all copies are closed comes unasked. */
    handle->end = (struct waiting_source){.kind = handles->kind, .file = ends[0]};
    handle->object = object;
    handle->number = number_of(ends[1]);
    if (!handle->number || !waiting_add(handles->waiting, &handle->end)) {
        close(ends[0]);
        close(ends[1]);
        free(handle);
        return -1;
    }
    handle->owner = owner;
    if (++owner->count > NT_HANDLES_SURE)
        handles->spare++;
    list_push_back(chain_of(handles, handle->number), &handle->link);
    return ends[1];
}

int nt_handles_give(struct nt_handles *handles, pid_t pid, uint64_t object)
{
    struct owner *owner = find_owner(handles, pid);
    int file;

    if (!owner)
        return -1;
    file = may_have_more(handles, owner) ? give(handles, owner, object) : -1;
    leave_owner(owner);
    return file;
}
