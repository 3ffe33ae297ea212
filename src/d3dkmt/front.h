/*
 * The front, inside: its objects, and what its files do for each other.
 *
 * Place      d3dkmt, private.
 *
 *            | file          | what it does                                                       |
 *            | front.c       | the front, calls that wait, the pump, dispatch                     |
 *            | process.c     | processes; the order in which everything of them goes              |
 *            | device.c      | adapters, devices, contexts, paging queues                         |
 *            | hw_queue.c    | hardware queues of contexts, and their progress fences             |
 *            | sharing.c     | calls that share resources and fences, and open shared ones        |
 *            | allocation.c  | allocations and resources, locks                                   |
 *            | address.c     | calls that reserve, map and free GPU virtual addresses             |
 *            | offer.c       | offer and reclaim                                                  |
 *            | demote.c      | who gives way to whom, when there is no room for all               |
 *            | residency.c   | operations of paging queues, MakeResident, Evict, priorities       |
 *            | budget.c      | budgets of processes, reservations, notices to trim                |
 *            | statistics.c  | what is counted, and the clocks of nodes                           |
 *            | queue.c       | queues of contexts: submissions, waits, signals, tile updates      |
 *            | fence.c       | monitored fences: pages, values, the CPU's waits; devices are lost |
 *            | event.c       | events of clients, and CPU notifications, which set them           |
 *            | keyed_mutex.c | keyed mutexes: handles of them, and which one holds it             |
 *            | range.c       | ranges of GPU virtual addresses: reserved, mapped                  |
 *            | shared.c      | shared objects: who has them, and their end                        |
 *            | handle.c      | handles                                                            |
 *
 *            A file calls only files below it; the table of calls is in front.c, at the top.
 */
#ifndef D3DKMT_FRONT_H
#define D3DKMT_FRONT_H

#include "d3dkmt/d3dkmt.h"

#include "base/bits.h"

#define PAGE_SIZE_BYTES 4096u

/* Chains of an index. There are as many titles at most as the embedder gives NT handles. */
#define SHARED_CHAINS 1024u

/* What one process may have at most; more is STATUS_NO_MEMORY. */
#define MOST_HANDLES      (1u << 20)
#define MOST_LIST         (1u << 16) /* members of a list in one call */
#define MOST_PRIVATE_DATA (1u << 20) /* bytes */
#define MOST_FILES        4096u      /* where the embedder does not say */
#define MOST_TRIM_NOTICES D3DKMT_MOST_TRIM_NOTICES

/* A resource, a keyed mutex and a fence. */
#define MOST_PARTS 3u

enum object_type {
    OBJECT_NONE,
    OBJECT_ADAPTER,
    OBJECT_DEVICE,
    OBJECT_CONTEXT,
    OBJECT_PAGING_QUEUE,
    OBJECT_HW_QUEUE,
    OBJECT_FENCE,
    OBJECT_NOTIFICATION,
    OBJECT_KEYED_MUTEX,
    OBJECT_ALLOCATION,
    OBJECT_RESOURCE,
    OBJECT_BUNDLE, /* shared: it has no handles */
};

/* What a handle stands for; the first member of each. */
struct object {
    enum object_type type;
    D3DKMT_HANDLE handle;
    bool is_going; /* a call that waits destroys it; no other call finds it */
};

struct handle_slot {
    struct object *object; /* NULL: free */
    uint32_t next_free;
    uint8_t generation;
};

/*
 * Something that devices of several processes may have: each of them, and each NT handle, keeps it.
 */
struct shared {
    /* Of the front's indexes; by_global and by_title: empty where it has none. */
    struct list by_name, by_global, by_title;
    struct d3dkmt *front;
    uint64_t name; /* of all objects so far, from 1 */
    enum object_type type;
    D3DKMT_HANDLE global; /* by which any process opens it; 0: by NT handles alone */
    unsigned users, nt_handles;
    unsigned bundles; /* of the users: bundles, which have NT handles */
    void *title;      /* the name that a process has given it; NULL: none */
    UINT title_bytes;
    /* RESOURCE */
    struct d3dkmt_process *creator; /* whose process of the manager's its memory is of */
    unsigned count;
    struct memory *memories;
    void *runtime_data, *driver_data; /* of the resource */
    UINT runtime_bytes, driver_bytes, total_bytes;
    /* FENCE: a page for itself, so that nobody sees other fences */
    struct shared_file *file;
    uint64_t page;
    uint64_t *view;
    /* KEYED_MUTEX, whose private data is the runtime's */
    UINT64 key, fence_value;          /* of the last release */
    const struct keyed_mutex *holder; /* NULL: it is free for the key */
    bool is_abandoned;
    /* BUNDLE: what one NT handle names together, each of another type */
    struct shared *parts[MOST_PARTS];
};

/* A name of a shared object as a call has it. */
struct title {
    const void *name;
    UINT bytes;
    bool ignores_case; /* of ASCII */
};

/* A file of the embedder's, which costs it a descriptor. */
struct shared_file {
    void *file;
    struct list link;             /* of the front */
    struct d3dkmt_process *payer; /* whose most_files it is one of; NULL: that is gone */
};

/* What an allocation is a name for: each allocation is an opening of it in a device. */
struct memory {
    struct vidmm_allocation *handle; /* NULL: it is gone */
    struct shared *shared;           /* NULL: one device has it */
    struct list openings;
    /* Of a shared one: */
    void *private_data; /* for who opens it */
    UINT private_bytes;
    struct device *maker;     /* the device that made it; NULL: it has closed it */
    unsigned lock_count;      /* openings that are locked */
    struct shared_file *file; /* where they see it; NULL: nobody has locked it so far */
};

struct fence_page {
    struct list link;
    uint64_t page, va, client_address;
    uint64_t *view;
    uint64_t used; /* a bit for each fence, 64 bytes apart */
    bool is_mapped, is_failed;
    struct shared *shared; /* NULL: a page of the process's own */
    bool is_leaving;       /* of a shared one: its fence here is destroyed */
    uint64_t left;         /* ... when so many submissions had been handed over */
};

struct fence {
    struct object object;
    struct d3dkmt_process *process;
    struct device *device;
    struct list link; /* in device->fences */
    struct fence_page *page;
    volatile uint64_t *value; /* as memory says, which the client and the GPU may write */
    uint64_t client_address, va;
    unsigned uses; /* by items of queues, and by the paging queue that it is of */
    bool is_destroyed;
    bool is_paging, is_progress; /* of a paging queue; of a hardware queue */
    bool keeps_value_on_loss;
    bool is_wait_only, is_signal_only; /* NoSignal, NoWait */
};

/* A client's event, by the number that its library has given it. */
struct event {
    struct list link; /* of the process */
    struct d3dkmt_process *process;
    uint64_t number;
    uint64_t sets;  /* of which the library has not been told */
    unsigned users; /* who may still set it */
    NTSTATUS end;   /* what the library is told when nobody does any more */
};

/* D3DDDI_CPU_NOTIFICATION: who signals it sets an event. */
struct notification {
    struct object object;
    struct device *device;
    struct list link; /* of the device */
    struct event *event;
};

/* A handle of a keyed mutex. */
struct keyed_mutex {
    struct object object;
    struct d3dkmt_process *process;
    struct list link; /* of the process */
    struct shared *shared;
};

/* Private data of a call, in or out. */
struct private_data {
    VOID *data;
    UINT bytes;
};

/* A range of the address space: reserved by the client, or where part of an allocation is. */
struct va_range {
    uint64_t start, end;
    struct allocation *allocation;    /* NULL: reserved, or a page of fences */
    struct paging_operation *mapping; /* not NULL while the manager maps it */
    bool is_unmapping;
};

struct va_list {
    struct va_range *ranges; /* ascending, disjoint */
    size_t count, capacity;
};

struct allocation {
    struct object object;
    struct d3dkmt_process *process;
    struct device *device;
    struct resource *resource; /* NULL: none */
    struct list link;          /* in device->allocations */
    struct list resource_link, grave_link;
    struct list memory_link; /* in memory->openings */
    struct memory *memory;   /* its own, or one of a shared resource */
    struct memory own;
    struct vidmm_allocation *handle; /* the memory's */
    uint64_t bytes;                  /* a page multiple */
    unsigned residency;              /* references that the client has, or has asked for */
    unsigned requests;               /* of these: requests that have not ended */
    unsigned demoted;                /* of these: taken from the client for a while (demote.c) */
    unsigned named;                  /* times that a list names it, while it is looked at */
    unsigned evict_later;            /* references to be given up when those have ended */
    unsigned queued;                 /* times that items of queues name it */
    unsigned locks;
    uint64_t lock_address; /* where the client sees it; 0: nowhere */
    uint64_t lock_pages;
    uint64_t *client_pages; /* over the client's own memory; NULL: not */
    uint64_t client_page_count, client_address;
    bool is_destroyed;
    bool waits_for_queues; /* ... when the queues of its device are empty */
    bool is_dead;          /* the manager has been told */
    bool is_offered;
    bool has_pages;    /* the manager has the client's pages */
    bool stops_device; /* shared, and about to be closed: counted in device->closing */
};

struct resource {
    struct object object;
    struct device *device;
    struct list link, allocations;
    struct shared *shared; /* NULL: it is not */
};

struct paging_queue {
    struct object object;
    struct device *device;
    struct list link;
    struct fence *fence;
    struct list operations; /* that have not ended, or stand behind one that has not */
    uint64_t last_value;
};

/* Something that a paging queue was asked for. */
struct paging_operation {
    struct list link;
    struct paging_queue *queue; /* NULL: it restores */
    uint64_t value;
    bool has_ended, is_asking;
    NTSTATUS status;
    struct list starved_link;
    uint64_t releases; /* of the front, when it was asked for last */
    uint64_t starved_number;
    unsigned demotions; /* times that others gave way to it */
    bool was_starved, is_given_up;
    bool makes_way;  /* others have been demoted for it */
    bool is_restore; /* takes demoted references again: of no queue, and no client waits for it */
    struct vidmm_allocation *reclaimed; /* NULL: it is no reclaim */
    /* What ends with it. */
    struct d3dkmt_process *process;
    struct device *device;
    uint64_t mapped_va;           /* of a mapping; 0: none */
    struct vidmm_map_request map; /* ... and how to ask for it again */
    uint64_t manager_value;       /* of the manager's fence */
    unsigned count, room;
    struct vidmm_allocation **handles;
    struct allocation *allocations[]; /* made resident */
};

enum item_kind { ITEM_WORK, ITEM_WAIT, ITEM_SIGNAL, ITEM_TILES };

struct item {
    struct list link;
    struct context *context;
    enum item_kind kind;
    uint64_t sequence;
    uint64_t number; /* of a running one: of all submissions when it was handed over */
    size_t bytes;
    bool is_any;
    /* Waits and signals. */
    unsigned count;
    struct fence **fences;
    uint64_t *values;
    /* Signals that set events, and no fences. */
    unsigned event_count;
    struct event **events;
    /* Work. */
    struct vidmm_virtual_work work;
    bool is_null;
    struct fence *progress; /* of the hardware queue that it goes to; NULL: of none */
    uint64_t progress_id;
    /* Tile updates. */
    struct vidmm_tile_operation *tiles;
    struct allocation **pools; /* of the tiles that have one */
    unsigned tile_count, pool_count;
};

struct context {
    struct object object;
    struct device *device;
    struct list link;
    struct vidmm_context *handle;
    struct list queue;   /* items that have not been handed over */
    struct list running; /* items that the manager has */
    uint64_t queued;     /* items so far; the sequence of the last */
    INT priority;
    bool is_for_queues;        /* made with HwQueueSupported, on a node that has them */
    bool is_null;              /* made with NullRendering */
    struct hw_queue *hw_queue; /* NULL: none */
    /*
     * The client's context: itself, or, of a further one, which has no handle, the one whose other
     * hardware queue it is for. Further ones stand in front of it in device->contexts.
     */
    struct context *first;
};

/* The queue that all work of its context goes to. */
struct hw_queue {
    struct object object;
    struct context *context; /* the client's, or a further one */
    struct fence *fence;     /* of its progress */
    uint64_t last_id;        /* the value that its last submission gives the fence */
};

struct device {
    struct object object;
    struct d3dkmt_process *process;
    struct list link;
    struct vidmm_device *handle;
    struct list contexts, paging_queues, fences, notifications, allocations, resources;
    bool is_lost, is_out_of_memory;
    unsigned demoted;   /* references taken from it: while there are any, no work goes */
    uint64_t last_work; /* number of the submission, of all, that was handed over last */
    unsigned closing;   /* allocations that are closed when nothing runs: no work goes meanwhile */
    bool wants_idle;    /* it is empty, and counted in the front's wants_idle */
};

struct adapter_opening {
    struct object object;
};

struct d3dkmt_process {
    struct d3dkmt *front;
    void *client;
    struct list link;
    struct vidmm_process *handle;
    struct handle_slot *slots;
    uint32_t slot_count, free_slot; /* 0: none is free; slot 0 is nobody's */
    uint64_t handle_count;
    struct list devices, fence_pages;
    struct va_list reserved, mapped;
    struct list event_waits; /* of the CPU that hold no call up: struct cpu_wait */
    struct list events;
    unsigned event_count;
    struct list keyed_mutexes;
    unsigned pending; /* callbacks of the manager that will come */
    /* By group (enum vidmm_budget_group). */
    uint64_t budget[2], reservation[2];
    D3DKMT_HANDLE trims[MOST_TRIM_NOTICES]; /* devices of registrations; 0: free */
    unsigned shared_count; /* resources that it has made, and that are there: it stays for them */
    unsigned file_count;   /* files that it has made, and that are there */
    bool is_closed;
    bool is_gone;    /* and nothing is left but those */
    bool wants_idle; /* its devices are, and so is it */
    void (*gone)(void *context);
    void *gone_context;
};

struct d3dkmt {
    const struct base_services *services;
    struct d3dkmt_config config;
    struct list processes, waiting; /* calls that wait */
    struct list starved;            /* requests for residency that found no room */
    uint64_t handed_over;           /* submissions, so far */
    uint64_t releases;              /* references given up, work ended, allocations destroyed */
    struct list graves;             /* allocations that are destroyed and have not gone */
    /* Objects that are: by their names, their global handles, their titles. */
    struct shared_index {
        struct list chains[SHARED_CHAINS];
    } by_name, by_global, by_title;
    struct list files;       /* of those */
    uint64_t shared_objects; /* so far */
    unsigned wants_idle;     /* destructions that lack its idleness alone: no work is handed over */
    unsigned trim_count;     /* registrations for notices to trim */
    bool has_changed, is_pumping;
    struct d3dkmt_statistics statistics;
};

typedef NTSTATUS d3dkmt_handler(struct d3dkmt_call *call, void *arguments);

/* The call has not ended: the handler returns this, having set call->again. */
#define D3DKMT_WAITS ((NTSTATUS)0x7ffffff0)

/* ---- handle.c ---- */

/* STATUS_NO_MEMORY: also when the process has MOST_HANDLES. */
NTSTATUS handle_give(struct d3dkmt_process *process, struct object *object, enum object_type type);
void handle_take(struct d3dkmt_process *process, struct object *object);
/* NULL: it is no handle of the process's, or of another kind of object. */
void *handle_find(struct d3dkmt_process *process, D3DKMT_HANDLE handle, enum object_type type);
/* The same for who destroys it. */
void *handle_find_going(struct d3dkmt_process *process, D3DKMT_HANDLE handle,
                        enum object_type type);

/* ---- process.c ---- */

/* Everything of closed processes that can go now. */
bool processes_bury(struct d3dkmt *front);

/* ---- device.c ---- */

/* Contexts, queues, fences and allocations of the device go as far as they can; true: all gone. */
bool device_empty(struct device *device);
void device_free(struct device *device);

/* ---- hw_queue.c ---- */

/* Nothing of its context is with the GPU. A further context goes with its queue. */
void hw_queue_free(struct hw_queue *queue);

/* ---- allocation.c ---- */

void allocation_begin_destroy(struct allocation *allocation, bool waits_for_queues);
/* True: it has gone, and is freed. */
bool allocation_bury(struct allocation *allocation);
void resource_free(struct resource *resource);

/* Gives an empty one with a handle. */
NTSTATUS resource_create(struct device *device, struct resource **out_resource);
/* The device opens a memory that another one has made; gives its handle. */
NTSTATUS allocation_open(struct device *device, struct resource *resource, struct memory *memory,
                         D3DKMT_HANDLE *out_handle);
/* Other devices have it, or may get it by an NT handle. */
bool allocation_is_had_by_others(const struct allocation *allocation);

/* ---- shared.c ---- */

void shared_init(struct d3dkmt *front);
/* Gives an object with one user. STATUS_NO_MEMORY. */
NTSTATUS shared_create(struct d3dkmt *front, enum object_type type, struct shared **out_shared);
/* Of a resource: what it is made of. STATUS_NO_MEMORY: the object is to be dropped. */
NTSTATUS shared_describe(struct shared *shared, struct d3dkmt_process *creator,
                         const D3DKMT_CREATEALLOCATION *arguments);
/* By what the embedder's NT handle names, or by a global handle; NULL: there is none. */
struct shared *shared_find(struct d3dkmt *front, enum object_type type, uint64_t nt_object,
                           D3DKMT_HANDLE global);
/* By the name that somebody has given it; NULL: there is none. */
struct shared *shared_find_titled(struct d3dkmt *front, const struct title *title);
/* It has an NT handle, and the name until there is none any more. STATUS_NO_MEMORY. */
NTSTATUS shared_give_title(struct shared *shared, const struct title *title);
/* Any process opens it that knows shared->global. */
void shared_give_global(struct shared *shared);
void shared_keep(struct shared *shared);
void shared_drop(struct shared *shared);
/* True: who has it is the last, and no NT handle names it. */
bool shared_is_last(const struct shared *shared, const struct memory *memory);
/* The manager's allocation goes. */
void memory_end(struct memory *memory);
/* A file of so many pages. STATUS_NO_MEMORY: also when the process has most_files. */
NTSTATUS shared_file_open(struct d3dkmt_process *process, uint64_t count,
                          struct shared_file **out_file);
/* The process is gone: nobody pays for its files. */
void shared_files_forget(struct d3dkmt_process *process);

/* ---- residency.c ---- */

/* STATUS_NO_MEMORY. count: allocations that it names. */
NTSTATUS paging_begin(struct paging_queue *queue, unsigned count,
                      struct paging_operation **out_operation);
/* The same of no queue, for references that are taken again. */
NTSTATUS paging_begin_for(struct device *device, unsigned count,
                          struct paging_operation **out_operation);
/* The operation is not to be: it has not been seen by anybody. */
void paging_drop(struct paging_operation *operation);
/* Gives its value; from here on it ends by paging_done(). */
uint64_t paging_commit(struct paging_operation *operation);
void paging_done(void *operation, NTSTATUS status, uint64_t needed, uint64_t available);
/* Starved requests are asked for again, where that may help. */
bool starved_pump(struct d3dkmt *front);
/* So many references go back to the manager; none of a request that is under way. */
void allocation_evict(struct allocation *allocation, unsigned count);
/* The same of references that the client still counts as its own. */
void allocation_give_back(struct allocation *allocation, unsigned count);
/* What the manager has answered to an operation that has been committed. */
void paging_answered(struct paging_operation *operation, NTSTATUS status);
/* A restoring operation stands in the line of the starved, at the end. */
void paging_wait_for_room(struct paging_operation *operation);

/* demote.c: before the manager is asked, for what the device may find elsewhere. */
void paging_make_way(struct paging_operation *operation);

/* ---- budget.c ---- */

/* Processes, devices or reservations have changed. */
void budgets_share(struct d3dkmt *front);
/* False: there is no such group. */
bool budget_find_group(D3DKMT_MEMORY_SEGMENT_GROUP wanted, enum vidmm_budget_group *out_group);
/* The process's, in bytes; of one that was given none, all of the group. */
uint64_t budget_of(const struct d3dkmt_process *process, enum vidmm_budget_group group);
/* Bytes of local memory that the process holds beyond its budget. */
uint64_t budget_excess(const struct d3dkmt_process *process);
void trims_forget_device(struct d3dkmt_process *process, D3DKMT_HANDLE device);

/* ---- range.c ---- */

/* The number of the first range that ends behind the address. */
size_t va_first_behind(const struct va_list *list, uint64_t address);
struct va_range *va_find(struct va_list *list, uint64_t start, uint64_t end);
/* A free range in [low, high); 0: there is none. */
uint64_t va_choose(struct d3dkmt_process *process, uint64_t low, uint64_t high, uint64_t bytes,
                   uint64_t alignment);
bool va_add(struct d3dkmt_process *process, struct va_list *list, const struct va_range *range);
void va_remove(struct va_list *list, struct va_range *range);
void va_forget_allocation(struct d3dkmt_process *process, const struct allocation *allocation);
/* Unmaps it. False: a mapping of it is being made, which has to end first. */
bool va_unmap_allocation(struct d3dkmt_process *process, const struct allocation *allocation);
/* False: a mapping in the range is being made. Those within are unmapped; what: NULL, all. */
bool va_unmap(struct d3dkmt_process *process, uint64_t start, uint64_t end,
              const struct allocation *what);
void va_free_lists(struct d3dkmt_process *process);
/* [va_fences_start(), va_own_start()) is for pages of fences alone. */
uint64_t va_fences_start(const struct d3dkmt *front);
uint64_t va_own_start(const struct d3dkmt *front);
uint64_t va_own_end(const struct d3dkmt *front);

/* ---- fence.c ---- */

/* Gives a fence without a handle, mapped or being mapped (page->is_mapped). STATUS_NO_MEMORY. */
NTSTATUS fence_create(struct device *device, uint64_t value, struct fence **out_fence);
/* The same of a fence that is there already; keeps it. */
NTSTATUS fence_open(struct device *device, struct shared *shared, struct fence **out_fence);
/* Shared, with that value; who opens it in a device keeps it, and it is to be dropped here. */
NTSTATUS fence_share(struct d3dkmt_process *process, uint64_t value, struct shared **out_shared);
/* False: not yet. NULL: another call has destroyed it, which the status says. */
bool fence_is_there(struct d3dkmt_process *process, D3DKMT_HANDLE handle, struct fence **out_fence,
                    NTSTATUS *out_status);
/* By flags of whoever makes or opens it; STATUS_INVALID_PARAMETER: they contradict each other. */
NTSTATUS fence_set_flags(struct fence *fence, D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags);
/* STATUS_ACCESS_DENIED: it may not be waited for, or not be signalled. */
static inline NTSTATUS fence_refusal(const struct fence *fence, bool is_signal)
{
    return (is_signal ? fence->is_wait_only : fence->is_signal_only) ? STATUS_ACCESS_DENIED
                                                                     : STATUS_SUCCESS;
}
void fence_set(struct fence *fence, uint64_t value);
/* The system's to signal and to destroy: no client does. */
static inline bool fence_is_of_queue(const struct fence *fence)
{
    return fence->is_paging || fence->is_progress;
}
void fence_unuse(struct fence *fence);
/* No handle leads to it any more: it goes when nobody uses it. */
void fence_destroy(struct fence *fence);
/* The device is lost: the client learns it from its fences. */
void device_lose(struct device *device, bool is_out_of_memory);
/* Ends those whose values are reached, or whose fences have gone; true: one has ended. */
bool event_waits_look(struct d3dkmt_process *process);
void event_waits_end(struct d3dkmt_process *process);
/* Pages of shared fences that are destroyed here go when nothing runs that ran before. */
bool fence_pages_leave(struct d3dkmt_process *process);
/* Unmaps and releases the pages of fences; true: there are none any more. */
bool fence_pages_gone(struct d3dkmt_process *process);

/* ---- event.c ---- */

/*
 * Gives one with a user. STATUS_INVALID_PARAMETER: the number is none, or another's.
 * STATUS_NO_MEMORY: also when the process has D3DKMT_MOST_EVENTS.
 */
NTSTATUS event_create(struct d3dkmt_process *process, uint64_t number, struct event **out_event);
void event_keep(struct event *event);
/* The last user says what the library is told behind all that was set. */
void event_leave(struct event *event, NTSTATUS status);
void event_set(struct event *event);
/* The call ends when the event has been set, once for each time, or nobody does any more. */
NTSTATUS event_collect(struct d3dkmt_call *call, uint64_t number);
/* They have no users. */
void events_free(struct d3dkmt_process *process);
/* Gives its handle in hSyncObject. */
NTSTATUS notification_create(struct device *device, D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *arguments);
/* Signals that are queued set its event all the same. */
void notification_destroy(struct notification *notification);

/* ---- keyed_mutex.c ---- */

/* Gives a handle. The data is that of a mutex that has none. STATUS_NO_MEMORY. */
NTSTATUS keyed_mutex_open(struct d3dkmt_process *process, struct shared *shared,
                          const struct private_data *initial, D3DKMT_HANDLE *out_handle);
/* Whose handle held it leaves it abandoned. */
void keyed_mutex_close(struct keyed_mutex *mutex);
void keyed_mutexes_close(struct d3dkmt_process *process);

/* ---- queue.c ---- */

/* Everything that the context has queued and not handed over is dropped. */
void context_drop_queue(struct context *context);
bool contexts_pump(struct d3dkmt *front);
/* The manager has work of the device. */
bool device_runs(const struct device *device);
/* Some context of the device has items that were not handed over. */
bool device_has_queued(const struct device *device);

/* ---- For every file ---- */

/* A copy of what the call needs later goes with it, and is freed when it has ended. */
static inline NTSTATUS call_wait(struct d3dkmt_call *call, bool (*again)(struct d3dkmt_call *call),
                                 void *state, size_t state_bytes)
{
    call->again = again;
    call->state = state;
    call->state_bytes = state_bytes;
    return D3DKMT_WAITS;
}

/* As D3DKMT_ACQUIREKEYEDMUTEX has it; said before the call waits. */
static inline void call_end_by(struct d3dkmt_call *call, int64_t timeout)
{
    const struct d3dkmt_board *board = &call->process->front->config.board;
    const enum d3dkmt_clock clock = timeout < 0 ? D3DKMT_CLOCK_STEADY : D3DKMT_CLOCK_SYSTEM;

    call->clock = clock;
    call->end_by = timeout;
    if (timeout < 0) {
        const int64_t now = board->now(board->context, clock);

        call->end_by = timeout < now - INT64_MAX ? INT64_MAX : now - timeout;
    }
}

/* Its time is over. */
static inline bool call_is_late(const struct d3dkmt_call *call)
{
    const struct d3dkmt_board *board = &call->process->front->config.board;

    return call->clock && board->now(board->context, call->clock) >= call->end_by;
}

static inline bool call_end(struct d3dkmt_call *call, NTSTATUS status)
{
    call->status = status;
    return true;
}

static inline void *front_alloc(struct d3dkmt *front, size_t bytes)
{
    return base_alloc(front->services, bytes);
}

static inline void front_free(struct d3dkmt *front, void *memory, size_t bytes)
{
    base_free(front->services, memory, bytes);
}

static inline void front_tell(struct d3dkmt *front, const struct d3dkmt_deed *deed)
{
    if (front->config.witness)
        front->config.witness(front->config.witness_context, deed);
}

static inline void front_tap(struct d3dkmt *front, enum d3dkmt_moment moment, void *client,
                             const struct d3dkmt_call *call)
{
    if (front->config.tap)
        front->config.tap(front->config.tap_context, moment, client, call);
}

static inline void front_tell_of(struct d3dkmt *front, enum d3dkmt_deed_kind kind,
                                 struct vidmm_allocation *allocation, NTSTATUS status)
{
    front_tell(front, &(struct d3dkmt_deed){
                          .kind = kind, .count = 1, .allocations = &allocation, .status = status});
}

static inline void front_changed(struct d3dkmt *front)
{
    front->has_changed = true;
}

/* Of a device or a process: nothing is missing for its end but that the manager is idle. */
static inline void front_want_idle(struct d3dkmt *front, bool *wants_idle, bool wanted)
{
    if (*wants_idle != wanted)
        front->wants_idle += wanted ? 1 : -1u;
    *wants_idle = wanted;
}

#define D3DKMT_HANDLER(name, type)                                                                 \
    NTSTATUS d3dkmt_##name(struct d3dkmt_call *call, type *arguments);
THUNK_FUNCTIONS(D3DKMT_HANDLER)
#undef D3DKMT_HANDLER

#endif
