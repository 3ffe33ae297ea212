/*
 * What the files of nt share.
 *
 * Place      nt, private.
 */
#ifndef DRYDOCK_NT_NT_INTERNAL_H
#define DRYDOCK_NT_NT_INTERNAL_H

#include "base/list.h"
#include "nt/nt.h"
#include "nt/devices/object.h"
#include "nt/memory/pages.h"
#include "nt/threads/scheduler.h"

#include <wdm/device.h>

#define NT_STOPPED_BYTES   4096u
#define NT_POOL_BUCKETS    1024u
#define NT_POOL_REMEMBERED 1024u

struct nt_driver {
    DRIVER_OBJECT object;
    DRIVER_EXTENSION extension;
    UNICODE_STRING hardware;
    WCHAR name_room[24], service_room[16], hardware_room[48];
    PDRIVER_UNLOAD graphics_unload; /* in the object when it was taken over; NULL: it was not */
    void (*finish)(void *context);  /* of nt_unload_driver(); NULL: done, or not under way */
    void *finish_context;
};

struct nt {
    const struct base_services *services;
    struct machine *machine;
    struct nt_host host;
    struct boundary *boundary; /* NULL: the driver is linked in */
    const struct image *image; /* the same */
    const char *image_name;
    const struct nt_callback *callbacks;
    size_t callback_count;
    char stopped_at[NT_STOPPED_BYTES]; /* frames of the image at its bug check */
    const void *explained; /* the exception record of a fault in a service, and what to say of it */
    const char *explanation;
    const struct boundary_thread *first_thread; /* of the boundary: none of the driver's */
    KIRQL irql;
    uint32_t held_locks;

    struct nt_scheduler scheduler;
    struct list objects; /* of struct nt_object */
    struct nt_handle *handles;
    uint32_t handle_count;

    struct list blocks;                      /* of struct pool_header, oldest first */
    struct list by_address[NT_POOL_BUCKETS]; /* the same ones */
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t allocation_count;
    uint64_t fail_at; /* allocation_count of the one to fail, 0 for none */
    enum nt_pool_guard pool_guard;
    uint64_t guarded_blocks;                        /* blocks with pages of their own */
    struct nt_pool_block freed[NT_POOL_REMEMBERED]; /* of those, the last ones to be freed */
    uint64_t freed_count;

    struct nt_pages pages;  /* host addresses of pool and mappings */
    struct list mappings;   /* of struct nt_mapping */
    struct list reserved;   /* of struct reserved_range: addresses without pages */
    struct list held_pages; /* of struct nt_held_pages: by MDLs */

    struct nt_key *registry;       /* NULL: nobody asked */
    struct list remove_lock_holds; /* acquisitions */
    struct list interfaces;        /* of struct device_interface: that were registered */
    struct list properties;        /* of IoSetDevicePropertyData() */
    struct list lookasides;        /* of struct nt_lookaside: that the driver has */
    struct list symbolic_links;    /* that the driver made */
    const void *registrar;         /* what registers a driver: DxgkInitialize */
    struct nt_driver driver, bus_driver;
    void *loading;                 /* of nt_set_loading() */
    struct list devices;           /* of struct nt_device: that the driver created */
    struct list requests;          /* of struct request: that it built */
    DEVICE_OBJECT graphics_device; /* \Device\DxgKrnl */
    DEVICE_OBJECT physical_device; /* the bus driver's, of the board */
    struct nt_object physical;     /* counts the references to it */

    /* Host memory that the driver sees in place of pages of the machine. */
    struct {
        uintptr_t start, stands_for;
        size_t bytes;
    } stand_in;
    struct list neighbours;  /* of struct neighbour: devices of other drivers */
    const char *hardware_id; /* of the device; NULL: the usual one */

    uint32_t rand_state; /* of the C run time's rand() */
    uint64_t uuid_count;
    uint64_t trace_providers; /* ever registered */
    uint64_t process[8];      /* stands for the system process */
};

/* A handle to a file object of a neighbour. STATUS_OBJECT_NAME_NOT_FOUND. */
NTSTATUS nt_open_neighbour(struct nt *nt, PCUNICODE_STRING name, HANDLE *out_handle);

/* The one bound to this thread. A driver that runs without one is a mistake of its host. */
struct nt *nt_current(void);

/* What an image that asks for the service by name gets; NULL: there is none. */
const void *nt_export_address(struct nt *nt, const char *name);

/*
 * Bug check codes that the services themselves raise. Parameters are those of the bug check code
 * reference ("Bug Check Code Reference", one page a code); what it calls reserved, and what there
 * is nothing of here (trap frames, tracking structures of the memory manager), is 0.
 */
#define NT_APC_INDEX_MISMATCH                  0x01u
#define NT_IRQL_NOT_GREATER_OR_EQUAL           0x09u
#define NT_IRQL_NOT_LESS_OR_EQUAL              0x0Au
#define NT_MAXIMUM_WAIT_OBJECTS_EXCEEDED       0x0Cu
#define NT_SPIN_LOCK_ALREADY_OWNED             0x0Fu
#define NT_SPIN_LOCK_NOT_OWNED                 0x10u
#define NT_THREAD_NOT_MUTEX_OWNER              0x11u
#define NT_KMODE_EXCEPTION_NOT_HANDLED         0x1Eu
#define NT_SYSTEM_EXIT_OWNED_MUTEX             0x39u
#define NT_TARGET_MDL_TOO_SMALL                0x40u
#define NT_NO_PAGES_AVAILABLE                  0x4Du
#define NT_PFN_LIST_CORRUPT                    0x4Eu
#define NT_ATTEMPTED_SWITCH_FROM_DPC           0xB8u
#define NT_MUTEX_ALREADY_OWNED                 0xBFu
#define NT_SPECIAL_POOL_CORRUPTION             0xC1u
#define NT_BAD_POOL_CALLER                     0xC2u
#define NT_TIMER_OR_DPC_INVALID                0xC7u
#define NT_SYSTEM_PTE_MISUSE                   0xDAu
#define NT_WORKER_THREAD_RETURNED_AT_BAD_IRQL  0xE1u
#define NT_RESOURCE_NOT_OWNED                  0xE3u
#define NT_WORKER_INVALID                      0xE4u
#define NT_ACTIVE_EX_WORKER_THREAD_TERMINATION 0xE9u
#define NT_KERNEL_SECURITY_CHECK_FAILURE       0x139u
#define NT_THREAD_TERMINATE_HELD_MUTEX         0x4000008Au

/* First parameter of NT_PFN_LIST_CORRUPT. */
#define NT_PFN_LIST_IS_WRONG 0x99u
#define NT_PFN_NOT_LOCKED    0x07u /* unlocked more often than locked */

/* First parameter of NT_SYSTEM_PTE_MISUSE. */
#define NT_PTE_WRONG_COUNT   0x02u
#define NT_PTE_WRONG_MAPPING 0x03u
#define NT_PTE_WRONG_PAGE    0x04u
#define NT_PTE_NOT_MAPPED    0x06u
/* And of ranges of addresses that a driver reserves. */
#define NT_PTE_RESERVE_NOTHING     0x100u
#define NT_PTE_FREE_OF_OTHERS      0x101u
#define NT_PTE_FREE_OF_NOTHING     0x102u
#define NT_PTE_FREE_OF_MAPPED      0x103u
#define NT_PTE_MAP_TO_OTHERS       0x104u
#define NT_PTE_MAP_TO_NOTHING      0x105u
#define NT_PTE_MAP_TO_MAPPED       0x107u
#define NT_PTE_UNMAP_OF_OTHERS     0x108u
#define NT_PTE_UNMAP_OF_NOTHING    0x109u
#define NT_PTE_UNMAP_OF_NOT_MAPPED 0x10Bu

/* Fourth parameter of NT_SPECIAL_POOL_CORRUPTION. */
#define NT_SPECIAL_POOL_NEARBY 0x23u
#define NT_SPECIAL_POOL_BEHIND 0x24u

/* First parameter of NT_BAD_POOL_CALLER. */
#define NT_POOL_FREE_TWICE      0x07u
#define NT_POOL_ALLOCATE_IRQL   0x08u
#define NT_POOL_FREE_IRQL       0x09u
#define NT_POOL_FREE_TAG        0x0Au
#define NT_POOL_FREE_ADDRESS    0x46u
#define NT_POOL_FREE_CONTIGUOUS 0x60u
#define NT_POOL_TAG_ZERO        0x9Bu

/* Of buffers of strings: what RtlFreeUnicodeString() frees. */
#define NT_STRING_TAG 0x67727453u /* "Strg" */

/* The tag of who gives none: "None". */
#define NT_POOL_NO_TAG 0x656e6f4eu

/* Of an MDL: "Mdl ". */
#define NT_POOL_MDL_TAG 0x206c644du

/* The memory of an MDL is about to be gone. */
void nt_list_freed(struct nt *nt, const void *memory);

/*
 * The page of the machine that holds an address of the pool. False, and is_pool: there is no
 * machine or no memory, or the block is a small one of a cheap pool.
 */
bool nt_pool_pfn(struct nt *nt, const void *address, bool *out_is_pool, uint64_t *out_pfn);

/* True for an address that a live block, or the pages of its own, hold. */
bool nt_pool_has(const struct nt *nt, const void *address);

/*
 * Where the image called the service that runs; 0: it is called by nobody, or the driver is linked
 * in.
 */
uint64_t nt_caller(const struct nt *nt);

/* In a service: raises the exception of this status in the driver. */
void nt_raise(NTSTATUS status) __attribute__((noreturn));

void nt_callbacks_fini(struct nt *nt);
/* The live block that begins there. */
bool nt_pool_find(struct nt *nt, const void *memory, struct nt_pool_block *out);
/* Names of the bench's own, at any level. */
bool nt_is_same_text(PCUNICODE_STRING first, PCUNICODE_STRING second, bool ignores_case);

bool nt_pool_is_paged(const struct nt *nt, const void *address); /* anywhere in a block */
uint64_t nt_pool_count(const struct nt *nt, uint32_t tag, uint64_t bytes);
void nt_put_tag(uint32_t tag, char text[5]);

void nt_remove_locks_fini(struct nt *nt);
void nt_remove_locks_freed(struct nt *nt, const void *memory, uint64_t bytes);
void nt_interfaces_fini(struct nt *nt);
void nt_interfaces_left(struct nt *nt, nt_leftover *tell, void *context);
void nt_properties_fini(struct nt *nt);
void nt_version(PRTL_OSVERSIONINFOW version);
void nt_lookasides_fini(struct nt *nt);
void nt_lookasides_left(struct nt *nt, nt_leftover *tell, void *context);
void nt_lookasides_freed(struct nt *nt, const void *memory, uint64_t bytes);
void nt_reserved_fini(struct nt *nt);
void nt_registry_fini(struct nt *nt);
void nt_files_fini(struct nt *nt);
DRIVER_OBJECT *nt_bus_driver_object(struct nt *nt);
void nt_held_pages_fini(struct nt *nt);

void nt_pool_init(struct nt *nt);
void nt_pool_fini(struct nt *nt);

/* The argument list of a function with the driver's calling convention. */
#if defined(__x86_64__) && !defined(_WIN32)
typedef __builtin_ms_va_list nt_va_list;
#define NT_VA_START(list, last) __builtin_ms_va_start(list, last)
#define NT_VA_END(list)         __builtin_ms_va_end(list)
#define NT_VA_ARG(list, type)   __builtin_va_arg(list, type)
#else
#include <stdarg.h>
typedef va_list nt_va_list;
#define NT_VA_START(list, last) va_start(list, last)
#define NT_VA_END(list)         va_end(list)
#define NT_VA_ARG(list, type)   va_arg(list, type)
#endif

/*
 * Format as the kernel's DbgPrint does: the conversions of the Windows C run time, in its data
 * model (l is 32 bits), with I64, I32, Z and wZ. Floating point is not formatted, as in the kernel.
 * Always ends with 0; the result is the length of the text, cut to what fits.
 */
size_t nt_format(char *out, size_t size, const char *format, nt_va_list *arguments);

/*
 * The same in characters of either kind; the result is the length with room for all. Ended: there
 * is always a 0; else only where the text leaves room for it. A size of 0: only the length is
 * wanted.
 */
size_t nt_print(char *out, size_t size, bool is_ended, const char *format, nt_va_list *arguments);
size_t nt_print_wide(WCHAR *out, size_t size, bool is_ended, const WCHAR *format,
                     nt_va_list *arguments);

#endif
