/*
 * Perfetto trace: a story for ui.perfetto.dev and its trace processor.
 *
 * Place      report. Uses story.
 * Model      A file of TrackEvent packets (protobuf; https://perfetto.dev/docs/reference/
 *            synthetic-track-event), of which trace.proto has the part that is used. Each process
 *            of the run is a process of the trace, with its contexts and requests as tracks; "GPU"
 *            has a track for each node and the interrupts; "Memory manager" has paging
 *            operations, calls, steps, prints and findings, and the counters of the segments.
 *
 *            Slices of one track nest. Work that overlaps is put on several tracks of one name,
 *            which the page of Perfetto shows as one.
 *
 *            A flow leads from a paging operation, or a submission, to its packet, from the packet
 *            to the interrupt that told its end, and from there to the request that waited. A flow
 *            is written only where both of its ends are.
 * Time       Virtual nanoseconds of the run.
 * Safety     All texts are bytes of a length that is told; what is no UTF-8 becomes U+FFFD.
 */
#ifndef DRYDOCK_REPORT_TRACE_PERFETTO_H
#define DRYDOCK_REPORT_TRACE_PERFETTO_H

#include "story/story.h"

#include <stdbool.h>
#include <stdio.h>

struct perfetto_options {
    bool leaves_out_calls;
};

struct perfetto_counts {
    uint64_t tracks, slices, instants, counters, flows;
};

/* False: no memory, or the file cannot be written (errno). */
bool perfetto_write(FILE *out, const struct story *story, const struct perfetto_options *options,
                    struct perfetto_counts *out_counts);

#endif
