#define _GNU_SOURCE
#include "bench/exec/nt_handles.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct nt_handle {
    struct waiting_source end; /* first: of the pipe, here */
    struct list link;
    uint64_t object; /* of the front, as d3dkmt_call.nt_object names it */
    pid_t pid;       /* that has shared it */
    char name[64];   /* "pipe:[NUMBER]" */
};

void nt_handles_init(struct nt_handles *handles, struct waiting *waiting, unsigned kind,
                     struct d3dkmt *front)
{
    *handles = (struct nt_handles){.waiting = waiting, .kind = kind, .front = front};
    list_init(&handles->list);
}

static bool name_of(int file, char name[64])
{
    char path[32];
    ssize_t length;

    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    length = readlink(path, name, 63);
    name[length > 0 ? length : 0] = '\0';
    return strncmp(name, "pipe:[", 6) == 0;
}

uint64_t nt_handles_find(const struct nt_handles *handles, int file)
{
    const struct nt_handle *handle;
    char name[64];

    if (file < 0 || !name_of(file, name))
        return 0;
    list_for_each (handle, &handles->list, struct nt_handle, link) {
        if (strcmp(handle->name, name) == 0)
            return handle->object;
    }
    return 0;
}

static void drop(struct nt_handles *handles, struct nt_handle *handle)
{
    waiting_remove(handles->waiting, &handle->end);
    close(handle->end.file);
    list_remove(&handle->link);
    handles->count--;
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
    while (!list_is_empty(&handles->list))
        end(handles, list_first_entry(&handles->list, struct nt_handle, link));
}

static unsigned count_of(const struct nt_handles *handles, pid_t pid)
{
    const struct nt_handle *handle;
    unsigned count = 0;

    list_for_each (handle, &handles->list, struct nt_handle, link)
        count += handle->pid == pid;
    return count;
}

int nt_handles_give(struct nt_handles *handles, pid_t pid, uint64_t object)
{
    struct nt_handle *handle =
        handles->count < NT_HANDLES_MOST && count_of(handles, pid) < NT_HANDLES_MOST_A_PROCESS
            ? calloc(1, sizeof *handle)
            : NULL;
    int ends[2];

    if (!handle || pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
        free(handle);
        return -1;
    }
    /* No event is asked for: that all copies are closed comes unasked. */
    handle->end = (struct waiting_source){.kind = handles->kind, .file = ends[0]};
    handle->object = object;
    handle->pid = pid;
    const bool has_name = name_of(ends[1], handle->name);
    list_push_back(&handles->list, &handle->link);
    handles->count++;
    if (waiting_add(handles->waiting, &handle->end) && has_name)
        return ends[1];
    close(ends[1]);
    drop(handles, handle);
    return -1;
}
