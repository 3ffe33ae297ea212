/*
 * Guard answers: memory of the kernel that a callback hands to the driver for the life of the
 * device stands between guards.
 *
 * Place      layers, private to guard.c.
 * Model      A host between the driver and the layers above. DxgkCbGetDeviceInformation gives a
 *            resource list and a path by pointer: the driver gets copies of both in slots
 *            (guard_slots.h), which stay lent until the device is removed. The bytes around them
 *            are looked at when DxgkDdiStartDevice and DxgkDdiStopDevice return, and at the end.
 *            What the driver does to the copies themselves is not judged: no page calls them [in].
 *            The other callbacks hand out no memory of the bench: registers are mapped between
 *            pages that nobody may touch, data of handles is the driver's own.
 * Ownership  guard_answers_init() on zeroed memory. The slots and what config names are borrowed.
 * Errors     What finds no slot goes to the driver as it is.
 */
#ifndef DRYDOCK_LAYERS_GUARD_ANSWERS_H
#define DRYDOCK_LAYERS_GUARD_ANSWERS_H

#include "layers/guard.h"
#include "layers/guard_slots.h"

#define GUARD_ANSWERS_MOST 8u /* two for each start of the device */

struct guard_answers {
    struct miniport_host_layer host; /* first */
    struct miniport_host_ops ops;
    const struct guard_config *config;
    struct guard_slots *slots; /* NULL: nothing is lent */
    struct guard_slot *lent[GUARD_ANSWERS_MOST];
    unsigned count;
};

void guard_answers_init(struct guard_answers *answers, const struct guard_config *config,
                        struct guard_slots *slots);
/* The host for the driver: upper is above it, NULL: none. */
struct miniport_host *guard_answers_host(struct guard_answers *answers,
                                         struct miniport_host *upper);
/* Reports the bytes around what is lent that were written. */
void guard_answers_look(struct guard_answers *answers);
/* The same, and nothing is lent any more. */
void guard_answers_end(struct guard_answers *answers);

#endif
