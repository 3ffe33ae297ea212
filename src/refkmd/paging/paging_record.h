/*
 * The paging buffer's size, and the record that each operation leaves beside it.
 *
 * Place      refkmd, private: segments.c asks for buffers of this size, paging_buffer.c writes
 *            records, submit.c reads them.
 */
#ifndef REFKMD_PAGING_RECORD_H
#define REFKMD_PAGING_RECORD_H

#include <ntddk.h>
#include <drydock/sgpu.h>

/*
 * The record that one call of DxgkDdiBuildPagingBuffer leaves in the private data of the paging
 * buffer, one record behind the other (PB-024): a submission carries the records of the operations
 * it runs. If it faults, the driver can tell which operations those were.
 */
struct paging_record {
    UINT64 address;  /* physical, of its first byte, where the buffer has no virtual one; else 0 */
    UINT operation;  /* DXGK_BUILDPAGINGBUFFER_OPERATION */
    UINT bytes;      /* written for it, padding included */
    BOOLEAN is_idle; /* the kernel said that nothing uses the allocation (AllocationIsIdle) */
};

/*
 * 64 KiB of paging buffer hold the page list of a 32 MiB transfer, or all 512 entries of a page
 * table 15 times. Every operation takes at least SGPU_SUBMIT_ALIGN bytes of it, so this many
 * records of private data last as long as the buffer itself.
 */
#define REFKMD_PAGING_BUFFER_BYTES  (64u * 1024u)
#define REFKMD_PAGING_RECORDS       (REFKMD_PAGING_BUFFER_BYTES / SGPU_SUBMIT_ALIGN)
#define REFKMD_PAGING_PRIVATE_BYTES (REFKMD_PAGING_RECORDS * (UINT)sizeof(struct paging_record))

#endif
