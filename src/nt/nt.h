/*
 * nt: the kernel that a driver imports from, for drivers linked into the process.
 *
 * Place      nt. Uses base, machine and the WDK headers; the host of a driver creates it. The
 *            functions that drivers call are declared in wdm.h, under their WDK names and with
 *            their calling convention, and defined here.
 * Model      A struct nt is the kernel as one driver sees it: its pool, its IRQL, its machine.
 *            Imported functions have no argument to find it by, so there is a current one for each
 *            thread, and nt_bind() sets it: before every call into a driver, if a process runs
 *            several. This is the only mutable global of the bench.
 *
 *            IRQL is a number that the host raises before it calls a driver where the contract says
 *            so; spin locks raise it too. There is one processor, so a spin lock that is held when
 *            it is acquired is a deadlock.
 *
 *            A driver that breaks a rule of these services is stopped by a bug check, with the code
 *            and parameters of the documented one. Threads of the driver: threads/scheduler.h.
 * Ownership  nt_create() gives the kernel; services, machine and host are borrowed for its life.
 *            nt_destroy() frees the leaks of the driver: list them before.
 * Errors     NULL from nt_create(). A bug check goes to the host, which must not return from it.
 * Units      Bytes.
 * Source     Public documentation of the functions and of bug checks 0x9, 0xA, 0xF, 0x10, 0xC2.
 */
#ifndef DRYDOCK_NT_NT_H
#define DRYDOCK_NT_NT_H

#include "base/list.h"
#include "base/services.h"
#include "machine/machine.h"

#include <wdm.h>

#include <stdbool.h>
#include <stdint.h>

struct nt;

/* How a driver ended the machine. */
struct nt_crash {
    uint32_t bug_check;
    uint64_t parameters[4];
    const char *what;  /* "access violation: reading 0x0 at mygpu.sys!Foo+0x1f" */
    const char *state; /* frames of the image and registers, in lines; may be "" */
};

struct nt_host {
    void *context;
    /* A line of DbgPrint or DbgPrintEx, borrowed. NULL: nobody reads. */
    void (*log)(void *context, uint32_t component, uint32_t level, const char *text);
    /* The driver has stopped the machine. Must not return; a host may longjmp() out of the run. */
    void (*bug_check)(void *context, uint32_t code, const uint64_t parameters[4]);
    /*
     * The driver called an import that there is none of. It gets STATUS_NOT_IMPLEMENTED. NULL:
     * nobody cares.
     */
    void (*missing)(void *context, const char *name);
    /* The driver asked the system of the bench for something, which was refused. NULL: the same. */
    void (*trespass)(void *context, const char *what);
    /*
     * The driver has stopped the machine without a call of KeBugCheckEx: by a fault, or an
     * exception that nobody handled. Must not return. NULL: bug_check is called.
     */
    void (*crash)(void *context, const struct nt_crash *crash);
    /* Whether a fault at this address tells the host something: then it goes to its own handler. */
    bool (*owns_address)(void *context, const void *address);
    /*
     * Whether code runs that is neither the driver's nor the bench's, whose faults are not looked
     * into. NULL: never.
     */
    bool (*runs_gpu_model)(void *context);
    /* The driver's function that is being called, a literal; NULL: none. NULL: nobody knows. */
    const char *(*running)(void *context);
    /*
     * The driver broke a rule of a service, in a way that Windows does not stop the machine for: a
     * sentence. It goes on. NULL: nobody cares.
     */
    void (*misuse)(void *context, const char *text);
    /*
     * A thread waits, and no event can end the wait. The text names each waiting thread, its object
     * and since when it waits. Must not return, like bug_check.
     */
    void (*deadlock)(void *context, const char *text);
    /*
     * The driver is about to have pages of the machine mapped for the CPU, by an MDL of its own or
     * by their numbers. NULL: nobody cares.
     */
    void (*maps)(void *context, const uint64_t *pages, uint64_t count);
    /*
     * The driver asked the registry for a value, the system for a device, or a port for a number,
     * that is not there: the word of the surroundings (workload/case/surroundings.h) that would
     * give it, "value:Foo=NUMBER", "device:\\Device\\X", "port:0x60=NUMBER". NULL: nobody cares.
     */
    void (*in_vain)(void *context, const char *word);
};

/* Machine may be NULL for a driver without registers. */
struct nt *nt_create(const struct base_services *services, struct machine *machine,
                     const struct nt_host *host);
void nt_destroy(struct nt *nt);

/*
 * Make this the kernel of the calling thread; NULL for none. Returns the kernel that was bound
 * before.
 */
struct nt *nt_bind(struct nt *nt);

/* ---- Images ---------------------------------------------------------------------------------- */

struct boundary;
struct image;

/*
 * The driver is this image, borrowed like its name: its exceptions are dispatched by its tables.
 * NULL: they are not. Behind nt_set_boundary().
 */
void nt_set_image(struct nt *nt, const struct image *image, const char *name);

/* The driver is an image behind this boundary, which is borrowed; NULL: it is linked in. */
void nt_set_boundary(struct nt *nt, struct boundary *boundary);

/*
 * Imports of the image that there are not. Their address is a page that nobody may touch: a call
 * goes to call(), whatever its arguments; an access, as of a variable, is told by the name.
 */
struct nt_lacking {
    const struct nt_lacking *next;
    const char *name;
    const void *page; /* NT_LACKING_BYTES of them, for a variable is read at offsets, too */
    void *call;       /* of the boundary */
};
#define NT_LACKING_BYTES 0x10000u

/* The image's, borrowed while it is there; NULL: it lacks none. */
void nt_set_lacking(struct nt *nt, const struct nt_lacking *first);
const struct nt_lacking *nt_find_lacking(const struct nt *nt, const void *address);

/* How the bench calls a function that the driver gave. NULL: no memory, or none was given. */
void *nt_driver_function(struct nt *nt, const void *function);

/* Each call of the one above is told, for who follows what a driver does. NULL: nobody wants it. */
void nt_watch_entries(struct nt *nt, void (*tell)(void *context), void *context);

/*
 * The bus driver's device object of the board, for DxgkDdiAddDevice. Requests for configuration
 * space sent to it are answered.
 */
PDEVICE_OBJECT nt_physical_device(struct nt *nt);

/* The host that loads the driver now, for the function that registers it; NULL: none does. */
void nt_set_loading(struct nt *nt, void *loading);
void *nt_loading(const struct nt *nt);

/* The driver that is loaded is display-only, and presents with this function; NULL: it has none. */
void nt_set_display_only(struct nt *nt, const void *present);
bool nt_is_display_only(const struct nt *nt, const void **out_present);

/* A function of the bench as the driver may call it; NULL: no memory. */
const void *nt_function_for_driver(struct nt *nt, const void *function);

/*
 * From now on one of four accesses to a register, by the functions for it, takes up to so many ns.
 * What happens meanwhile is as in KeStallExecutionProcessor: interrupts come where the driver's
 * level lets them. 0: accesses take no time, as at first.
 */
void nt_set_register_time(struct nt *nt, uint64_t most_ns);

/* The kernel of the calling thread; NULL: none is bound. */
struct nt *nt_current_or_none(void);

/*
 * The driver's object, made anew for a DriverEntry (that of the image, if there is one).
 * Registering takes the driver over; giving back undoes that.
 */
DRIVER_OBJECT *nt_make_driver_object(struct nt *nt, const void *entry);
DRIVER_OBJECT *nt_driver_object(struct nt *nt);
void nt_take_driver_over(struct nt *nt);
void nt_give_driver_back(struct nt *nt);

/*
 * The driver goes: by its own Unload, if it has put one in the object since it was taken over, and
 * else by the graphics kernel's. That, and DxgkUnInitialize(), end in nt_finish_unload(), which
 * calls finish once. False: no memory.
 */
bool nt_unload_driver(struct nt *nt, void (*finish)(void *context), void *context);
void nt_finish_unload(struct nt *nt);

/*
 * The function that registers a driver, for those that ask the graphics kernel's device for it.
 */
void nt_set_registrar(struct nt *nt, const void *function, const void *display_only);

/*
 * Functions that the image calls and that are not services of the kernel: reports name them. Lent
 * until the next call. The names of parameters are separated by commas, and a pointer's has a star
 * before it; NULL: they are not known.
 */
struct nt_callback {
    const char *name;
    const void *function;
    const char *parameters;
};
void nt_set_callbacks(struct nt *nt, const struct nt_callback *callbacks, size_t count);
/* ---- Surroundings ---------------------------------------------------------------------------- */

/* The name of the device for Plug and Play, instead of its PCI function's. Borrowed. */
void nt_set_hardware_id(struct nt *nt, const char *id);

/*
 * A value in the key of the service, and in that of the driver: of the name behind the last
 * backslash of the path, in a key below them; from the root, if the path begins with a backslash.
 * type: REG_DWORD, ... STATUS_NO_MEMORY.
 */
NTSTATUS nt_set_driver_value(struct nt *nt, const char *path, ULONG type, const void *data,
                             ULONG bytes);

/* A device of another driver. It answers a request with the bytes that were sent. */
struct nt_neighbour {
    char path[256];  /* "\\DosDevices\\RPIQ" */
    bool has_answer; /* the number stands at the offset of every answer */
    uint32_t offset, number;
};

NTSTATUS nt_add_neighbour(struct nt *nt, const struct nt_neighbour *is); /* STATUS_NO_MEMORY */

/* What a port says until the driver writes there; without it ones. STATUS_NO_MEMORY. */
NTSTATUS nt_set_port(struct nt *nt, uint16_t port, uint32_t value);

/* The key of the driver's installation, as DXGK_DEVICE_INFO names it; a constant. */
UNICODE_STRING nt_device_registry_path(void);

/* For nt_host.missing. */
void nt_report_missing(struct nt *nt, const char *name);
/* For nt_host.trespass. */
void nt_report_trespass(struct nt *nt, const char *what);
/* For nt_host.in_vain: a name behind "value:", "device:" ... */
void nt_report_in_vain(struct nt *nt, const char *kind, PCUNICODE_STRING name, const char *end);
/* For nt_host.misuse: a sentence about a broken rule. */
void nt_misuse(struct nt *nt, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- Threads --------------------------------------------------------------------------------- */

/*
 * A call of the driver waits, a thread of the driver's own runs, or it holds a spin lock: the bench
 * must not begin anything else with the driver now, other than interrupts and DPCs.
 */
bool nt_is_amid_call(const struct nt *nt);

/*
 * Where the image was at its last bug check, a line for each of its frames; "": it has made none.
 */
const char *nt_stopped_at(const struct nt *nt);

/* "PAGE_FAULT_IN_NONPAGED_AREA"; "": it is none that is known here. */
const char *nt_bug_check_name(uint32_t code);

/*
 * The number of the driver's thread that runs, or did when it stopped the machine; 0: a call of the
 * driver.
 */
uint32_t nt_running_thread(const struct nt *nt);

/*
 * Runs function(context) as an event of the machine, as soon as nothing is amid. Zeroed memory, or
 * one that was cancelled or has run; a second time before it has run is one with the first.
 */
struct nt_deferred {
    struct list link;
    void (*function)(void *context);
    void *context;
    bool is_queued;
};
void nt_defer(struct nt *nt, struct nt_deferred *deferred, void (*function)(void *context),
              void *context);
void nt_cancel_deferred(struct nt *nt, struct nt_deferred *deferred);

/*
 * Behind the driver's last call: a sentence for each thread that still runs, timer that is set,
 * work that is queued and handle that is open.
 */
void nt_for_each_leftover(struct nt *nt, void (*tell)(void *context, const char *text),
                          void *context);

/* Threads end where they stand. Also done by nt_set_boundary() and nt_destroy(). */
void nt_end_threads(struct nt *nt);

/* Behind a longjmp() out of the run: no call is under way, and time has ended. */
void nt_abandon(struct nt *nt);

/*
 * In place of nt_destroy(), where its memory is freed with all of a run: its host addresses. The
 * machine is gone.
 */
void nt_give_up_addresses(struct nt *nt);

/* ---- IRQL ------------------------------------------------------------------------------------ */

/* The IRQL of a device's interrupt routine. */
#define NT_DEVICE_IRQL 5

/* The vector of its line, or of its first message; the others follow. */
#define NT_FIRST_VECTOR 0x50u

/* Set it for the time of a call into the driver; returns the IRQL before. */
KIRQL nt_set_irql(struct nt *nt, KIRQL irql);
KIRQL nt_irql(const struct nt *nt);

/* Regions without APCs that the running thread is in, mutexes and spin locks that it has. */
uint32_t nt_held_by_thread(const struct nt *nt);

/* Spin locks that the driver holds now. */
uint32_t nt_held_lock_count(const struct nt *nt);

/* As though those beyond so many had been released: their driver keeps them, and was told so. */
void nt_forget_locks(struct nt *nt, uint32_t count);

/* ---- Interrupts ------------------------------------------------------------------------------ */

/*
 * The device's interrupt, by line or by this message, at NT_DEVICE_IRQL: runs the routines that the
 * driver has connected itself, the first that was connected first, until one says that it was its
 * own. False: none did.
 */
bool nt_interrupt(struct nt *nt, uint32_t message);

/* ---- Pool ------------------------------------------------------------------------------------ */

/*
 * Mappings that the driver has not ended, and MDLs whose pages it has not unlocked or given back.
 */
uint64_t nt_mapping_count(const struct nt *nt, uint64_t *out_bytes);
uint64_t nt_held_list_count(const struct nt *nt, uint64_t *out_bytes);

/* Bytes that the driver has taken from the system: pool, contiguous memory, pages of MDLs. */
uint64_t nt_system_bytes(const struct nt *nt);

/* Where the pages lie that nobody may touch. Guards cost a few microseconds a block, and 4 KiB. */
enum nt_pool_guard {
    NT_POOL_CHEAP, /* nowhere; small blocks have no pages of their own, and no physical address */
    NT_POOL_OPEN,  /* nowhere near: behind a block's pages are 64 KiB that nobody misses */
    NT_POOL_GUARD_END,   /* behind the block's last byte (of 16): a write too far faults */
    NT_POOL_GUARD_BEGIN, /* before its first byte */
};

/* For blocks that are allocated from now on; a kernel begins with NT_POOL_CHEAP. */
void nt_pool_set_guard(struct nt *nt, enum nt_pool_guard guard);

/*
 * The block that a fault's address belongs to, or just misses: "8 bytes behind pool block 12 (100
 * bytes, tag 'Gpu0')". False: nothing. May run in a signal handler.
 */
bool nt_pool_explain(const struct nt *nt, const void *address, char *text, size_t size);

/*
 * All bytes that a driver can have at a time; an allocation beyond fails, as in a kernel without
 * memory. The host has that much.
 */
#define NT_POOL_MOST_BYTES (UINT64_C(2) << 30)

uint64_t nt_pool_live_blocks(const struct nt *nt);
uint64_t nt_pool_live_bytes(const struct nt *nt);

/*
 * What may be paged out and holds the address, while it is away: the IRQL has been DISPATCH_LEVEL
 * or above, and nobody has come to it at a lower one since. For signal handlers. NULL: no kernel.
 */
struct nt_paged {
    char name[64]; /* "paged pool block 12 (tag 'Gpu0')", "section PAGE" */
    uint64_t offset, bytes;
};
bool nt_paging_explain(const struct nt *nt, const void *address, struct nt_paged *out);

/* nt_pool_explain(), and the memory of the client. */
bool nt_explain_address(const struct nt *nt, const void *address, char *text, size_t size);

/*
 * Memory of a client's process, of which pages may be gone: an access to one that is raises
 * STATUS_ACCESS_VIOLATION, as every bad address of a process does. One range at a time; 0: none.
 */
void nt_set_user_memory(struct nt *nt, const void *start, size_t bytes);

/*
 * Memory of a client's process at start, a page boundary, that these pages of the machine are
 * behind: where they are known, an MDL of the driver's may describe it. The list is borrowed. One
 * range at a time; 0 pages: none.
 */
void nt_set_client_pages(struct nt *nt, const void *start, const uint64_t *pfns, uint64_t count);

/*
 * Bytes at copy, which the driver sees, stand for memory of the machine at stands_for, as far
 * behind a page boundary: a service that is asked for the pages of the copy gives those of the
 * machine. One at a time; 0 bytes: none.
 */
void nt_stand_in(struct nt *nt, const void *copy, const void *stands_for, size_t bytes);

/* Allocations ever tried. */
uint64_t nt_pool_allocation_count(const struct nt *nt);

/* The n-th allocation from now on returns NULL, 1 being the next; 0 for none. */
void nt_pool_fail_at(struct nt *nt, uint64_t n);

struct nt_pool_block {
    const void *memory;
    uint64_t bytes;
    uint32_t tag;       /* the first character is in the low byte */
    uint64_t sequence;  /* which allocation it was, from 1 */
    const char *during; /* the function of the driver that was called then, a literal; NULL: none */
};

/* The four characters, with '?' for those that do not print. */
void nt_put_tag(uint32_t tag, char text[5]);

/* Every live block, oldest first: after a driver has been unloaded, its leaks. */
void nt_pool_for_each(const struct nt *nt,
                      void (*callback)(void *context, const struct nt_pool_block *block),
                      void *context);

#endif
