/*
 * Decode: the argument structure of a call or callback, a line a member.
 *
 * Place      check. Used when a finding is made; knows the structures from the fact tables
 *            (data/ddi/layout-x64.tsv and enums.tsv, made into a table when building) and from
 *            nothing else.
 * Model      The bytes of a structure before the call and, when it has come back, after it:
 *
 *                pDmaBuffer                      not NULL, moved by 288 bytes
 *                DmaSize                         16384 (0x4000) -> 16096 (0x3ee0)
 *                Operation                       0 DXGK_OPERATION_TRANSFER
 *                Transfer.hAllocation            allocation a3
 *                Transfer.Source.SegmentAddress  0x240000
 *                Transfer.Flags                  0x8 TransferStart
 *
 *            Of a union the members are told that the structure says are there. What a later WDDM
 *            version has added is left out, and so is what lies behind the bytes given. No pointer
 *            is followed, and none is printed: a run prints the same wherever it is loaded.
 * Errors     What does not fit in the caller's text ends with a line "...".
 * Source     data/ddi.
 */
#ifndef DRYDOCK_CHECK_DECODE_H
#define DRYDOCK_CHECK_DECODE_H

#include <ntddk.h>

#include <stddef.h>
#include <stdint.h>

struct decode_request {
    const char *structure; /* "DXGKARG_PATCH" */
    const void *before;
    const void *after; /* NULL: the call has not come back, or nobody can have changed it */
    size_t bytes;      /* of each */
    unsigned wddm;     /* 20 is WDDM 2.0 */
    /* Before each name: "pAllocationInfo[2]."; NULL: nothing. */
    const char *prefix;
    /* The object behind a handle, "allocation a3"; NULL: nobody knows. */
    const char *(*name_handle)(void *context, uint64_t handle, char *text, size_t size);
    void *context;
};

/* Into text, of size bytes; returns the characters written. */
size_t decode_structure(const struct decode_request *request, char *text, size_t size);

/* The member that the byte at offset belongs to, "Transfer.MdlOffset"; NULL: none. */
const char *decode_member_at(const struct decode_request *request, size_t offset);

/* "STATUS_NO_MEMORY"; NULL: no name is known. */
const char *decode_status_name(uint32_t status);

/* "0xc0000017 STATUS_NO_MEMORY", or the number alone; for the argument list of a printf(). */
struct decode_status {
    char text[96];
};

struct decode_status decode_status(NTSTATUS status);

/* The WDDM version of an interface version: 20 of DXGKDDI_INTERFACE_VERSION_WDDM2_0. */
unsigned decode_wddm_of(uint32_t interface_version);

#endif
