/*
 * Blame: where a finding stands that is seen behind the call that made the mistake.
 *
 * Place      check, private. Watchers call it around CHECK_RULE() and check_report().
 * Model      A finding stands at the call that is happening, unless a watcher says whose mistake it
 *            is before it reports, and ends that with check_blame_current(). (What is found while
 *            the GPU faults stands at the call that built its commands, without being told.)
 *
 *                check_blame_operation(check, claim->number);
 *                check_report(check, RULE_APER_002, ...);
 *                check_blame_current(check);
 *
 *            The finding then has the path, the number and the arguments of the call that built the
 *            operation. The earliest call with a mistake is the cause of a run's findings.
 *            Operations that are long gone are not known any more: their findings stand where they
 *            are seen.
 */
#ifndef DRYDOCK_CHECK_BLAME_H
#define DRYDOCK_CHECK_BLAME_H

#include "check/report/finding.h"
#include "miniport/miniport.h"

#include <stdint.h>

struct check;
struct check_call;
struct check_packet;

/* A call of this function; event 0: it has no number that counts. */
void check_blame_call(struct check *check, enum miniport_ddi ddi, uint64_t event);
/* The call that built the paging operation with this number of the ledger; 0 is none. */
void check_blame_operation(struct check *check, uint64_t number);
/* The call that submitted the packet; NULL is none. */
void check_blame_packet(struct check *check, const struct check_packet *packet);
/*
 * The call that built the commands, so many bytes, that stand offset bytes behind the start of the
 * submission; of a client's packet, or where nobody knows it, the call that submitted them.
 */
void check_blame_commands(struct check *check, const struct check_packet *packet, uint64_t offset,
                          uint32_t bytes);
void check_blame_current(struct check *check);

/* Findings until check_blame_byte(check, NULL) are about this byte that the call has written. */
void check_blame_byte(struct check *check, const void *byte);

/*
 * The paging operation whose commands stand there; 0: nobody knows. *out_commands: the call that
 * wrote them, and where they stand in what it wrote. NULL: not asked for.
 */
uint64_t check_operation_at(const struct check_packet *packet, uint64_t offset,
                            struct finding_commands *out_commands);

/* The operation as it was asked for; its pointers lead nowhere any more. NULL: not known. */
const DXGKARG_BUILDPAGINGBUFFER *check_find_asked(const struct check *check, uint64_t number);

/* The rule that an operation breaks which writes entries where it is not asked to. */
enum rule_id check_rule_of_entries(const struct check *check, uint64_t number);

/* For the layer: a paging operation is asked for. And at the end. */
void check_past_note(struct check *check, const struct check_call *call);
void check_past_fini(struct check *check);

#endif
