/*
 * The Drydock GPU (sgpu): registers, packets, page-table entries, and the private
 * formats that its user-mode half hands to its kernel-mode half.
 *
 * Place      Public hardware manual. A driver for this GPU includes this file and the
 *            WDK headers, nothing else; so does the code that plays the user-mode driver.
 * Model      A PCI device with two base-address registers. BAR 0 holds registers. BAR 1
 *            is a linear window on the first SGPU_REG_VISIBLE_SIZE bytes of local memory and,
 *            with SGPU_STRAP_SEEN_APERTURE, on the aperture behind them.
 *            Nodes execute submissions in order, each node on its own; node 0 renders,
 *            node 1 copies. Everything is little endian.
 * Units      Bytes, unless a name says _pages or _ns. A page is 4 KiB.
 */
#ifndef DRYDOCK_SGPU_H
#define DRYDOCK_SGPU_H

#include <stdint.h>

/* ---- Physical addresses -------------------------------------------------------------
 *
 * | range                            | what answers                                      |
 * | [0, local memory size)           | local memory                                      |
 * | [SGPU_PA_APERTURE, + size)       | aperture: each page goes where its slot points    |
 * | SGPU_PA_PITCHED | local address  | the same, of a surface with a pitch; see below    |
 * | SGPU_PA_SYSTEM | system address  | system memory, by its physical address or, where  |
 * |                                  | the machine's IOMMU remaps, by its logical one;   |
 * |                                  | the AGP window of the bus by its bus address      |
 *
 * What is said of system pages below holds for logical ones too: aperture slots, page lists and
 * page-table entries take whatever number the device is to put on the bus.
 */
#define SGPU_PAGE_SHIFT  12
#define SGPU_PAGE_BYTES  4096u
#define SGPU_PA_APERTURE (1ull << 40)
#define SGPU_PA_PITCHED  (1ull << 46)
#define SGPU_PA_SYSTEM   (1ull << 47)

/*
 * ---- Tiles -------------------------------------------------------------------------------
 *
 * What is linear in system memory may be tiled in local memory, in tiles of four pages: two lines
 * of two pages become two columns, so that the second and the third page have changed places. What
 * a linear surface has at an address a, a tiled one has at SGPU_TILED(a), which is a with its bits
 * 12 and 13 exchanged; the same function leads back. A tiled surface is whole tiles.
 */
#define SGPU_TILE_BYTES 0x4000u
#define SGPU_TILED(a)                                                                              \
    (((a) & ~UINT64_C(0x3000)) | ((a)&UINT64_C(0x1000)) << 1 | ((a)&UINT64_C(0x2000)) >> 1)

/*
 * ---- Pitches -----------------------------------------------------------------------------
 *
 * A surface of rows is packed in system memory, row behind row. In local memory a row begins at
 * each multiple of SGPU_PITCH_BYTES, and nobody looks at what is between the end of a row and the
 * next one. What a packed surface has n bytes from its start, one with a pitch at address a has at
 * SGPU_PITCHED(a, n). Boards with SGPU_STRAP_PITCH are made for such surfaces.
 *
 * SGPU_PA_PITCHED says it of the linear address of COPY_PAGES and of physical addresses of RENDER,
 * which then lie in a row: what goes beyond the end of it goes on in the next one.
 */
#define SGPU_ROW_BYTES   0x3000u
#define SGPU_PITCH_BYTES 0x4000u
#define SGPU_PITCHED(a, n)                                                                         \
    ((a) + (n) / SGPU_ROW_BYTES * (uint64_t)SGPU_PITCH_BYTES + (n) % SGPU_ROW_BYTES)

/* ---- Registers (BAR 0) ----------------------------------------------------------------
 *
 * | offset | size | access | name                                                         |
 */
#define SGPU_BAR0_BYTES           0x10000u
#define SGPU_REG_ID               0x000u /* 4 r  SGPU_ID                                       */
#define SGPU_REG_STRAPS           0x008u /* 4 r  SGPU_STRAP_*: how the board was built         */
#define SGPU_REG_NODE_COUNT       0x00cu /* 4 r  nodes                                         */
#define SGPU_REG_LOCAL_SIZE       0x010u /* 8 r  bytes of local memory                         */
#define SGPU_REG_VISIBLE_SIZE     0x018u /* 8 r  bytes of it that BAR 1 reaches, from offset 0 */
#define SGPU_REG_APERTURE_SIZE    0x020u /* 8 r  bytes of aperture, a multiple of a page      */
#define SGPU_REG_INDEX_BITS       0x028u /* 8 r  byte n: index bits of page-table level n      */
#define SGPU_REG_DEAD_OFFSET      0x0c0u /* 8 r  where local memory is defective: page multiple */
#define SGPU_REG_DEAD_SIZE        0x0c8u /* 8 r  ... and how many bytes; nothing answers there  */
#define SGPU_REG_TRAITS           0x0a0u /* 4 r  SGPU_TRAIT_*: what local memory is           */
#define SGPU_REG_PROTECTED_OFFSET 0x0a8u /* 8 r  what only protected content may use: page    */
#define SGPU_REG_PROTECTED_SIZE   0x0b0u /* 8 r  ... multiples; its last page is the node's   */
#define SGPU_REG_OWN_SIZE         0x0b8u /* 8 r  bytes at the end of what BAR 1 reaches that  */
                                         /*      are the driver's own                          */
#define SGPU_REG_PICTURE_OFFSET 0x0f0u   /* 8 r  where firmware has left its picture: page    */
#define SGPU_REG_PICTURE_SIZE   0x0f8u   /* 8 r  ... multiples                                */
#define SGPU_REG_WINDOW_SLOT    0x0d0u   /* 4 w  which page of BAR 1 (SGPU_STRAP_HOST_APERTURE)  */
#define SGPU_REG_WINDOW_PAGE                                                                       \
    0x0d4u /* 4 w  ... shows this page of local memory, or, with                                   \
            *      SGPU_WINDOW_NOTHING, none */
/*
 * Ranges of BAR 1 through which the CPU sees tiled memory in linear order: pages [FIRST, END) of
 * it, whole tiles; none while END is not above FIRST. They outlive a reset, not the loss of power.
 * Not with SGPU_STRAP_HOST_APERTURE, nor on a board with SGPU_STRAP_NO_RANGES.
 */
#define SGPU_RANGES             2u
#define SGPU_REG_RANGE_FIRST(n) (0x0e0u + 8u * (n)) /* 4 w  page of BAR 1                */
#define SGPU_REG_RANGE_END(n)   (0x0e4u + 8u * (n)) /* 4 w  ... and the one behind the last */

#define SGPU_REG_KEPT_SIZE  0x080u /* 8 r  bytes of local memory that outlive hibernation */
#define SGPU_REG_IRQ_STATUS 0x100u /* 4 r  SGPU_IRQ_*; 4 w  ones clear                   */
#define SGPU_REG_IRQ_ENABLE 0x104u /* 4 rw SGPU_IRQ_*                                    */
#define SGPU_REG_RESET      0x108u /* 4 w  SGPU_RESET_KEY: resets the whole device       */
/* The time that nodes go by, from when the machine was switched on; a reset leaves it. */
#define SGPU_REG_CLOCK 0x158u /* 8 r  ticks                                         */
#define SGPU_CLOCK_HZ  UINT64_C(100000000)
/*
 * Scan-out, with SGPU_STRAP_DISPLAY: one source. An address that is written (low half first) is
 * taken at the next vertical sync, SGPU_SYNC_NS later at the latest; then SGPU_IRQ_SYNC is raised,
 * and SCAN_CURRENT reads it. SCAN_CONTROL 0 ends the scan-out at once, and what was to be taken is
 * forgotten; 1 begins it. It ends with a reset of the device, and without power.
 */
#define SGPU_REG_SCAN_NEXT    0x130u /* 8 w  GPU physical address of a surface              */
#define SGPU_REG_SCAN_CURRENT 0x138u /* 8 r  ... that is scanned out; all ones: none is     */
#define SGPU_REG_SCAN_CONTROL 0x140u /* 4 w  SGPU_SCAN_*                                    */
#define SGPU_SCAN_HIDE        0u
#define SGPU_SCAN_SHOW        1u
#define SGPU_SYNC_NS          50000u
/*
 * The connector of a monitor: whether one is plugged in, and the base block of its EDID, which
 * reads as zero without one. SGPU_IRQ_CONNECTOR is raised when a monitor comes or goes.
 */
#define SGPU_REG_CONNECTOR    0x148u /* 4 r  SGPU_CONNECTED                                 */
#define SGPU_CONNECTED        (1u << 0)
#define SGPU_REG_EDID         0x180u /* 4 r  so many bytes from here on                     */
#define SGPU_EDID_BYTES       128u
#define SGPU_REG_FENCE_FORGET 0x110u /* 4 w  number of a fence that has no home any more    */
/*
 * Aperture slots without a packet: SLOT names one, the second half of SLOT_PAGE points it at the
 * page and names the next. At once, whatever the nodes do. With SGPU_SLOT_COHERENT in SLOT the
 * slots snoop CPU caches.
 */
#define SGPU_REG_SLOT      0x118u /* 4 w  number of a slot                                 */
#define SGPU_SLOT_COHERENT (1u << 31)
#define SGPU_REG_SLOT_PAGE 0x120u /* 8 w  number of a system page                          */

#define SGPU_WINDOW_NOTHING 0xffffffffu
#define SGPU_ID             0x55504753u /* "SGPU" */

/* None of these changes what the GPU does; they are for whoever manages the memory. */
#define SGPU_TRAIT_FROM_SYSTEM     (1u << 0) /* the driver has it from the system               */
#define SGPU_TRAIT_FROM_FIRMWARE   (1u << 1) /* the firmware keeps it from the system           */
#define SGPU_TRAIT_SCAN_OUT        (1u << 2) /* the display can show any of it                  */
#define SGPU_TRAIT_FOR_USERS       (1u << 3) /* made for what applications create               */
#define SGPU_TRAIT_ENCRYPTS        (1u << 4) /* protected content can leave it, encrypted       */
#define SGPU_TRAIT_KEEPS_PROTECTED (1u << 5) /* protected content outlives standby             */
#define SGPU_TRAIT_CACHED_WINDOW   (1u << 6) /* pages of BAR 1 may be cached                    */
#define SGPU_TRAIT_LEFT_ALONE      (1u << 7) /* nobody is to use it where there are page tables */

/*
 * A reset of the device resets every node, clears IRQ_STATUS and IRQ_ENABLE and retrains local
 * memory, whose content is gone afterwards. Aperture slots keep what they point at. While the
 * device has no power, registers read as all ones and writes vanish; when it comes back it is as
 * after a reset, and aperture slots point nowhere.
 */
#define SGPU_RESET_KEY 0x52534554u

#define SGPU_STRAP_UPDATE_MODE_SHIFT   0 /* 2 bits: how page tables are to be written         */
#define SGPU_STRAP_UPDATE_MODE_MASK    0x3u
#define SGPU_STRAP_UPDATE_GPU_VIRTUAL  0u
#define SGPU_STRAP_UPDATE_GPU_PHYSICAL 1u
#define SGPU_STRAP_UPDATE_CPU          2u
#define SGPU_STRAP_TABLES_IN_SYSTEM    (1u << 2)  /* page tables belong in system memory      */
#define SGPU_STRAP_COHERENT_APERTURE   (1u << 3)  /* the aperture can snoop CPU caches        */
#define SGPU_STRAP_PLAIN_ENTRIES       (1u << 4)  /* entries have no bits 2 to 5              */
#define SGPU_STRAP_64K_SINGLE          (1u << 5)  /* 64 KiB leaf tables, instead of 4 KiB ones */
#define SGPU_STRAP_64K_DUAL            (1u << 6)  /* 64 KiB leaf tables, beside 4 KiB ones     */
#define SGPU_STRAP_LARGE_PAGES         (1u << 7)  /* entries above the leaf may map pages      */
#define SGPU_STRAP_CLEAR_TABLES        (1u << 8)  /* tables must be cleared before they go     */
#define SGPU_STRAP_IDLE_UPDATES        (1u << 9)  /* no node may use tables that are written   */
#define SGPU_STRAP_MAY_CACHE_INVALID   (1u << 10) /* entries not valid may be cached */
#define SGPU_STRAP_OWN_RANGE           (1u << 11) /* its driver wants a root entry for itself   */
#define SGPU_STRAP_BOTH_WAYS           (1u << 12) /* copies overtake each other: see COPY     */
#define SGPU_STRAP_TABLES_IN_COPY      (1u << 22) /* copies are faster if their tables are known */
#define SGPU_STRAP_PAGING_APERTURE     (1u << 23) /* commands of paging are best in the aperture */
#define SGPU_STRAP_DMA_APERTURE        (1u << 27) /* ... and so are those of clients          */
#define SGPU_STRAP_HALF_APERTURE       (1u << 28) /* half of the aperture's slots at once, no more */
#define SGPU_STRAP_SEEN_APERTURE       (1u << 31) /* BAR 1 goes on with the aperture          */
#define SGPU_STRAP_GPU_PAGE_SHIFT      29 /* 2 bits: GPU pages of 4, 16 or 64 KiB (0, 1, 2)     */
#define SGPU_STRAP_GPU_PAGE_MASK       0x3u
#define SGPU_STRAP_DISPLAY             (1u << 13) /* there is a scan-out: see SCAN_NEXT       */
#define SGPU_STRAP_HOST_APERTURE       (1u << 20) /* BAR 1 is no window but pages, each pointed */
#define SGPU_STRAP_NO_RANGES           (1u << 21) /* the CPU sees tiled memory as it is         */
#define SGPU_STRAP_QUEUES              (1u << 14) /* node 0 has queues: see SUBMIT_PROGRESS       */
#define SGPU_STRAP_POWER               (1u << 15) /* nodes can be switched off: see POWER       */
#define SGPU_STRAP_SLOW_POWER          (1u << 16) /* ... which takes time                      */
#define SGPU_STRAP_SLOW_LISTS          (1u << 17) /* COPY_PAGES is slower than the aperture   */
#define SGPU_STRAP_PITCH               (1u << 18) /* local memory is made for rows with a pitch */
#define SGPU_STRAP_BANKS               (1u << 19) /* local memory is four banks of equal size   */
#define SGPU_STRAP_FENCE_UNIT          (1u << 26) /* there is a fence unit: see FENCE_HOME      */
#define SGPU_STRAP_KEEPS_STANDBY       (1u << 24) /* local memory is refreshed in standby, D3 */
#define SGPU_STRAP_KEEPS_HIBERNATE     (1u << 25) /* ... and [0, KEPT_SIZE) while hibernating */

#define SGPU_IRQ_COMPLETED(node) (1u << (node))        /* a submission of the node finished */
#define SGPU_IRQ_SYNC            (1u << 4)             /* a new address is scanned out      */
#define SGPU_IRQ_CONNECTOR       (1u << 5)             /* a monitor has come or gone        */
#define SGPU_IRQ_POWER           (1u << 6)             /* a node was switched on or off     */
#define SGPU_IRQ_FAULTED(node)   (1u << (8 + (node)))  /* the node stopped on a fault       */
#define SGPU_IRQ_FENCE(node)     (1u << (16 + (node))) /* a FENCE packet asked for it       */
#define SGPU_IRQ_PREEMPTED(node) (1u << (24 + (node))) /* a preemption is done             */

/*
 * One block of registers a node, at SGPU_REG_NODE(n). To submit, write ADDRESS, ROOT, SIZE
 * and FENCE, then DOORBELL; the write of DOORBELL queues the submission. When it has run, the
 * node writes FENCE to COMPLETED and raises SGPU_IRQ_COMPLETED. A submission may start only at
 * a multiple of SGPU_SUBMIT_ALIGN. A doorbell rung while FREE reads 0 is lost.
 *
 * A fault stops the node: the submission never completes, the queue waits, the fault registers
 * and SGPU_IRQ_FAULTED tell. CONTROL_RESET empties the queue and the node's cached translations,
 * has COMPLETED read 0 and clears the fault; a packet that was executing has had no effect, or that
 * of a render's reads.
 *
 * CONTROL_PREEMPT drops what is queued behind the submission that executes, if one does. When that
 * has ended, COMPLETED reads its fence and SGPU_IRQ_PREEMPTED is raised; at once on an idle node.
 * Nothing that was dropped has had any effect. A doorbell rung before the interrupt queues as ever.
 * A node that has stopped or hangs never answers.
 *
 * 8-byte registers may be accessed as two halves of 4; no register has an access of 1 or 2 bytes.
 */

/*
 * With SGPU_STRAP_POWER a node can be switched off by POWER. What it has to do, the cached
 * translations and the other writable registers of its block are lost, and writes of those have no
 * effect until it is on again. With SGPU_STRAP_SLOW_POWER, which is not there alone, the switch
 * takes SGPU_POWER_NS. Meanwhile the node is off, and POWER reads as SGPU_POWER_CHANGES; then
 * SGPU_IRQ_POWER is raised. A reset of the device switches all nodes on.
 */
#define SGPU_POWER_NS         UINT64_C(20000)
#define SGPU_POWER_CHANGES    0xffffffffu
#define SGPU_REG_NODE(n)      (0x1000u + 0x100u * (n))
#define SGPU_NODE_ADDRESS     0x00u /* 8 w  first byte: physical, or virtual with VIRTUAL alone */
#define SGPU_NODE_ROOT        0x08u /* 8 w  root page table: SGPU_ROOT(), or 0                */
#define SGPU_NODE_SIZE        0x10u /* 4 w  bytes, may be 0                                   */
#define SGPU_NODE_FENCE       0x14u /* 4 w  value to report                                   */
#define SGPU_NODE_DOORBELL    0x18u /* 4 w  SGPU_SUBMIT_*                                     */
#define SGPU_NODE_FREE        0x1cu /* 4 r  submissions that still fit in the queue           */
#define SGPU_NODE_COMPLETED   0x20u /* 4 r  fence of the last finished one; of no queue         */
#define SGPU_NODE_FAULT_FENCE 0x24u /* 4 r  fence of the submission that faulted              */
#define SGPU_NODE_FAULT_VA    0x28u /* 8 r  address that faulted                              */
#define SGPU_NODE_FAULT_KIND  0x30u /* 4 r  SGPU_FAULT_*                                      */
#define SGPU_NODE_QUEUED      0x34u /* 4 r  fence of the last submission queued               */
#define SGPU_NODE_CONTROL     0x38u /* 4 w  SGPU_CONTROL_*                                    */
#define SGPU_NODE_POWER       0x3cu /* 4 rw 0: on; else off: see below                        */
#define SGPU_NODE_SAVE_AREA   0x80u /* 8 w  with SAVE: address of the context-save area       */
#define SGPU_NODE_SAVE_RUNS   0x88u /* 8 w  with SAVE: what its runs must be, or ANY          */
#define SGPU_NODE_SAVE_BYTES  0x90u /* 4 w  with SAVE: its size                               */

#define SGPU_NODE_PROGRESS_VA 0x98u /* 8 w  with PROGRESS: where the value goes, through ROOT */
#define SGPU_NODE_PROGRESS    0xa0u /* 8 w  with PROGRESS: the value                            */

#define SGPU_NODE_RENDER       0u
#define SGPU_NODE_COPY         1u
#define SGPU_QUEUE_SLOTS       64u
#define SGPU_SUBMIT_ALIGN      64u
#define SGPU_SUBMIT_VIRTUAL    (1u << 0) /* ADDRESS and all packet addresses go through ROOT   */
#define SGPU_SUBMIT_FENCE_ONLY (1u << 1) /* execute nothing, report the fence                 */
#define SGPU_SUBMIT_PASID                                                                          \
    (1u << 2) /* ROOT is a PASID: ADDRESS and all packet addresses                                 \
             are that process's, through the IOMMU; not with                                       \
             VIRTUAL. Nothing of it is cached.                 */
#define SGPU_SUBMIT_FETCH_PHYSICAL                                                                 \
    (1u << 3)                              /* with VIRTUAL: ADDRESS, and it alone, is physical     \
                                            */
#define SGPU_SUBMIT_USER         (1u << 4) /* the packets are user mode's; see Packets          */
#define SGPU_SUBMIT_SAVE         (1u << 8) /* run in a context-save area; see below             */
#define SGPU_SUBMIT_SAVE_VIRTUAL (1u << 9) /* SAVE_AREA is virtual, through ROOT               */
/*
 * With SGPU_STRAP_QUEUES, of the node that renders, and with VIRTUAL: behind its packets the
 * submission writes the 8 bytes of PROGRESS to PROGRESS_VA, a multiple of 8, then ends. With
 * FENCE_ONLY it does that alone. A fault in the write is one of the submission, and so is any other
 * address (SGPU_FAULT_PACKET). COMPLETED stays as it is, as values of queues are no FENCEs of the
 * node; SGPU_IRQ_COMPLETED is raised.
 */
#define SGPU_SUBMIT_PROGRESS (1u << 5)
#define SGPU_CONTROL_RESET   (1u << 0) /* drop the queue and the running submission          */
#define SGPU_CONTROL_PREEMPT (1u << 1) /* drop the queue behind the running submission       */

#define SGPU_FAULT_NONE       0u
#define SGPU_FAULT_NOT_VALID  1u  /* no valid translation                                     */
#define SGPU_FAULT_READ_ONLY  2u  /* write through a read-only entry                          */
#define SGPU_FAULT_BUS        3u  /* physical address that nothing answers                    */
#define SGPU_FAULT_PACKET     4u  /* malformed packet; FAULT_VA is its offset                 */
#define SGPU_FAULT_NO_EXECUTE 5u  /* command fetch through a no-execute entry                */
#define SGPU_FAULT_SAVE_AREA  16u /* no context-save area, or not this context's           */
#define SGPU_FAULT_NO_HOME    17u /* FENCE_SIGNAL; FAULT_VA is the fence's number          */

/*
 * Context-save area. A submission with SGPU_SUBMIT_SAVE starts by loading it and ends by storing it
 * with runs one higher. Loading faults with SGPU_FAULT_SAVE_AREA unless magic, node and root are
 * those of the submission, root_check is SGPU_SAVE_ROOT_CHECK(root), runs is SAVE_RUNS (unless that
 * is SGPU_SAVE_RUNS_ANY), and the last 8 bytes of the area hold runs too. Address and size are
 * multiples of 8, and the head is in one piece of memory. The driver makes the first image, with
 * runs 0; what lies between head and tail is the node's own.
 */
#define SGPU_SAVE_MAGIC            0x56415353u /* "SSAV" */
#define SGPU_SAVE_RUNS_ANY         (~0ull)
#define SGPU_SAVE_ROOT_CHECK(root) ((root) ^ 0x5a5a5a5a5a5a5a5aull)
struct sgpu_save_area {
    uint32_t magic; /* SGPU_SAVE_MAGIC */
    uint32_t node;
    uint64_t root; /* as in SGPU_NODE_ROOT */
    uint64_t root_check;
    uint64_t runs; /* submissions that have run in it */
};

/*
 * ---- Page tables ------------------------------------------------------------------------
 *
 * A tree of tables of 8-byte entries. Level 0 is the leaf; a virtual address has 12 bits within the
 * page and, for each level, as many index bits as SGPU_REG_INDEX_BITS says, at most 48 in all. An
 * ordinary board has four levels of 9 bits: a table is one page. A table begins at a page and is
 * contiguous. The root may have fewer entries than its bits can name: SGPU_ROOT() says how many,
 * and an index beyond them faults.
 *
 * | bits   | name        | meaning                                                           |
 * | 0      | VALID       | clear: access faults                                              |
 * | 1      | SYSTEM      | the page (or next table) is in system memory, else local memory   |
 * |        |             | (never the aperture: an address outside either is a BUS fault)    |
 * | 2      | ZERO        | leaf: reads give zero, writes vanish; address ignored             |
 * | 3      | READ_ONLY   | leaf: writes fault                                                |
 * | 4      | NO_EXECUTE  | leaf: command fetch faults                                        |
 * | 5      | COHERENT    | leaf: snoop CPU caches                                            |
 * | 6      | TABLE_64K   | level 1, with STRAP_64K_SINGLE: the next table is a 64 KiB one    |
 * | 7      | LARGE       | above the leaf, with STRAP_LARGE_PAGES: a leaf for the whole range |
 * | 12..46 | ADDRESS     | page-aligned address in local or system memory                    |
 * | 48..62 | PROTECTION  | leaf: driver protection, kept, without effect on translation      |
 *
 * With STRAP_PLAIN_ENTRIES bits 2 to 5 are reserved: an entry that has one of them faults.
 *
 * A 64 KiB table has one entry where a 4 KiB one has 16; its pages are aligned to their size. With
 * STRAP_64K_SINGLE a level 1 entry points at a table of the one kind or the other. With
 * STRAP_64K_DUAL it is 16 bytes long: a word for the 4 KiB table, then a word for the 64 KiB table,
 * and where the 64 KiB entry is valid the 4 KiB ones are not looked at. A large page is aligned to
 * 4 KiB, whatever its size.
 *
 * GPU pages: where STRAP_GPU_PAGE says more than 4 KiB, a 4 KiB table has the entries of a GPU page
 * one behind the other, 4 or 16 of them. When the first one is valid and leads to local memory, it
 * maps the whole GPU page, its address bits within the GPU page are ignored, and the entries behind
 * it are not looked at. Otherwise each entry maps its own 4 KiB, of system memory or zeros alone:
 * one that leads to local memory counts as not valid. Not on boards with 64 KiB tables.
 *
 * Each node caches translations. A cached translation lives until TLB_FLUSH removes it or the
 * hardware replaces it; entries that were not valid are never cached. With STRAP_MAY_CACHE_INVALID
 * that is no promise to software: the entries that stand in one line of 64 bytes with one that is
 * used may be cached as they are, so that one of them which becomes valid needs a flush.
 */
#define SGPU_VA_BITS        48 /* at most, and of an ordinary board */
#define SGPU_LEVELS         4  /* of an ordinary board */
#define SGPU_MAX_LEVELS     6
#define SGPU_INDEX_BITS     9    /* of an ordinary board */
#define SGPU_MIN_INDEX_BITS 6    /* of every level but the root, which may have fewer */
#define SGPU_MAX_INDEX_BITS 20   /* of any level */
#define SGPU_TABLE_ENTRIES  512u /* in a page */
/* 4 KiB entries of a GPU page, by the straps of the board. */
#define SGPU_GPU_PAGE_ENTRIES(straps)                                                              \
    (1u << 2 * ((straps) >> SGPU_STRAP_GPU_PAGE_SHIFT & SGPU_STRAP_GPU_PAGE_MASK))
#define SGPU_64K_BYTES   0x10000u
#define SGPU_64K_ENTRIES 16u /* 4 KiB entries to one of 64 KiB */

/* A root of 2^bits entries; bits 0: as many as its level can have. */
#define SGPU_ROOT(address, bits)  ((uint64_t)(address) | (bits))
#define SGPU_ROOT_BITS_MASK       0x3full
#define SGPU_PTE_VALID            (1ull << 0)
#define SGPU_PTE_SYSTEM           (1ull << 1)
#define SGPU_PTE_ZERO             (1ull << 2)
#define SGPU_PTE_READ_ONLY        (1ull << 3)
#define SGPU_PTE_NO_EXECUTE       (1ull << 4)
#define SGPU_PTE_COHERENT         (1ull << 5)
#define SGPU_PTE_TABLE_64K        (1ull << 6)
#define SGPU_PTE_LARGE            (1ull << 7)
#define SGPU_PTE_ADDRESS_MASK     0x00007ffffffff000ull
#define SGPU_PTE_PROTECTION_SHIFT 48
#define SGPU_PTE_PROTECTION_MASK  0x7fffull

/* ---- Packets -----------------------------------------------------------------------------
 *
 * A submission is a sequence of packets. Each starts at a multiple of 8 bytes with a header:
 * opcode in bits 0..7, length of the whole packet in 32-bit words (even) in bits 8..31; then
 * a word of flags. In a submission with SGPU_SUBMIT_VIRTUAL, addresses of COPY, FILL, RENDER
 * and FENCE are virtual unless the packet has SGPU_PACKET_PHYSICAL.
 *
 * A packet is fetched and checked when it starts. Malformed (SGPU_FAULT_PACKET): an unknown opcode,
 * an unknown flag, a reserved field that is not 0, a length other than what the packet's fields
 * make it, a size, end or duration above 2^48, or an alignment or limit below that is not kept. In
 * a submission with SGPU_SUBMIT_USER so are SGPU_PACKET_PHYSICAL, and the packets that name memory
 * by other addresses than those of the submission's space or change what addresses mean:
 * COPY_PAGES, GART_*, PTE_*, TLB_FLUSH, CLEAN and FENCE_HOME.
 * Copies, fills, table and aperture writes, flushes and fences take effect when the packet
 * ends; if that faults part of the way, what came before it has happened.
 */
#define SGPU_PACKET_HEADER(opcode, words) ((uint32_t)(opcode) | ((uint32_t)(words) << 8))
#define SGPU_PACKET_OPCODE(header)        ((header)&0xffu)
#define SGPU_PACKET_WORDS(header)         ((header) >> 8)
#define SGPU_PACKET_PHYSICAL              (1u << 31)

enum sgpu_opcode {
    SGPU_OP_NOP = 0x00,          /* any length; the rest is skipped           */
    SGPU_OP_COPY = 0x01,         /* struct sgpu_packet_copy                   */
    SGPU_OP_FILL = 0x02,         /* struct sgpu_packet_fill                   */
    SGPU_OP_COPY_PAGES = 0x03,   /* struct sgpu_packet_copy_pages + page list */
    SGPU_OP_GART_WRITE = 0x04,   /* struct sgpu_packet_gart + page list       */
    SGPU_OP_GART_FILL = 0x05,    /* struct sgpu_packet_gart + one page        */
    SGPU_OP_PTE_WRITE = 0x06,    /* struct sgpu_packet_pte + entries          */
    SGPU_OP_PTE_FILL = 0x07,     /* struct sgpu_packet_pte + one entry        */
    SGPU_OP_TLB_FLUSH = 0x08,    /* struct sgpu_packet_tlb_flush              */
    SGPU_OP_FENCE = 0x09,        /* struct sgpu_packet_fence                  */
    SGPU_OP_RENDER = 0x0a,       /* struct sgpu_packet_render + references    */
    SGPU_OP_TOUCH = 0x20,        /* struct sgpu_packet_touch                  */
    SGPU_OP_CLEAN = 0x21,        /* struct sgpu_packet_clean                  */
    SGPU_OP_FENCE_HOME = 0x22,   /* struct sgpu_packet_fence_home           */
    SGPU_OP_FENCE_SIGNAL = 0x23, /* struct sgpu_packet_fence_signal         */
};

/*
 * Copies [source, + bytes) to destination, any alignment; the ranges do not overlap.
 *
 * With SGPU_STRAP_BOTH_WAYS the copy nodes move data both ways. When a COPY or COPY_PAGES between
 * local and system memory starts, or a FILL, its addresses are translated once and for all, and the
 * node goes on with the next packet while the data moves: copies to system memory, copies from it
 * and fills are three lanes, each of them in order. A packet that would write what an earlier one
 * still reads or writes, or read what it writes, waits for it. FENCE and the end of a submission
 * come when all in front of them has ended, and every other packet but table and aperture writes,
 * flushes and NOP starts only then. So memory, fences and interrupts are as if the packets had run
 * one behind the other. Not so what a packet reads as commands or as page tables: nothing waits
 * before it copies those in. A fault waits until what is in front of it has ended.
 */
struct sgpu_packet_copy {
    uint32_t header;
    uint32_t flags;
    uint64_t source;
    uint64_t destination;
    uint64_t bytes;
};

/*
 * One access of 1 to 8 bytes, to see that earlier ones have got through: a read whose value is
 * thrown away or, with SGPU_TOUCH_WRITE, a write of zeros.
 */
#define SGPU_TOUCH_WRITE (1u << 0)
struct sgpu_packet_touch {
    uint32_t header;
    uint32_t flags;
    uint64_t address;
    uint32_t bytes;
    uint32_t reserved; /* 0 */
};

/*
 * Writes back and forgets what caches of the GPU hold of [address, + bytes), virtual through root,
 * or through the submission's own where that is 0. This GPU has no such cache, but like one that
 * has it looks every page up, and faults where there is none.
 */
struct sgpu_packet_clean {
    uint32_t header;
    uint32_t flags;
    uint64_t root; /* as in SGPU_NODE_ROOT */
    uint64_t address;
    uint64_t bytes;
};

/* Writes pattern over [destination, + bytes); both multiples of 4. */
struct sgpu_packet_fill {
    uint32_t header;
    uint32_t flags;
    uint64_t destination;
    uint64_t bytes;
    uint32_t pattern;
    uint32_t reserved; /* 0 */
};

/*
 * Copies whole pages between a linear physical range and a list of system pages (page numbers).
 * Direction: SGPU_COPY_TO_PAGES from linear to the list, else from the list to linear. With
 * SGPU_COPY_TILED the memory at linear is tiled: page i of the list goes with the page at
 * SGPU_TILED(linear + i pages). With SGPU_PA_PITCHED in linear, page i goes with page i of the
 * rows.
 */
#define SGPU_COPY_TO_PAGES (1u << 0)
#define SGPU_COPY_TILED    (1u << 1)
struct sgpu_packet_copy_pages {
    uint32_t header;
    uint32_t flags;
    uint64_t linear; /* physical, a multiple of a page */
    uint32_t page_count;
    uint32_t reserved; /* 0 */
    uint64_t pages[];  /* system page numbers, page_count of them */
};

/*
 * Points aperture slots at system pages: GART_WRITE one each, GART_FILL all at pages[0]. A slot
 * that was never written answers nothing (SGPU_FAULT_BUS).
 */
#define SGPU_GART_COHERENT (1u << 0)
struct sgpu_packet_gart {
    uint32_t header;
    uint32_t flags;
    uint32_t first_slot;
    uint32_t slot_count;
    uint64_t pages[]; /* system page numbers */
};

/*
 * Writes page-table entries: PTE_WRITE entries[i] to index first + i, PTE_FILL entries[0] to all.
 * An index counts words of 8 bytes; first + count is at most SGPU_PTE_WORDS_MAX. The table is page
 * aligned; its address is virtual (through the submission's root) with SGPU_PTE_TABLE_VIRTUAL, else
 * physical.
 */
#define SGPU_PTE_WORDS_MAX     (2u << SGPU_MAX_INDEX_BITS)
#define SGPU_PTE_TABLE_VIRTUAL (1u << 0)
struct sgpu_packet_pte {
    uint32_t header;
    uint32_t flags;
    uint64_t table;
    uint32_t first;
    uint32_t count;
    uint64_t entries[];
};

/* Forgets cached translations of root in [start, end), on all nodes; SGPU_TLB_ALL: every VA. */
#define SGPU_TLB_ALL (1u << 0)
struct sgpu_packet_tlb_flush {
    uint32_t header;
    uint32_t flags;
    uint64_t root; /* physical address of the root page table; its bits 0 to 11 are ignored */
    uint64_t start;
    uint64_t end; /* exclusive */
};

/* Writes a 64-bit value after all earlier packets; raises SGPU_IRQ_FENCE if asked to. */
#define SGPU_FENCE_INTERRUPT (1u << 0)
struct sgpu_packet_fence {
    uint32_t header;
    uint32_t flags;
    uint64_t address; /* a multiple of 8 */
    uint64_t value;
};

/*
 * Boards with SGPU_STRAP_FENCE_UNIT have one that knows SGPU_FENCES fences by number, and of each
 * the physical addresses of two 64-bit words: its value, and the one that somebody waits for. HOME
 * says where they are from now on. SIGNAL, which user mode may send, writes the value at home after
 * all earlier packets and then reads the other word: where the value has passed it, SGPU_IRQ_FENCE
 * of the node is raised. The unit forgets all homes in a reset of the device and without power, and
 * one when its number is written to FENCE_FORGET.
 */
#define SGPU_FENCES 64u
struct sgpu_packet_fence_home {
    uint32_t header;
    uint32_t flags;
    uint32_t fence;
    uint32_t reserved;  /* 0 */
    uint64_t current;   /* physical, a multiple of 8 */
    uint64_t monitored; /* the same */
};
struct sgpu_packet_fence_signal {
    uint32_t header;
    uint32_t flags;
    uint32_t fence;
    uint32_t reserved; /* 0 */
    uint64_t value;
};

/*
 * Renders: takes duration_ns, reads every reference marked READ when it starts and writes every
 * reference marked WRITE when it ends. What is written is a function of key and position alone:
 * the page at offset i pages from the page that address lies in gets the content named key + i
 * (bytes of a page are those of the named content at the same offset in the page). Names have 62
 * bits; higher ones are ignored. The token is passed to whoever observes the GPU, who finds out
 * what a packet with token 0 is of by the fence of its submission. A reference marked TILED is to a
 * tiled surface: address and bytes are those of the linear one. A WRITE that is marked COPY writes
 * what stands in the reference before it, which has as many bytes, when the packet ends; one marked
 * FILL the low 32 bits of key, again and again (SGPU_OP_FILL says how).
 *
 * A render may come in several packets, each with some of the references, and others in between:
 * all but the last have SGPU_RENDER_GOES_ON, all but the first SGPU_RENDER_CONTINUES.
 */
#define SGPU_RENDER_GOES_ON   (1u << 0)
#define SGPU_RENDER_CONTINUES (1u << 1)
#define SGPU_REF_READ         (1u << 0)
#define SGPU_REF_WRITE        (1u << 1)
#define SGPU_REF_TILED        (1u << 2)
#define SGPU_REF_COPY         (1u << 3)
#define SGPU_REF_FILL         (1u << 4)
struct sgpu_render_ref {
    uint64_t address;
    uint64_t bytes;
    uint64_t key;
    uint32_t flags;
    uint32_t index; /* for the observer: which reference of the workload this is */
};
struct sgpu_packet_render {
    uint32_t header;
    uint32_t flags;
    uint64_t token;
    uint64_t duration_ns;
    uint32_t ref_count;
    uint32_t reserved; /* 0 */
    struct sgpu_render_ref refs[];
};

/* ---- What the user-mode half tells the kernel-mode half ------------------------------------- */

/* Private driver data of an allocation (DXGK_ALLOCATIONINFO.pPrivateDriverData). */
#define SGPU_UMD_VERSION             1u
#define SGPU_UMD_CPU_VISIBLE         (1u << 0)
#define SGPU_UMD_CACHED              (1u << 1)
#define SGPU_UMD_ACCESSED_PHYSICALLY (1u << 2)
#define SGPU_UMD_APERTURE_ONLY       (1u << 3)  /* lives in system memory, seen by aperture */
#define SGPU_UMD_PREFER_APERTURE     (1u << 4)  /* local memory is the second choice         */
#define SGPU_UMD_NO_APERTURE         (1u << 5)  /* local memory only                         */
#define SGPU_UMD_HIDDEN_ONLY         (1u << 6)  /* of it what no CPU sees, where there is any */
#define SGPU_UMD_PRIMARY             (1u << 10) /* a scan-out surface                        */
#define SGPU_UMD_ROWS                (1u << 11) /* has a pitch where memory is made for it   */
#define SGPU_UMD_CPU_ON_DEMAND       (1u << 7)  /* the CPU may want to see it some time      */
#define SGPU_UMD_WHOLE               (1u << 8)  /* resident as a whole or not at all         */
#define SGPU_UMD_ONE_SEGMENT         (1u << 9)  /* not in pieces in several segments         */
#define SGPU_UMD_EXISTING            (1u << 12) /* over the client's memory: 64 KiB multiples */
#define SGPU_UMD_EXISTING_KERNEL     (1u << 13) /* ... or over the kernel's                  */
#define SGPU_UMD_PROTECTED           (1u << 14) /* nothing for the CPU to see                */
#define SGPU_UMD_HARDWARE_PROTECTED  (1u << 15) /* content of a hardware's rights management */
#define SGPU_UMD_NOTIFY_RESIDENCY    (1u << 16) /* needs ACCESSED_PHYSICALLY                 */
#define SGPU_UMD_NOTIFY_EVICTION     (1u << 17) /* before it leaves system memory            */
#define SGPU_UMD_NOTIFY_IOMMU_UNMAP  (1u << 18) /* before the device cannot reach it         */
#define SGPU_UMD_NO_LARGE_PAGES      (1u << 21) /* never map it by large pages               */
#define SGPU_UMD_ALTERNATE_VA        (1u << 22) /* the CPU keeps seeing it when it is evicted */
#define SGPU_UMD_PERMANENT           (1u << 23) /* keeps its system memory while it is in local */
#define SGPU_UMD_TILED               (1u << 24) /* tiled in local memory, the only place it has */
#define SGPU_UMD_SWIZZLED            (1u << 25) /* ... and elsewhere, until the CPU looks       */
#define SGPU_UMD_FROM_END            (1u << 27) /* placed from the end of its segment        */
#define SGPU_UMD_OVERLAY             (1u << 28) /* shown by the overlay: must not move       */
#define SGPU_UMD_CAPTURE             (1u << 29) /* captured into: must not move              */
#define SGPU_UMD_SYNCHRONOUS         (1u << 30) /* paged only while the GPU does nothing else */
#define SGPU_UMD_HISTORY             (1u << 31) /* history buffer of a context               */
#define SGPU_UMD_APERTURE_CPU_VIEW   (1u << 20) /* the driver's CPU side sees it in the aperture */
struct sgpu_umd_allocation {
    uint32_t version; /* SGPU_UMD_VERSION */
    uint32_t flags;   /* SGPU_UMD_* */
    uint64_t bytes;
    uint32_t alignment; /* 0: a page */
    uint32_t priority;  /* 0: normal; else a D3DDDI allocation priority */
};

/*
 * Private driver data of a present (DXGKARG_PRESENT.pPrivateDriverData). A surface is rows of
 * SGPU_ROW_PIXELS pixels of 32 bits, a page each, and rectangles are as wide. Sub-rectangle i is
 * written by the reference of the number 2 i + 1 and copied from number 2 i; without a source it
 * is filled by number i.
 */
#define SGPU_ROW_PIXELS 1024u
struct sgpu_umd_present {
    uint32_t version;  /* SGPU_UMD_VERSION */
    uint32_t reserved; /* 0 */
    uint64_t token;    /* as in struct sgpu_packet_render */
    uint64_t duration_ns;
};

/* Private driver data of a context (DXGKARG_CREATECONTEXT.pPrivateDriverData); none: no area. */
#define SGPU_UMD_SAVE_MAPPED                                                                       \
    (1u << 0)                          /* the GPU reaches it by virtual address, if there are any  \
                                        */
#define SGPU_UMD_SAVE_LOCAL  (1u << 1) /* it lives in local memory, else in system               */
#define SGPU_UMD_SAVE_SHARED (1u << 2) /* one for all contexts of the device on this node */
#define SGPU_UMD_SAVE_CPU_IMAGE                                                                    \
    (1u << 3) /* in system memory: the CPU writes the first image       */
struct sgpu_umd_context {
    uint32_t version;    /* SGPU_UMD_VERSION */
    uint32_t flags;      /* SGPU_UMD_SAVE_* */
    uint64_t save_bytes; /* of the context-save area, a multiple of 8; 0: none */
};

/*
 * Private driver data of a native fence (DXGKARG_CREATENATIVEFENCE.pPrivateDriverData), coming
 * back.
 */
struct sgpu_umd_native_fence {
    uint32_t version; /* SGPU_UMD_VERSION */
    uint32_t fence;   /* the number that FENCE_SIGNAL names it by */
};

/*
 * Private driver data of an escape (DXGKARG_ESCAPE.pPrivateDriverData). The values are the
 * answer.
 */
#define SGPU_ESCAPE_BOARD 1u /* how many nodes; bytes of local memory                        */
#define SGPU_ESCAPE_ID    2u /* the register SGPU_REG_ID, and 0; needs HardwareAccess        */
struct sgpu_umd_escape {
    uint32_t version; /* SGPU_UMD_VERSION */
    uint32_t code;    /* SGPU_ESCAPE_* */
    uint64_t values[2];
};

/* Command buffer of the physical model (DXGKARG_RENDER.pCommand): one or more of these. */
struct sgpu_umd_ref {
    uint32_t allocation_index; /* into the allocation list */
    uint32_t flags;            /* SGPU_REF_* */
    uint64_t offset;
    uint64_t bytes;
    uint64_t key;
    uint32_t index;        /* goes to struct sgpu_render_ref */
    uint32_t starts_piece; /* 1: the render may be interrupted in front of this one; else 0. No
                              allocation is referred to on both sides. */
};
struct sgpu_umd_render {
    uint32_t version; /* SGPU_UMD_VERSION */
    uint32_t ref_count;
    uint64_t token;
    uint64_t duration_ns;
    struct sgpu_umd_ref refs[];
};

#endif
