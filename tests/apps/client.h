/*
 * The parts of the client (client.c): a user-mode driver of the Drydock GPU, to copy from, and what
 * the application does with it. Whatever fails ends the process with exit status 3.
 */
#ifndef DRYDOCK_TESTS_APPS_CLIENT_H
#define DRYDOCK_TESTS_APPS_CLIENT_H

#include <drydock/sgpu.h>
#include <dxcore.h>
#include <ntstatus.h>

#include <stdint.h>

#define MOST_MOVES 8u /* in one submission */

/* Of the process, after open_adapter(). */
extern D3DKMT_HANDLE adapter;
extern LUID adapter_luid;

struct driver {
    D3DKMT_HANDLE device, queue, queue_fence, context, fence, gate;
    const volatile uint64_t *paging, *done;
    uint64_t fence_va, value;
    D3DKMT_HANDLE commands;
    uint8_t *memory;
    uint64_t at;
};

struct buffer {
    D3DKMT_HANDLE handle;
    uint64_t va, bytes;
};

struct move {
    uint64_t to, from, bytes;
};

void fail(const char *what, NTSTATUS status);
void must(const char *what, NTSTATUS status);
void open_adapter(void);
void wait_until(const struct driver *driver, D3DKMT_HANDLE fence, uint64_t value);
struct buffer create(struct driver *driver, uint32_t flags, uint64_t bytes, const void *over);
void map(struct driver *driver, struct buffer *buffer, uint64_t va);
void make_all_resident(struct driver *driver, const D3DKMT_HANDLE *handles, unsigned count);
void make_resident(struct driver *driver, const struct buffer *buffer);
void evict_all(struct driver *driver, const D3DKMT_HANDLE *handles, unsigned count);
void evict(struct driver *driver, const struct buffer *buffer);
void destroy(struct driver *driver, const struct buffer *buffer);
void start(struct driver *driver);
/* Starts copies; the driver's fence has the value behind them. */
uint64_t copy_all(struct driver *driver, const struct move *moves, unsigned count);
uint64_t copy(struct driver *driver, uint64_t to, uint64_t from, uint64_t bytes);
/* Work that is submitted from here on waits until let_go(). */
void hold(struct driver *driver);
void let_go(struct driver *driver);
/* One transfer between the application's memory and a buffer, by the GPU. */
void transfer(struct driver *driver, const struct buffer *buffer, uint8_t *memory, int is_read);

/* What the application does; exit statuses. */
int events(void);
int notifications(int is_lying);
int events_without_threads(void);
int events_without_connections(void);
int events_beside_threads(void);
int tell_adapter(void);
int locks(unsigned count, unsigned threads, unsigned rounds, unsigned moves);
int calls(void);
/* how: "fork", "socket", "name". */
int sharing(uint64_t bytes, unsigned rounds, const char *how);
int sharing_lies(uint64_t bytes);
int mutexes(uint64_t bytes, unsigned rounds);
int mutexes_lie(void);
int queues(unsigned buffers, uint64_t bytes, unsigned rounds);
int leave(unsigned threads, unsigned buffers, const char *lingering);

#endif
