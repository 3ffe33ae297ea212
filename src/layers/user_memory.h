/*
 * User memory: a layer that lets a client touch its command buffer while the driver reads it.
 *
 * Place      layers. Above the layers that judge, so that the driver's answers are judged; the
 *            layers above never hear of the trial.
 * Model      pCommand is memory of a process, which other threads of it write, unmap or protect
 *            whenever they like. Before some calls of DxgkDdiRender the driver gets trials: the
 *            same call, with a copy of the commands in pages of its own. In the first trial nothing
 *            changes, and the driver's reads are counted; each instruction is one. In the second:
 *
 *                reads   1   2   3  ...  n | n+1 ...
 *                finds   what the client   | all ones, zeros, each word one more, or
 *                        has written       | the highest bit of each word turned
 *
 *            A driver that copies, then looks at the copy, succeeds or finds a bad command. One
 *            that looks and then reads again uses what it has not looked at, which breaks rules.
 *            In other trials, of drivers that can handle exceptions, some of the pages are not
 *            there: reading them raises STATUS_ACCESS_VIOLATION. What a trial answers is thrown
 *            away, as when the client's device is in error by then, and the call follows as if
 *            there had been no trial. The calls, n and the bytes are choices of the seed.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's. The pages are
 *            mapped once and kept until the layer ends.
 * Limits     x86-64 Linux; elsewhere there is no trial. One layer of a process tries at a time. A
 *            read costs two signals.
 * Errors     STATUS_NO_MEMORY.
 * Source     contract.md PATCH-016; the page of DxgkDdiRender.
 */
#ifndef DRYDOCK_LAYERS_USER_MEMORY_H
#define DRYDOCK_LAYERS_USER_MEMORY_H

#include "base/services.h"
#include "miniport/miniport.h"
#include "nt/nt.h"

#include <stdint.h>

struct user_memory_config {
    uint64_t seed;
    struct nt *nt; /* whose exceptions the driver handles; NULL: it handles none */
    void *context;
    /* Around each trial; may be NULL. */
    void (*begin)(void *context);
    void (*end)(void *context);
};

NTSTATUS user_memory_layer_create(const struct base_services *services,
                                  const struct user_memory_config *config, struct miniport *next,
                                  struct miniport **out_layer);

/* Trials so far, and those in which the driver read bytes that had changed. */
struct user_memory_counts {
    uint64_t trials, changed, gone;
};
struct user_memory_counts user_memory_layer_counts(const struct miniport *layer);

#endif
