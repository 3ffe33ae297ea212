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

/* A range of the window. */
struct shown_range {
    struct list link;
    uint64_t offset, count;
    uint64_t run_count;
    struct shown_run *runs;
    uint64_t pages[]; /* by number in their stores */
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

static void free_range(struct client_memory *memory, struct shown_range *range)
{
    range_allocator_release(&memory->ranges, range->offset, range->count * PAGE_BYTES);
    fallocate(memory->foreign.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              (off_t)range->offset, (off_t)(range->count * PAGE_BYTES));
    free(range->runs);
    free(range);
}

/* Which pages of which stores the addresses are, in runs of one store. */
static bool find_pages(struct client_memory *memory, const uint64_t *addresses,
                       struct shown_range *range)
{
    for (uint64_t i = 0; i < range->count; i++) {
        struct machine_target target = {0};
        struct shown_run *last = range->run_count ? &range->runs[range->run_count - 1] : NULL;

        if (!machine_bus_find(memory->machine, addresses[i], PAGE_BYTES, &target) || !target.store)
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

static NTSTATUS show_range(struct client_memory *memory, uint64_t count, const uint64_t *addresses,
                           struct shown_range **out_range)
{
    struct shown_range *range = calloc(1, sizeof *range + count * sizeof range->pages[0]);
    struct range_request request = {.size = count * PAGE_BYTES};
    uint64_t shown = 0;

    if (!range)
        return STATUS_NO_MEMORY;
    range->count = count;
    if (range_allocator_take(&memory->ranges, &request, &range->offset) != RANGE_OK) {
        free(range);
        return STATUS_NO_MEMORY;
    }
    if (!find_pages(memory, addresses, range))
        goto fail;
    for (; shown < range->run_count; shown++) {
        const struct shown_run *run = &range->runs[shown];

        if (!page_store_show_in(run->store, &memory->foreign, range->pages + run->first, run->count,
                                range->offset + run->first * PAGE_BYTES))
            goto fail;
    }
    list_push_front(&memory->shown, &range->link);
    memory->shown_pages += count;
    *out_range = range;
    return STATUS_SUCCESS;

fail:
    end_runs(range, shown, false);
    free_range(memory, range);
    return STATUS_NO_MEMORY;
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

/* ---- Clients --------------------------------------------------------------------------------- */

NTSTATUS client_memory_open(struct client_memory *memory, struct machine *machine)
{
    *memory = (struct client_memory){.machine = machine, .memory_file = -1};
    list_init(&memory->shown);
    memory->foreign = (struct page_foreign){
        .context = memory,
        .file = memfd_create("drydock-client", MFD_CLOEXEC | MFD_ALLOW_SEALING),
        .read = read_client,
        .write = write_client,
    };
    if (memory->foreign.file < 0)
        return STATUS_NO_MEMORY;
    /* Sealed: a client that cuts its window short would take the pages from under the server. */
    if (ftruncate(memory->foreign.file, (off_t)CLIENT_WINDOW_BYTES) ||
        fcntl(memory->foreign.file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ||
        range_allocator_init(&memory->ranges, machine_services(machine), 0, CLIENT_WINDOW_BYTES,
                             PAGE_BYTES) != RANGE_OK) {
        close(memory->foreign.file);
        return STATUS_NO_MEMORY;
    }
    return STATUS_SUCCESS;
}

void client_memory_close(struct client_memory *memory)
{
    struct shown_range *range, *following;

    list_for_each_safe (range, following, &memory->shown, struct shown_range, link)
        hide_range(memory, range, true);
    range_allocator_fini(&memory->ranges);
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
}
