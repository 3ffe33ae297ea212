/*
 * Test rig of the checking layer, continued: a buffer of commands with four addresses in it, which
 * a driver of the physical model renders, patches and submits.
 *
 * Place      check, tests only.
 * Model      What the driver does wrong is set in struct rig_commands before its call. Location i
 *            of the buffer is in allocation i % 2 of the list.
 */
#ifndef DRYDOCK_CHECK_TEST_RIG_COMMANDS_H
#define DRYDOCK_CHECK_TEST_RIG_COMMANDS_H

#include "check/rig/test_rig_submit.h"

#define RIG_LOCATIONS         4u
#define RIG_LOCATION_BYTES    64u /* of commands, with an address at the start of each */
#define RIG_COMMANDS_BYTES    4096u
#define RIG_COMMANDS_PHYSICAL 0x50000

/* Commands of the rig's client: allocation i at 1 MiB * (i + 1) of local memory. */
struct rig_commands {
    char *buffer;
    DXGK_ALLOCATIONLIST allocations[2];
    D3DDDI_PATCHLOCATIONLIST locations[RIG_LOCATIONS];
    /* What the driver does wrong. */
    NTSTATUS status;
    unsigned multipass;
    uint32_t bytes;       /* of the command buffer */
    unsigned slot, split; /* of location 1 */
    uint32_t prepatch_error, patch_error;
    uint32_t patch_offset;      /* of location 0, when not 0 */
    uint32_t allocation_offset; /* of location 1, when not 0 */
    bool patches_all, patches_once, edits;
    int64_t writes_at; /* when not 0 */
};

/* They are the rig's from here on, and the rig answers by them. */
struct rig_commands *rig_new_commands(struct rig *rig);

NTSTATUS rig_render_commands(struct rig *rig, struct rig_commands *commands);

/* Locations [first, end) and their commands. */
DXGKARG_PATCH rig_patch_of(struct rig *rig, struct rig_commands *commands, unsigned first,
                           unsigned end);
DXGKARG_SUBMITCOMMAND rig_submit_of(const struct rig *rig, const DXGKARG_PATCH *patch);

/* Gives the fence. */
uint32_t rig_patch_and_submit(struct rig *rig, struct rig_commands *commands, unsigned first,
                              unsigned end);
/* Everything, in one piece. */
uint32_t rig_run_commands(struct rig *rig, struct rig_commands *commands);

#endif
