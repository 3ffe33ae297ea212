/*
 * Service fault: a service of the bench reads or writes where an argument of the image led it.
 *
 * Place      nt, private to the files of exceptions. fault.c asks in a signal's handler.
 * Model      A service looks at no pointer before it uses it, as on Windows: there the fault in the
 *            middle of the kernel is the driver's, and so it is here when one of the arguments
 *            explains it:
 *
 *                the argument is the address, or lies before it by less than 64 KiB, or by
 *                less than another argument's number
 *
 *                the memory at the argument has a pointer to it in its first 512 bytes
 *
 *            A fault that no argument explains may be a mistake of the bench's, or of a driver that
 *            wrote over memory of the bench: it stays a crash of the bench, and says where. Names
 *            of parameters are those of include/wdk (scripts/service-parameters.awk).
 * Errors     None. Fit for signal handlers: memory is looked at by a system call, which cannot
 *            fault.
 */
#ifndef DRYDOCK_NT_SERVICE_FAULT_H
#define DRYDOCK_NT_SERVICE_FAULT_H

#include "nt/machine/boundary.h"
#include "nt/nt.h"

#include <stdbool.h>
#include <stdint.h>

struct service_fault {
    const char *name; /* of the service; NULL: it was in none */
    bool is_callback; /* of the graphics kernel's: the driver's handlers are not asked */
    bool is_explained;
    KIRQL irql;         /* at which the service looks at the argument, at least */
    char argument[240]; /* "its Event is 0x10"; with all of them when none explains it */
};

/*
 * In the service that the call is for, an access to this address faulted; UINT64_MAX: one that the
 * processor does not tell, because it is none.
 */
void service_fault_explain(const struct nt *nt, const struct boundary_call *call, uint64_t address,
                           struct service_fault *out);

#endif
