/*
 * virtio: what the two files of this driver share. virtio.c is the driver, queue.c its device.
 */
#ifndef VIRTIO_H
#define VIRTIO_H

#include <ntddk.h>
#include <ntstatus.h>

#include <d3dkmddi.h>
#include <dispmprt.h>

#define POOL_TAG         0x6f69765au
#define PAGE             4096u
#define APERTURE_BYTES   (8u << 20)
#define APERTURE_BASE    0xc0000000u
#define DMA_BUFFER_BYTES (64u * 1024u)
#define LIST_ENTRIES     256u
#define PENDING          1024u
#define SLOTS            64u /* requests in the ring, of two descriptors each */
#define ANSWER_BYTES     24u
#define CONTEXT          1u
#define PRIORITY_NORMAL  0x78000000u

enum { CAPABILITY_VENDOR = 9, CONFIG_CAPABILITIES = 0x34, CONFIG_BARS = 0x10 };
enum { REGION_COMMON = 1, REGION_NOTIFY, REGION_STATUS, REGION_DEVICE, REGIONS };
enum { /* offsets of the common configuration */
       FEATURE_SELECT = 8,
       FEATURE = 12,
       CONFIG_VECTOR = 16,
       STATUS_BYTE = 20,
       QUEUE_SELECT = 22,
       QUEUE_SIZE = 24,
       QUEUE_VECTOR = 26,
       QUEUE_ENABLE = 28,
       QUEUE_DESC = 32,
       QUEUE_AVAIL = 40,
       QUEUE_USED = 48,
};
enum { STATUS_ACKNOWLEDGE = 1, STATUS_DRIVER = 2, STATUS_READY = 4, STATUS_FEATURES = 8 };
enum {
    GET_DISPLAY_INFO = 0x100,
    RESOURCE_UNREF = 0x102,
    ATTACH_BACKING = 0x106,
    DETACH_BACKING = 0x107,
    CTX_CREATE = 0x200,
    RESOURCE_CREATE_3D = 0x204,
    SUBMIT_3D = 0x207,
};
enum { DESCRIPTOR_NEXT = 1, DESCRIPTOR_WRITE = 2 };

struct descriptor {
    UINT64 address;
    UINT bytes;
    USHORT flags, next;
};

/* All that the control queue shares with the host, in one piece of memory. */
struct rings {
    struct descriptor descriptors[2 * SLOTS];
    struct {
        USHORT flags, index, ring[2 * SLOTS];
    } avail;
    struct {
        USHORT flags, index;
        struct {
            UINT id, bytes;
        } ring[2 * SLOTS];
    } used;
    UCHAR answers[SLOTS][ANSWER_BYTES];
    UINT nothing[6]; /* a request that changes nothing */
};

struct header {
    UINT type, flags;
    UINT64 fence;
    UINT context, padding;
};

/* RESOURCE_CREATE_3D: the resource, ten dwords of options, a padding. */
struct create_request {
    struct header header;
    UINT id, options[10], padding;
};

/* ATTACH_BACKING; of the others the first dword alone. */
struct resource_request {
    struct header header;
    UINT id, count;
    struct {
        UINT64 address;
        UINT bytes, padding;
    } entries[1];
};

struct submit_header {
    struct header header;
    UINT bytes, padding;
};

struct pending {
    UINT64 address;
    UINT bytes;
    void *block; /* of a request that was made for this; NULL: a submission */
    UINT fence;
};

struct adapter {
    DXGKRNL_INTERFACE dxgkrnl;
    UCHAR *registers;
    UINT regions[REGIONS];
    struct rings *rings;
    UINT64 rings_pa;
    USHORT next_used;
    struct pending slots[SLOTS];
    BOOLEAN is_slot_used[SLOTS];
    struct pending pending[PENDING];
    UINT oldest, newest; /* counters */
    KSPIN_LOCK lock;     /* of all above from rings on */
    LIST_ENTRY allocations;
    UINT last_id;
    UINT in_flight; /* submissions */
    UINT submitted_fence, completed_fence, preemption_fence;
    BOOLEAN is_preempted; /* still to be reported */
};

struct allocation {
    LIST_ENTRY link;
    struct adapter *adapter;
    UINT64 size;
    UINT id;
    UINT options[10];
    UINT page_count, mapped_count;
    UINT64 first_slot; /* of the aperture, where it begins while something is mapped */
    UINT64 pages[1];   /* addresses */
};

struct exchange {
    UINT options[10];
    UINT size[2];
};

struct device {
    struct adapter *adapter;
};

struct opening {
    struct allocation *allocation;
};

/* ---- queue.c ---- */

void *take(SIZE_T bytes);
void give_back(void *memory);
/* Zeroed; for MmFreeContiguousMemory(). */
void *take_contiguous(SIZE_T bytes);

/*
 * A request that takes the block, which begins with a header; about one resource; that creates one.
 */
NTSTATUS ask_with(struct adapter *adapter, void *block, SIZE_T bytes, UINT type);
NTSTATUS ask_about(struct adapter *adapter, UINT type, UINT id);
NTSTATUS create_resource(struct adapter *adapter, const struct allocation *allocation);
/* The pending one stands behind all that were asked for before. */
NTSTATUS ask(struct adapter *adapter, const struct pending *pending);

void end_preemption(struct adapter *adapter);
VOID NTAPI DpcRoutine(IN_CONST_PVOID MiniportDeviceContext);
BOOLEAN NTAPI InterruptRoutine(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG MessageNumber);

/*
 * The device, from its registers on; mapped and unmapped; with and without the host's part of it.
 */
NTSTATUS device_open(struct adapter *adapter);
void device_close(struct adapter *adapter);
NTSTATUS device_begin(struct adapter *adapter);
void device_end(struct adapter *adapter);

#endif
