#define _GNU_SOURCE
#include "bench/board/client_memory.h"

#include "base/bits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ADDRESS_END (UINT64_C(1) << 47)

struct shown_run {
    struct page_store *store;
    uint64_t first, count; /* of its pages in the list */
};

/* Pages that are shown one behind the other in a file, from an offset on. */
struct shown_range {
    struct list link;
    uint64_t offset, count;
    uint64_t run_count;
    struct shown_run *runs;
    uint64_t pages[]; /* by number in their stores */
};

/* A file that several clients may have a view of. */
struct shared_file {
    struct machine *machine;
    struct page_foreign foreign;
    uint64_t count;
    struct shown_range *shown; /* NULL: nothing is */
};

struct view {
    struct list link;
    struct shared_file *file;
    uint64_t offset; /* in the window */
};

/* ---- The client's own memory ----------------------------------------------------------------- */

/*
 * By the file alone: the kernel's functions for the memory of another process (process_vm_readv())
 * wait where the process has its faults stopped (userfaultfd), for as long as it likes.
 */
static bool move(struct client_memory *memory, uint64_t address, void *here, uint64_t bytes,
                 bool is_write)
{
    uint8_t *at = here;

    while (bytes && !memory->is_gone) {
        ssize_t moved = is_write ? pwrite(memory->memory_file, at, bytes, (off_t)address)
                                 : pread(memory->memory_file, at, bytes, (off_t)address);

        /* The file ends with the process; where there is no memory it is an error. */
        memory->is_gone |= moved == 0;
        if (moved <= 0)
            break;
        address += (uint64_t)moved;
        at += moved;
        bytes -= (uint64_t)moved;
    }
    if (bytes && !is_write)
        memset(at, 0, bytes);
    return !bytes;
}

bool client_memory_read(struct client_memory *memory, uint64_t address, void *out, uint64_t bytes)
{
    return move(memory, address, out, bytes, false);
}

static bool read_client(void *context, uint64_t address, void *out, uint64_t bytes)
{
    return move(context, address, out, bytes, false);
}

static bool write_client(void *context, uint64_t address, const void *from, uint64_t bytes)
{
    return move(context, address, (void *)(uintptr_t)from, bytes, true);
}

static NTSTATUS take_client_pages(void *context, void *client, uint64_t address, uint64_t count,
                                  uint64_t *out_pages)
{
    struct client_memory *memory = client;
    uint8_t byte;

    if (address % PAGE_BYTES || !count || address >= ADDRESS_END ||
        count > (ADDRESS_END - address) / PAGE_BYTES || !read_client(memory, address, &byte, 1) ||
        !read_client(memory, address + count * PAGE_BYTES - 1, &byte, 1))
        return STATUS_INVALID_PARAMETER;
    if (!machine_alloc_pages(memory->machine, count, out_pages))
        return STATUS_NO_MEMORY;
    if (!page_store_make_remote(machine_ram(memory->machine), &memory->foreign, out_pages, count,
                                address)) {
        machine_free_pages(memory->machine, out_pages, count);
        return STATUS_NO_MEMORY;
    }
    memory->remote_pages += count;
    return STATUS_SUCCESS;
}

static void release_client_pages(void *context, void *client, uint64_t count, const uint64_t *pages)
{
    struct client_memory *memory = client;

    page_store_end_remote(machine_ram(memory->machine), pages, count);
    machine_free_pages(memory->machine, pages, count);
    memory->remote_pages -= count;
}

/* ---- The window ------------------------------------------------------------------------------ */

static void end_runs(struct shown_range *range, uint64_t count, bool forgets)
{
    for (uint64_t i = 0; i < count; i++)
        page_store_end_show(range->runs[i].store, range->pages + range->runs[i].first,
                            range->runs[i].count, forgets);
}

/* What the file had there is zero. */
static void free_pages(const struct page_foreign *foreign, struct shown_range *range)
{
    fallocate(foreign->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)range->offset,
              (off_t)(range->count * PAGE_BYTES));
    free(range->runs);
    free(range);
}

static void free_range(struct client_memory *memory, struct shown_range *range)
{
    range_allocator_release(&memory->ranges, range->offset, range->count * PAGE_BYTES);
    free_pages(&memory->foreign, range);
}

/* Which pages of which stores the addresses are, in runs of one store. */
static bool find_pages(struct machine *machine, const uint64_t *addresses,
                       struct shown_range *range)
{
    for (uint64_t i = 0; i < range->count; i++) {
        struct machine_target target = {0};
        struct shown_run *last = range->run_count ? &range->runs[range->run_count - 1] : NULL;

        if (!machine_bus_find(machine, addresses[i], PAGE_BYTES, &target) || !target.store)
            return false;
        range->pages[i] = target.address / PAGE_BYTES;
        if (last && last->store == target.store) {
            last->count++;
            continue;
        }
        last = realloc(range->runs, (range->run_count + 1) * sizeof *last);
        if (!last)
            return false;
        range->runs = last;
        range->runs[range->run_count++] =
            (struct shown_run){.store = target.store, .first = i, .count = 1};
    }
    return true;
}

/* NULL: no memory. */
static struct shown_range *show_pages(struct machine *machine, const struct page_foreign *foreign,
                                      uint64_t count, const uint64_t *addresses, uint64_t offset)
{
    struct shown_range *range = calloc(1, sizeof *range + count * sizeof range->pages[0]);
    uint64_t shown = 0;

    if (!range)
        return NULL;
    range->offset = offset;
    range->count = count;
    if (!find_pages(machine, addresses, range))
        goto fail;
    for (; shown < range->run_count; shown++) {
        const struct shown_run *run = &range->runs[shown];

        if (!page_store_show_in(run->store, foreign, range->pages + run->first, run->count,
                                offset + run->first * PAGE_BYTES))
            goto fail;
    }
    return range;

fail:
    end_runs(range, shown, false);
    free_pages(foreign, range);
    return NULL;
}

static NTSTATUS show_range(struct client_memory *memory, uint64_t count, const uint64_t *addresses,
                           struct shown_range **out_range)
{
    struct range_request request = {.size = count * PAGE_BYTES};
    struct shown_range *range;
    uint64_t offset;

    if (range_allocator_take(&memory->ranges, &request, &offset) != RANGE_OK)
        return STATUS_NO_MEMORY;
    range = show_pages(memory->machine, &memory->foreign, count, addresses, offset);
    if (!range) {
        range_allocator_release(&memory->ranges, offset, count * PAGE_BYTES);
        return STATUS_NO_MEMORY;
    }
    list_push_front(&memory->shown, &range->link);
    memory->shown_pages += count;
    *out_range = range;
    return STATUS_SUCCESS;
}

static void hide_range(struct client_memory *memory, struct shown_range *range, bool forgets)
{
    memory->shown_pages -= range->count;
    end_runs(range, range->run_count, forgets);
    list_remove(&range->link);
    free_range(memory, range);
}

static struct shown_range *find_range(struct client_memory *memory, uint64_t address)
{
    struct shown_range *range;

    list_for_each (range, &memory->shown, struct shown_range, link) {
        if (memory->base + range->offset == address)
            return range;
    }
    return NULL;
}

static NTSTATUS show(void *context, void *client, uint64_t count, const uint64_t *addresses,
                     uint64_t *out_address)
{
    struct client_memory *memory = client;
    struct shown_range *range;
    NTSTATUS status = show_range(memory, count, addresses, &range);

    *out_address = NT_SUCCESS(status) ? memory->base + range->offset : 0;
    return status;
}

static void hide(void *context, void *client, uint64_t address, uint64_t count)
{
    struct client_memory *memory = client;
    struct shown_range *range = find_range(memory, address);

    if (range)
        hide_range(memory, range, false);
}

bool client_memory_is_written_hidden(const struct client_memory *memory, uint64_t address,
                                     uint64_t bytes)
{
    static const uint8_t zeros[PAGE_BYTES];
    const uint64_t start = address - memory->base, end = start + bytes;
    struct range_info range;
    uint8_t page[PAGE_BYTES];
    off_t at;

    if (!memory->base || address < memory->base ||
        !range_allocator_range_at(&memory->ranges, start, &range) || !range.is_free ||
        end > range.offset + range.size)
        return false;
    at = lseek(memory->foreign.file, (off_t)start, SEEK_DATA);
    for (unsigned i = 0; i < 16 && at >= 0 && (uint64_t)at < end; i++, at += PAGE_BYTES) {
        if (pread(memory->foreign.file, page, sizeof page, at) == sizeof page &&
            memcmp(page, zeros, sizeof page) != 0)
            return true;
    }
    return false;
}

static NTSTATUS take_shared_page(void *context, void *client, uint64_t *out_page, void **out_view,
                                 uint64_t *out_address)
{
    struct client_memory *memory = client;
    struct page_store *ram = machine_ram(memory->machine);
    struct shown_range *range;
    uint64_t address;
    NTSTATUS status;

    if (!machine_alloc_pages(memory->machine, 1, out_page))
        return STATUS_NO_MEMORY;
    address = *out_page * PAGE_BYTES;
    page_store_fill(ram, address, PAGE_BYTES, 0);
    status = show_range(memory, 1, &address, &range);
    if (!NT_SUCCESS(status)) {
        machine_free_pages(memory->machine, out_page, 1);
        return status;
    }
    *out_view = page_store_bytes(ram, *out_page);
    *out_address = memory->base + range->offset;
    return STATUS_SUCCESS;
}

static void release_shared_page(void *context, void *client, uint64_t page, uint64_t address)
{
    struct client_memory *memory = client;
    struct shown_range *range = find_range(memory, address);

    if (range)
        hide_range(memory, range, true);
    machine_free_pages(memory->machine, &page, 1);
}

/* ---- Files of several clients ---------------------------------------------------------------- */

/* Sealed: a client that cuts it short would take the pages from under the server. -1: no file. */
static int make_file(const char *name, uint64_t bytes)
{
    const int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (file < 0)
        return -1;
    if (!ftruncate(file, (off_t)bytes) &&
        !fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        return file;
    close(file);
    return -1;
}

static NTSTATUS open_file(void *context, void *client, uint64_t count, void **out_file)
{
    struct shared_file *file = calloc(1, sizeof *file);

    *out_file = NULL;
    if (!file)
        return STATUS_NO_MEMORY;
    file->machine = ((struct client_memory *)client)->machine;
    file->count = count;
    file->foreign.file = make_file("drydock-shared", count * PAGE_BYTES);
    if (file->foreign.file < 0) {
        free(file);
        return STATUS_NO_MEMORY;
    }
    *out_file = file;
    return STATUS_SUCCESS;
}

static void end_show(struct shared_file *file, bool forgets)
{
    struct shown_range *range = file->shown;

    file->shown = NULL;
    if (!range)
        return;
    end_runs(range, range->run_count, forgets);
    free_pages(&file->foreign, range);
}

static void close_file(void *context, void *opened)
{
    struct shared_file *file = opened;

    end_show(file, true);
    close(file->foreign.file);
    free(file);
}

static NTSTATUS show_in_file(void *context, void *opened, const uint64_t *addresses)
{
    struct shared_file *file = opened;

    file->shown = show_pages(file->machine, &file->foreign, file->count, addresses, 0);
    return file->shown ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static void hide_in_file(void *context, void *opened)
{
    end_show(opened, false);
}

static NTSTATUS take_file_page(void *context, void *opened, uint64_t *out_page, void **out_view)
{
    struct shared_file *file = opened;
    struct page_store *ram = machine_ram(file->machine);
    uint64_t address;
    NTSTATUS status;

    if (!machine_alloc_pages(file->machine, 1, out_page))
        return STATUS_NO_MEMORY;
    address = *out_page * PAGE_BYTES;
    page_store_fill(ram, address, PAGE_BYTES, 0);
    status = show_in_file(context, file, &address);
    if (!NT_SUCCESS(status)) {
        machine_free_pages(file->machine, out_page, 1);
        return status;
    }
    *out_view = page_store_bytes(ram, *out_page);
    return STATUS_SUCCESS;
}

static void release_file_page(void *context, void *opened, uint64_t page)
{
    struct shared_file *file = opened;

    end_show(file, true);
    machine_free_pages(file->machine, &page, 1);
}

static NTSTATUS begin_view(void *context, void *client, void *file, uint64_t *out_address)
{
    struct client_memory *memory = client;
    struct view *view = calloc(1, sizeof *view);
    struct range_request request = {.size = ((struct shared_file *)file)->count * PAGE_BYTES};

    *out_address = 0;
    if (!view || range_allocator_take(&memory->view_ranges, &request, &view->offset) != RANGE_OK) {
        free(view);
        return STATUS_NO_MEMORY;
    }
    view->file = file;
    list_push_front(&memory->views, &view->link);
    *out_address = memory->base + view->offset;
    return STATUS_SUCCESS;
}

static struct view *find_view(const struct client_memory *memory, uint64_t address)
{
    struct view *view;

    list_for_each (view, &memory->views, struct view, link) {
        if (memory->base + view->offset == address)
            return view;
    }
    return NULL;
}

static void drop_view(struct client_memory *memory, struct view *view)
{
    range_allocator_release(&memory->view_ranges, view->offset, view->file->count * PAGE_BYTES);
    list_remove(&view->link);
    free(view);
}

static void end_view(void *context, void *client, void *file, uint64_t address)
{
    struct view *view = find_view(client, address);

    if (view)
        drop_view(client, view);
}

bool client_memory_find_view(const struct client_memory *memory, uint64_t address,
                             struct client_view *out_view)
{
    const struct view *view = find_view(memory, address);

    if (view)
        *out_view = (struct client_view){.file = view->file->foreign.file,
                                         .bytes = view->file->count * PAGE_BYTES};
    return view;
}

/* ---- Clients --------------------------------------------------------------------------------- */

NTSTATUS client_memory_open(struct client_memory *memory, struct machine *machine)
{
    *memory = (struct client_memory){.machine = machine, .memory_file = -1};
    list_init(&memory->shown);
    list_init(&memory->views);
    memory->foreign = (struct page_foreign){
        .context = memory,
        .file = make_file("drydock-client", CLIENT_WINDOW_BYTES),
        .read = read_client,
        .write = write_client,
    };
    if (memory->foreign.file < 0)
        return STATUS_NO_MEMORY;
    if (range_allocator_init(&memory->ranges, machine_services(machine), 0, CLIENT_VIEWS_START,
                             PAGE_BYTES) != RANGE_OK)
        goto close_window;
    if (range_allocator_init(&memory->view_ranges, machine_services(machine), CLIENT_VIEWS_START,
                             CLIENT_WINDOW_BYTES - CLIENT_VIEWS_START, PAGE_BYTES) == RANGE_OK)
        return STATUS_SUCCESS;
    range_allocator_fini(&memory->ranges);
close_window:
    close(memory->foreign.file);
    return STATUS_NO_MEMORY;
}

void client_memory_close(struct client_memory *memory)
{
    struct shown_range *range, *following;
    struct view *view, *next_view;

    list_for_each_safe (range, following, &memory->shown, struct shown_range, link)
        hide_range(memory, range, true);
    list_for_each_safe (view, next_view, &memory->views, struct view, link)
        drop_view(memory, view);
    range_allocator_fini(&memory->ranges);
    range_allocator_fini(&memory->view_ranges);
    close(memory->foreign.file);
    if (memory->memory_file >= 0)
        close(memory->memory_file);
}

int client_memory_window(const struct client_memory *memory)
{
    return memory->foreign.file;
}

/* What a process has as its memory, and no file on which reading may wait. */
static bool is_memory(int file)
{
    char path[32], name[64];
    struct statfs system;
    ssize_t length;

    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    length = readlink(path, name, sizeof name);
    return length >= 4 && length < (ssize_t)sizeof name &&
           memcmp(name + length - 4, "/mem", 4) == 0 && fstatfs(file, &system) == 0 &&
           system.f_type == PROC_SUPER_MAGIC;
}

bool client_memory_set(struct client_memory *memory, pid_t pid, uint64_t base, int memory_file)
{
    if (memory->base || !base || base % PAGE_BYTES || base >= ADDRESS_END ||
        CLIENT_WINDOW_BYTES > ADDRESS_END - base || memory_file < 0 || !is_memory(memory_file)) {
        if (memory_file >= 0)
            close(memory_file);
        return false;
    }
    memory->base = base;
    memory->pid = pid;
    memory->memory_file = memory_file;
    return true;
}

bool client_memory_is_gone(const struct client_memory *memory)
{
    return memory->is_gone;
}

void client_memory_gone(struct client_memory *memory)
{
    memory->is_gone = true;
}

void client_memory_board(struct d3dkmt_board *board)
{
    board->show = show;
    board->hide = hide;
    board->take_client_pages = take_client_pages;
    board->release_client_pages = release_client_pages;
    board->take_shared_page = take_shared_page;
    board->release_shared_page = release_shared_page;
    board->open_file = open_file;
    board->close_file = close_file;
    board->show_in_file = show_in_file;
    board->hide_in_file = hide_in_file;
    board->take_file_page = take_file_page;
    board->release_file_page = release_file_page;
    board->begin_view = begin_view;
    board->end_view = end_view;
}
