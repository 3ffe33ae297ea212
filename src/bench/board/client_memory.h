/*
 * Client memory: what a client process sees of the machine, and what the machine sees of it.
 *
 * Place      bench. Gives the front of the thunk functions its struct d3dkmt_board
 *            (d3dkmt/d3dkmt.h).
 * Model      A client has one sealed memory file, its window, which it maps whole, once, at an
 *            address of its choice. Pages of RAM and of local memory that it may see are shown in
 *            the window (machine/page_foreign.h). So an address that it has been given does not
 *            change, and it reaches nothing else of the machine. What has left is zero.
 *
 *            What several clients may see has a file of its own, and a range of the window's upper
 *            part in each of them that stands for it (a view): the client maps the file there,
 *            which it gets by the address (client_memory_find_view()). Who has had a view may keep
 *            the mapping, and sees what is shown in that file for as long as others have it;
 *            nothing else is ever in it.
 *
 *            Pages of the client's own memory are remote pages of RAM. They are reached through its
 *            /proc/PID/mem, which the client hands over: it asks for no access that the client may
 *            have taken away, and does not wait for a page that does not come (userfaultfd). No
 *            signal handler, no change of the client's mappings.
 * Ownership  The files are the client memory's from client_memory_open() on.
 * Errors     NTSTATUS; nothing that a client does to its window or its memory is an error here.
 */
#ifndef DRYDOCK_BENCH_CLIENT_MEMORY_H
#define DRYDOCK_BENCH_CLIENT_MEMORY_H

#include "base/range_allocator.h"
#include "d3dkmt/d3dkmt.h"
#include "machine/machine.h"
#include "machine/page_foreign.h"

#include <sys/types.h>

#define CLIENT_WINDOW_BYTES (UINT64_C(1) << 36) /* 64 GiB of addresses */
#define CLIENT_VIEWS_START  (UINT64_C(3) << 34) /* the last 16 GiB are for views */

struct client_memory {
    struct machine *machine;
    struct page_foreign foreign;
    uint64_t base; /* where the client has mapped its window; 0: not yet */
    pid_t pid;
    int memory_file; /* /proc/PID/mem of the client, open for both; -1: none */
    bool is_gone;
    struct range_allocator ranges, view_ranges;
    struct list shown, views;
    uint64_t shown_pages, remote_pages; /* now */
};

/* STATUS_NO_MEMORY: no memory file. */
NTSTATUS client_memory_open(struct client_memory *memory, struct machine *machine);
/* Nothing of it is shown or remote any more. */
void client_memory_close(struct client_memory *memory);

/* The window's file, for the client to map. */
int client_memory_window(const struct client_memory *memory);
/*
 * Who the client is, and where it has mapped the window: a multiple of a page below 2^47. Takes
 * memory_file, whatever it returns. False: not such an address, no such file, or it has been told
 * before.
 */
bool client_memory_set(struct client_memory *memory, pid_t pid, uint64_t base, int memory_file);
/* Of the view at the address; false: there is none. */
struct client_view {
    int file; /* lent */
    uint64_t bytes;
};
bool client_memory_find_view(const struct client_memory *memory, uint64_t address,
                             struct client_view *out_view);
/* Copies bytes of the client's memory; false: it has none there, or is gone. */
bool client_memory_read(struct client_memory *memory, uint64_t address, void *out, uint64_t bytes);
/* True: nothing is shown there, and somebody has written to the first 64 KiB that have bytes. */
bool client_memory_is_written_hidden(const struct client_memory *memory, uint64_t address,
                                     uint64_t bytes);
/* The process is no more, as it was told or as a read has found. */
bool client_memory_is_gone(const struct client_memory *memory);
/* The process is no more: what is asked of its memory reads as zero. */
void client_memory_gone(struct client_memory *memory);

/* The functions of a board, whose clients are struct client_memory; the rest is the caller's. */
void client_memory_board(struct d3dkmt_board *board);

#endif
