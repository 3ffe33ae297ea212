/*
 * Stage: a test rig of the trace layer. A bottom below the layer does what a test tells it, a host
 * above it answers the driver's callbacks, and a sink collects the lines.
 *
 * Place      trace, tests only.
 * Model      The bottom is one for the program. stage_init() sets its state to zero and puts a
 *            trace layer above it; stage_fini() destroys the layer, and with it the bottom, once.
 * Ownership  A stage is the test's own memory. The layer's memory comes from `memory`, where a test
 *            may let an allocation fail; none may be left at the end.
 */
#ifndef DRYDOCK_TRACE_TEST_STAGE_H
#define DRYDOCK_TRACE_TEST_STAGE_H

#include "trace/trace.h"

#include "base/bits.h"
#include "base/failing_services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a test tells the bottom, and what the bottom was last called with. */
struct stage_bottom {
    NTSTATUS status;
    const void *object;
    const void *argument;
    UINT written; /* by which BuildPagingBuffer and Render move pDmaBuffer */
    HANDLE created;
    struct miniport_host *host;
    unsigned destroyed_count;
};

extern struct stage_bottom bottom_state;
extern struct miniport bottom;
extern struct miniport_host top;

struct stage {
    struct failing_services memory;
    struct miniport *trace;
    char text[16384];
    size_t length;
    unsigned event_count;
    uint64_t last_sequence;
};

void stage_init(struct stage *stage, bool has_sink);
void stage_fini(struct stage *stage);

/* The lines since the last call of this. */
#define assert_lines(stage, golden)                                                                \
    do {                                                                                           \
        assert_string_equal((stage)->text, golden);                                                \
        (stage)->length = 0;                                                                       \
        (stage)->text[0] = '\0';                                                                   \
    } while (0)

#endif
