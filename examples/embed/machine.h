/*
 * A machine for a display driver in a program of one's own: RAM, the memory of a board behind
 * BAR 1, deferred procedure calls, and the eight functions of the kernel that the driver imports.
 *
 * Model      RAM is page frames 0 to MACHINE_PAGES; the board's memory lies at MACHINE_BOARD on the
 *            bus. A DPC waits until machine_run() calls it. There is no interrupt: this driver's
 *            engines are its DPCs.
 */
#ifndef EMBED_MACHINE_H
#define EMBED_MACHINE_H

#include <vidmm/vidmm.h>

#include <base/services.h>
#include <miniport/miniport.h>

#define MACHINE_PAGES       32768u /* 128 MiB */
#define MACHINE_BOARD       UINT64_C(0xe0000000)
#define MACHINE_BOARD_BYTES (UINT64_C(16) << 20)

#ifdef __cplusplus
extern "C" {
#endif

struct machine {
    struct miniport_host host; /* first: the host that the driver's callbacks reach */
    struct miniport *miniport;
    struct vidmm *vidmm;
    int ram; /* a memory file: pages can be shown in any order */
    unsigned char *ram_view, *board;
    unsigned char is_taken[MACHINE_PAGES];
    CM_RESOURCE_LIST *resources;
    bool is_dpc_queued;
};

/* Loads the driver (its DriverEntry is linked in), adds and starts its device. */
NTSTATUS machine_begin(struct machine *machine);
void machine_end(struct machine *machine);

/* What vidmm_create() is told of this machine. */
struct vidmm_platform machine_platform(struct machine *machine);

/* Lets the driver work until the manager is idle. */
void machine_run(struct machine *machine);

/* Where the CPU sees a physical address. */
unsigned char *machine_at(struct machine *machine, uint64_t address);

#ifdef __cplusplus
}
#endif

#endif
