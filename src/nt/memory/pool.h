/*
 * Pool: the blocks that the driver has, and the block of an address.
 *
 * Place      nt, private. pool_blocks.c keeps the blocks and uses the machine and pages.h only;
 *            pool.c has the services, and the rules of allocating and freeing.
 * Model      Every block is on a list, and found by its address without looking at the memory
 *            there: so a pointer that was never allocated, or was freed before, is told from a good
 *            one.
 * Ownership  A block is the kernel's until it is destroyed.
 * Units      Bytes; a tag's first character is in its low byte.
 */
#ifndef DRYDOCK_NT_POOL_H
#define DRYDOCK_NT_POOL_H

#include "base/list.h"
#include "machine/machine.h"
#include "nt/nt.h"

#define NT_POOL_BUCKETS    1024u
#define NT_POOL_REMEMBERED 1024u

#define NT_POOL_SLACK_BYTE 0xf5 /* around a guarded block, on its pages */

/* Tags of services. */
#define NT_POOL_NO_TAG  0x656e6f4eu /* "None": the driver gave none */
#define NT_POOL_MDL_TAG 0x206c644du /* "Mdl ": an MDL */
#define NT_STRING_TAG   0x67727453u /* "Strg": RtlFreeUnicodeString() frees it */

struct pool_header {
    struct list block;  /* in nt_pool_of(nt)->blocks */
    struct list bucket; /* in nt_pool_of(nt)->by_address */
    struct list paged;  /* is_paged: in nt_pool_of(nt)->paged, where it has pages of its own */
    uint8_t *memory;
    uint8_t *pages; /* its own; NULL: the memory lies behind this header */
    uint64_t page_count;
    uint64_t *pfns; /* of the machine, NULL: nobody asked */
    struct page_mapping view;
    uint64_t bytes;
    uint64_t sequence;
    const char *during; /* as in struct nt_pool_block */
    uint32_t tag;
    uint16_t pages_behind; /* that are open, too */
    bool is_paged;
    bool is_guarded;
} __attribute__((aligned(16)));

_Static_assert(sizeof(struct pool_header) % 16 == 0, "what follows is aligned to 16 bytes");

/* The state of the area. */
struct nt_pool {
    struct list blocks;                      /* of struct pool_header, oldest first */
    struct list by_address[NT_POOL_BUCKETS]; /* the same ones */
    struct list paged;                       /* those of paged pool with pages of their own */
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t allocation_count; /* ever tried */
    uint64_t fail_at;          /* allocation_count of the one to fail; 0: none */
    enum nt_pool_guard guard;
    uint64_t guarded_blocks;                        /* blocks with pages of their own */
    struct nt_pool_block freed[NT_POOL_REMEMBERED]; /* the last ones of those to be freed */
    uint64_t freed_count;
};

struct nt_pool *nt_pool_of(const struct nt *nt);

/* ---- Blocks, for pool.c ---------------------------------------------------------------------- */

/* NULL: no memory. The sequence of the block is allocation_count. */
struct pool_header *nt_pool_take(struct nt *nt, uint64_t bytes, uint32_t tag, bool is_paged);
void nt_pool_destroy(struct nt *nt, struct pool_header *header);

/* The block that begins there; NULL: none does. */
struct pool_header *nt_pool_header(const struct nt *nt, const void *memory);

/* The block with pages of its own that was freed last of those that held the address; NULL: none.
 */
const struct nt_pool_block *nt_pool_find_freed(const struct nt *nt, const void *address);

/* ---- The block of an address ----------------------------------------------------------------- */

/* The live block that begins there. */
bool nt_pool_find(const struct nt *nt, const void *memory, struct nt_pool_block *out);

/* A live block, or the pages of its own, hold the address. */
bool nt_pool_has(const struct nt *nt, const void *address);
bool nt_pool_is_paged(const struct nt *nt, const void *address); /* anywhere in a block */

/*
 * The page of the machine that holds an address of the pool. False, and is_pool: there is no
 * machine or no memory, or the block is a small one of a cheap pool.
 */
bool nt_pool_pfn(struct nt *nt, const void *address, bool *out_is_pool, uint64_t *out_pfn);

/* Live blocks with this tag and size. */
uint64_t nt_pool_count(const struct nt *nt, uint32_t tag, uint64_t bytes);

#endif
