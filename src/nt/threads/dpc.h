/*
 * The queue of DPCs.
 *
 * Place      nt, private: for timers, which queue DPCs, or routines as if they were.
 */
#ifndef DRYDOCK_NT_DPC_H
#define DRYDOCK_NT_DPC_H

#include "nt/nt.h"

/*
 * Queues the driver's routine with four arguments, for the object whose address is key. False: that
 * object is queued already.
 */
bool nt_dpc_queue(struct nt *nt, const void *key, const void *routine, void *const arguments[4],
                  unsigned importance);
bool nt_dpc_remove(struct nt *nt, const void *key);
bool nt_dpc_insert(struct nt *nt, const char *service, PRKDPC dpc, void *first, void *second);

#endif
