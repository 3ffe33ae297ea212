/*
 * Retold: a driver that is not there, from a transcript of what it answered and did.
 *
 * Place      layers. The bottom of a stack in place of a driver's own table (miniport/raw.h). Makes
 *            a run possible that judges a driver in a process that never had it.
 * Model      Each call of the manager must be the next one of the transcript; then what the driver
 *            did meanwhile is done again to this run's machine, its callbacks are called, and its
 *            answer is put into what the call lends. The manager, the machine, the GPU, the checks
 *            and the oracle are this run's own: they compute the calls themselves, and judge the
 *            answers as they judge a driver's. Handles and addresses that the driver got in its run
 *            are replaced by those of this one.
 * Ownership  retold_create() gives the driver, which ends with retold_destroy(); its miniport is
 *            its own. The bytes are borrowed.
 * Errors     The transcript is the word of a driver: whatever stands there, only this run's model
 *            of a machine is touched. Where it does not fit the calls, or ends, stop() is called,
 *            which must not return.
 */
#ifndef DRYDOCK_LAYERS_RETOLD_H
#define DRYDOCK_LAYERS_RETOLD_H

#include "base/services.h"
#include "machine/machine.h"
#include "miniport/miniport.h"
#include "nt/nt.h"

struct retold;

enum retold_end {
    RETOLD_CONTRADICTS, /* it does not fit what the manager and the machine do */
    RETOLD_UNFOLLOWED,  /* the driver did something that is not written down */
};

struct retold_config {
    const struct base_services *services;
    struct machine *machine;
    struct nt *nt;
    const uint8_t *bytes;
    uint64_t size;
    void *context;
    void (*stop)(void *context, enum retold_end end, const char *why);
};

NTSTATUS retold_create(const struct retold_config *config, struct retold **out_retold);
void retold_destroy(struct retold *retold);

/* DriverEntry, before the first call; Unload, behind the last. NULL: nothing. */
void retold_enter(struct retold *retold);
void retold_unload(struct retold *retold);

/* As miniport_raw_ask_anew(). */
void retold_ask_anew(struct retold *retold);

/* The driver of the stack. Its destroy does nothing. */
struct miniport *retold_miniport(struct retold *retold);

#endif
