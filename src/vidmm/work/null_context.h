/*
 * Null context: a node leaves the context that it ran last before something of that is taken away.
 *
 * Place      vidmm, private. The paging queue asks before it builds an operation; submissions say
 *            what a node runs.
 * Model      A node's current context is the one whose work it was given last. Before an allocation
 *            of its device is evicted or moves, and when the adapter is put to sleep, the node is
 *            given a packet of no bytes with ContextSwitch (and Paging, where the system's context
 *            is the current one), and the operation waits until that has retired. From then on the
 *            node has no current context. Does nothing without
 *            vidmm_config.switches_to_null_context, nor below WDDM 1.2.
 * Ownership  In struct vidmm, from null_contexts_init() to null_contexts_fini(). Contexts are
 *            borrowed until null_contexts_forget().
 * Errors     STATUS_NO_MEMORY from init only: a packet is set aside for each node.
 * Source     contract.md SUB-004; docs/contract-choices.md, "Switches to the null context".
 */
#ifndef VIDMM_NULL_CONTEXT_H
#define VIDMM_NULL_CONTEXT_H

#include "vidmm/vidmm.h"

struct null_context;
struct job;

NTSTATUS null_contexts_init(struct vidmm *vidmm);
void null_contexts_fini(struct vidmm *vidmm);

/* The node was given work of the context; NULL: of the system's. */
void null_contexts_ran(struct vidmm *vidmm, unsigned node, const struct vidmm_context *context);
/* A companion ran last on the node: no allocation is its own, and nobody waits for it to leave. */
void null_contexts_ran_companion(struct vidmm *vidmm, unsigned node);
/* The context is idle and about to be destroyed. */
void null_contexts_forget(struct vidmm *vidmm, const struct vidmm_context *context);

/*
 * The adapter was reset: no node is in any context, and switches that still wait are cancelled.
 */
void null_contexts_reset(struct vidmm *vidmm);

/*
 * From now on no switch goes to the driver, until the release. True: none is with it. May be
 * repeated.
 */
bool null_contexts_hold(struct vidmm *vidmm);
/* The same of the switches that are on their way out of a context of the process. */
bool null_contexts_hold_process(struct vidmm *vidmm, const struct vidmm_process *process);
void null_contexts_release(struct vidmm *vidmm);

/*
 * True: a node has to leave a context of the device whose allocation the job takes away, and an
 * earlier operation holds the context, or the switch. Behind idle_updates_end() nobody does.
 */
bool null_contexts_need_release(const struct vidmm *vidmm, const struct job *job);
/*
 * False: the next operation of the job waits until nodes have left the contexts of the device whose
 * allocation the job takes away.
 */
bool null_contexts_may_go(struct vidmm *vidmm, const struct job *job);
/*
 * Before a sleep: true if the node of the paging queue was just told to leave the system's context.
 */
bool null_contexts_leave_paging(struct vidmm *vidmm);

#endif
