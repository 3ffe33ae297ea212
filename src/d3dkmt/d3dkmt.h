/*
 * The thunk functions of user mode (D3DKMT), served by a memory manager.
 *
 * Place      d3dkmt. Stands on the public interface of vidmm and on what the embedder gives (struct
 *            d3dkmt_board). Knows no socket and no machine: a server or a test drives it.
 * Model      A front is one adapter. A process has handles, of which nobody else's mean anything to
 *            it, an address space, and devices; a device has contexts, paging queues, allocations
 *            and monitored fences.
 *
 *            d3dkmt_call() begins a call. It has ended when the function returns, or it waits:
 *            for a fence, for a move that a lock needs, for the GPU to let go of what is
 *            destroyed. Then call->ended() is called from d3dkmt_pump(), which the embedder calls
 *            whenever its machine has done something, until it returns false.
 *
 *            A context has a queue: submissions, waits and signals, in the order of their calls.
 *            A submission is handed to the manager when all waits in front of it are satisfied; a
 *            signal is written when all in front of it has run. A paging queue counts what it was
 *            asked for; its fence has a value when everything up to there has ended.
 *
 *            Work of a context that was made with HwQueueSupported, on a node that has hardware
 *            queues, goes to one that the client makes. The driver counts its progress in a fence
 *            of the kernel's, which no client can write; that of the client gets the value of each
 *            submission when the driver has told that it has ended.
 *
 *            Resources and monitored fences that are made to be shared belong to all processes that
 *            have opened them: each has handles, addresses and references of its own, and the
 *            memory goes with the last of them. An NT handle is a descriptor that the embedder
 *            makes; here it is the name of an object (d3dkmt_call.nt_object), which keeps that
 *            until d3dkmt_nt_handle_closed(). Keyed mutexes are shared in the same way, by handles
 *            of processes; one NT handle may name a resource, a keyed mutex and a fence.
 * Ownership  Arguments of a call are borrowed until it has ended; lists in them are read before
 *            d3dkmt_call() returns. Everything of a process goes by d3dkmt_process_close().
 * Errors     NTSTATUS, as the page of the function documents. Arguments are not trusted: handles
 *            are looked up, counts bounded, ranges checked. Pointers must lead to memory of the
 *            embedder's: it has copied in what they lead to.
 * Limits     Semaphores and mutexes (D3DDDI_SYNCHRONIZATION_MUTEX; keyed mutexes are something
 *            else) answer STATUS_NOT_SUPPORTED, and so do the calls that open those,
 *            D3DKMTOpenSynchronizationObject and D3DKMTOpenSyncObjectFromNtHandle. A CPU
 *            notification is not shared, nor the driver's to signal (SignalByKmd), and
 *            D3DKMTSignalSynchronizationObject and its second form are for those alone. A fence
 *            with Shared and without NtSecuritySharing is one like any other, which nobody can
 *            open. dwDesiredAccess of an NT handle is not looked at: who has it may do everything.
 *            A shared object has one name, of D3DKMT_MOST_NAME_BYTES at most, for as long as there
 *            is an NT handle of it; there are no directories of names.
 *            What others have cannot be offered, nor memory of a client's own be shared.
 *            STATUS_NOT_SUPPORTED, too: hardware queues with UserModeSubmission,
 *            NativeProgressFence or TestQueue, and a signal to more than one queue.
 *            DisableGpuTimeout goes to the driver, and time-outs stay.
 * Source     The reference pages of d3dkmthk.h; /docs/applications.md.
 */
#ifndef DRYDOCK_D3DKMT_D3DKMT_H
#define DRYDOCK_D3DKMT_D3DKMT_H

#include "base/list.h"
#include "base/services.h"
#include "thunk/thunk.h"
#include "vidmm/vidmm.h"

#include <stdbool.h>
#include <stdint.h>

#include <d3dkmthk.h>

struct d3dkmt;
struct d3dkmt_process;

/* Of a name of a shared object. */
#define D3DKMT_MOST_NAME_BYTES 1024u

/* Registrations for notices to trim that a process has at one time, at most. */
#define D3DKMT_MOST_TRIM_NOTICES 64u

/*
 * Events of a process at one time, at most; one more is STATUS_NO_MEMORY. An event (hAsyncEvent,
 * CPUNotification.Event, CpuEventHandle) is a number here that the client's library gives, even and
 * of no other event of the process. D3DKMTWaitForSynchronizationObjectFromCpu with that number + 1
 * as hAsyncEvent ends when the event is to be set, once for each time, or, with a status that is no
 * success, when nobody sets it any more. Of a wait STATUS_SUCCESS says that the values are reached,
 * and STATUS_PENDING that it is entered: a value that has been reached counts, whatever becomes of
 * the fence.
 */
#define D3DKMT_MOST_EVENTS 512u

enum d3dkmt_clock {
    D3DKMT_NO_CLOCK,
    D3DKMT_CLOCK_STEADY, /* nobody sets it */
    D3DKMT_CLOCK_SYSTEM, /* since January 1, 1601 (UTC) */
};

/*
 * What the embedder gives. client is the embedder's own name for the process. Pages are system
 * pages by number, as the manager's platform knows them; addresses of pages are those of
 * vidmm_locked_page_address().
 */
struct d3dkmt_board {
    void *context;

    /* In 100 ns: as clients know time, who wait no longer than they say. */
    int64_t (*now)(void *context, enum d3dkmt_clock clock);

    /*
     * The client sees these pages of the CPU's one behind the other, at an address that stays until
     * hide(). Nothing else can be seen there. STATUS_NO_MEMORY.
     */
    NTSTATUS(*show)
    (void *context, void *client, uint64_t count, const uint64_t *addresses, uint64_t *out_address);
    void (*hide)(void *context, void *client, uint64_t address, uint64_t count);

    /*
     * How many bytes of the client's memory an allocation is to have whose private data this is,
     * which user mode alone knows: a multiple of a page. False: the data does not say. NULL: there
     * are no such allocations.
     */
    bool (*size_of)(void *context, const void *private_data, uint32_t bytes, uint64_t *out_bytes);

    /*
     * System pages whose content is the client's own memory from an address on, at any time: what
     * the device reads and writes there, it reads and writes in the client. One page may be taken
     * twice. STATUS_INVALID_PARAMETER: it has no such memory. STATUS_NO_MEMORY.
     */
    NTSTATUS(*take_client_pages)
    (void *context, void *client, uint64_t address, uint64_t count, uint64_t *out_pages);
    void (*release_client_pages)(void *context, void *client, uint64_t count,
                                 const uint64_t *pages);

    /* A zeroed system page that the client sees, too; view: where the caller does. */
    NTSTATUS(*take_shared_page)
    (void *context, void *client, uint64_t *out_page, void **out_view, uint64_t *out_address);
    void (*release_shared_page)(void *context, void *client, uint64_t page, uint64_t address);

    /*
     * A file is memory of so many pages that several clients may see; *out_file is the embedder's
     * name for it. Pages that are shown in it are what it has, one behind the other, until they are
     * hidden. A file of one page may have a zeroed system page of its own, for as long as it lives.
     * client: one that will see it. STATUS_NO_MEMORY.
     */
    NTSTATUS (*open_file)(void *context, void *client, uint64_t count, void **out_file);
    void (*close_file)(void *context, void *file); /* no client has a view of it */
    NTSTATUS (*show_in_file)(void *context, void *file, const uint64_t *addresses);
    void (*hide_in_file)(void *context, void *file);
    NTSTATUS (*take_file_page)(void *context, void *file, uint64_t *out_page, void **out_view);
    void (*release_file_page)(void *context, void *file, uint64_t page);
    /* The client may see the whole of it at an address, which stays until the end of the view. */
    NTSTATUS (*begin_view)(void *context, void *client, void *file, uint64_t *out_address);
    void (*end_view)(void *context, void *client, void *file, uint64_t address);

    /*
     * The client has registered for notices to trim as this number, below D3DKMT_MOST_TRIM_NOTICES:
     * flags are those of D3DDDI_TRIMRESIDENCYSET_FLAGS. Nothing of the front may be called from
     * here. NULL: nobody can register.
     */
    void (*notify)(void *context, void *client, unsigned number, uint32_t flags, uint64_t bytes);

    /* Of types that the front does not answer (KMTQAITYPE_UMDRIVERPRIVATE); NULL: none. */
    NTSTATUS (*query_adapter)(void *context, unsigned type, void *data, uint32_t bytes);
    /* D3DKMT_ESCAPE_DRIVERPRIVATE; NULL: the driver has no escapes. */
    NTSTATUS (*escape)(void *context, void *data, uint32_t bytes);
};

/*
 * What the front does with the manager, for who judges the driver by it: requests before or behind
 * the manager's function, as the names say. Nothing may be called from there.
 */
enum d3dkmt_deed_kind {
    D3DKMT_DEED_DEVICE, /* has been created */
    D3DKMT_DEED_CREATE, /* an allocation is about to be; pages: those of the client's memory */
    D3DKMT_DEED_CREATED,
    D3DKMT_DEED_DESTROY,       /* about to be */
    D3DKMT_DEED_MAKE_RESIDENT, /* has been asked for */
    D3DKMT_DEED_RESIDENT,      /* a request that was pending has ended */
    D3DKMT_DEED_EVICT,         /* about to be: one reference */
    D3DKMT_DEED_LOCK,          /* about to be */
    D3DKMT_DEED_LOCKED,
    D3DKMT_DEED_UNLOCK,  /* about to be */
    D3DKMT_DEED_OFFER,   /* has been asked for; priority */
    D3DKMT_DEED_RECLAIM, /* the same; result */
    D3DKMT_DEED_SUBMIT,  /* about to be: the oldest work that the context has queued */
};
struct d3dkmt_deed {
    enum d3dkmt_deed_kind kind;
    const struct vidmm_device *device;
    unsigned count;
    struct vidmm_allocation *const *allocations;
    NTSTATUS status;
    uint64_t fence; /* of the manager's device */
    bool is_within_budget;
    uint64_t bytes_to_trim;
    const uint64_t *pages;
    uint64_t page_count;
    unsigned priority;                /* OFFER */
    enum vidmm_reclaim_result result; /* RECLAIM */
    bool is_reclaim;                  /* RESIDENT */
    void *client;                     /* SUBMIT: whose context */
    D3DKMT_HANDLE context;            /* SUBMIT */
};

/*
 * Who looks on: at each call before it is made and when it has ended, at the end of a process, and
 * when nobody has a shared object any more, which call->nt_object says then (client: NULL).
 */
enum d3dkmt_moment { D3DKMT_CALLED, D3DKMT_ENDED, D3DKMT_CLOSED, D3DKMT_UNSHARED };
struct d3dkmt_call;

/*
 * Whose allocation of the manager's it is, in a device or in any (NULL), and its handle there. 0:
 * it has been destroyed there, or the device never had it.
 */
D3DKMT_HANDLE d3dkmt_handle_of(const struct vidmm_allocation *allocation,
                               const struct vidmm_device *device, void **out_client);

struct d3dkmt_config {
    const struct base_services *services;
    struct vidmm *vidmm; /* started, of the GpuMmu model; outlives the front */
    struct d3dkmt_board board;
    void (*witness)(void *context, const struct d3dkmt_deed *deed); /* NULL: nobody */
    void *witness_context;
    /* Nothing may be called from here. call: NULL of CLOSED. May be NULL. */
    void (*tap)(void *context, enum d3dkmt_moment moment, void *client,
                const struct d3dkmt_call *call);
    void *tap_context;
    LUID luid;
    unsigned wddm;   /* 26: WDDM 2.6 */
    uint64_t secret; /* of global handles of shared resources: no client knows it */
    /* Files of one process, at most: of shared fences, and of shared memory that was locked. */
    unsigned most_files; /* 0: 4,096 */
    /* Where addresses lie that the front chooses for itself and for calls without limits. */
    uint64_t va_start, va_end; /* 0: [0xc00000000000, 0xfffff0000000) */
};

struct d3dkmt_call {
    /* The caller's. */
    enum d3dkmt_function function;
    void *arguments;                         /* the structure of the function */
    void (*ended)(struct d3dkmt_call *call); /* may free the call; not called if it ended at once */
    void *context;
    const uint64_t *stack; /* addresses in the client that it came from, innermost first, or NULL */
    unsigned stack_count;
    /*
     * Of functions with an NT handle: the object that it names, which the embedder knows by the
     * descriptor; 0: none. NT handles in arguments are not looked at. Of functions that make
     * something to be shared: what names it from then on, for who looks on.
     */
    uint64_t nt_object;
    /*
     * An NT handle can be given. If the call succeeds nt_object is what it has to name: see
     * d3dkmt_nt_handle_closed() and d3dkmt_nt_handle_refused().
     */
    bool takes_nt_handle;
    /* While it waits: nobody will hear of its end. It takes nothing any more that others wait for.
     */
    bool is_deserted;

    NTSTATUS status; /* when it has ended */

    /* The front's. */
    struct d3dkmt_process *process;
    bool gave_title; /* the object that it shares had no name before */
    struct list link;
    enum d3dkmt_clock clock;                 /* D3DKMT_NO_CLOCK: it waits for as long as it takes */
    int64_t end_by;                          /* by that clock */
    bool (*again)(struct d3dkmt_call *call); /* true: it has ended, with status */
    void *state;
    size_t state_bytes;
};

/* STATUS_NOT_SUPPORTED: no page tables. STATUS_NO_MEMORY. */
NTSTATUS d3dkmt_create(const struct d3dkmt_config *config, struct d3dkmt **out_front);
/* All processes are gone, and all NT handles closed. */
void d3dkmt_destroy(struct d3dkmt *front);

/* The manager's events; the embedder has set them to go here (vidmm_config.events). */
void d3dkmt_note_device_error(struct d3dkmt *front, struct vidmm_device *device);
void d3dkmt_note_trim(struct d3dkmt *front, struct vidmm_process *process,
                      enum vidmm_budget_group group, uint64_t bytes);

/*
 * Tells everybody who has registered to give up what it has not used since the last time
 * (PeriodicTrim).
 */
void d3dkmt_trim_periodically(struct d3dkmt *front);
bool d3dkmt_wants_trims(const struct d3dkmt *front); /* somebody has registered */

/*
 * The request that has starved longest has waited for long enough: others give way to it. Their
 * work is held back until what they had is there again. False: nobody can.
 */
bool d3dkmt_demote(struct d3dkmt *front);

NTSTATUS d3dkmt_process_create(struct d3dkmt *front, void *client,
                               struct d3dkmt_process **out_process);
/*
 * The process has ended, in whatever state: calls of it that wait end with STATUS_CANCELLED before
 * this returns, what it has queued is dropped, and everything of it goes when the GPU is done with
 * it. gone is called then, from d3dkmt_pump(); the client's memory may be taken until then.
 */
void d3dkmt_process_close(struct d3dkmt_process *process, void (*gone)(void *context),
                          void *context);

/* True: the call has ended. False: it waits, and call->ended() will be called. */
bool d3dkmt_call(struct d3dkmt_process *process, struct d3dkmt_call *call);

/* The function gives an NT handle: of what it shares, or has opened by a name. */
bool d3dkmt_gives_nt_handle(enum d3dkmt_function function);
/* The last copy of an NT handle that such a call has given is closed. */
void d3dkmt_nt_handle_closed(struct d3dkmt *front, uint64_t nt_object);
/* The embedder cannot make the one that the call gives: the object is shared as it was before. */
void d3dkmt_nt_handle_refused(struct d3dkmt *front, const struct d3dkmt_call *call);

/* Takes everything as far as it goes now. True: something has happened. */
bool d3dkmt_pump(struct d3dkmt *front);

/*
 * Nanoseconds until a call that waits has waited for as long as it may, which ends it in
 * d3dkmt_pump(); UINT64_MAX: no call says so. A clock that is set may change it at any time.
 */
uint64_t d3dkmt_next_timeout(const struct d3dkmt *front);

/*
 * Nothing more happens, and clients wait: the request for residency that has waited longest for
 * room is given up, and its device is lost. False: there is none.
 */
bool d3dkmt_give_up(struct d3dkmt *front);
/* A number of that request's own; 0: there is none. */
uint64_t d3dkmt_oldest_starved(const struct d3dkmt *front);
/* Grows when somebody has given up references, ended work or destroyed allocations. */
uint64_t d3dkmt_releases(const struct d3dkmt *front);

/*
 * Something that is destroyed lacks the manager's idleness alone. Until it has gone no work is
 * handed over; the embedder lets the machine run and begins no calls meanwhile.
 */
bool d3dkmt_wants_idle(const struct d3dkmt *front);

/* No call waits, no context has anything queued or running, no process is going. */
bool d3dkmt_is_idle(const struct d3dkmt *front);

struct d3dkmt_statistics {
    uint64_t calls[D3DKMT_FN_COUNT];
    uint64_t failed_calls;
    uint64_t waited_calls; /* that did not end at once */
    uint64_t submissions;
    uint64_t refused_residency;        /* MakeResident over the budget */
    uint64_t starved_requests;         /* ... that had to wait until somebody gave something up */
    uint64_t demotions, demoted_bytes; /* of devices that had to give way */
    uint64_t processes;
    uint64_t client_pages; /* of ExistingSysMem, taken so far */
};
const struct d3dkmt_statistics *d3dkmt_statistics(const struct d3dkmt *front);

/* The process as the manager knows it. */
const struct vidmm_process *d3dkmt_process_manager(const struct d3dkmt_process *process);
/* Handles that the process holds; 0 when it has destroyed all that it made. */
uint64_t d3dkmt_process_handles(const struct d3dkmt_process *process);

#endif
