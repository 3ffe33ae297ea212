#include "vidmm/rig/test_rig_told.h"

#include "vidmm/vidmm.h"

#include "base/services.h"
#include "tests/told.h"
#include "trace/trace.h"

static void tell_call(void *context, const struct trace_event *event)
{
    char line[4096];

    trace_event_format(event, line, sizeof line);
    told_text(line);
}

struct miniport *rig_told_begin(struct rig *rig)
{
    const struct trace_sink sink = {.event = tell_call};
    struct miniport *trace;

    if (!told_is_wanted())
        return &rig->miniport;
    assert_int_equal(miniport_trace_create(base_services_libc(), &rig->miniport, &trace),
                     STATUS_SUCCESS);
    miniport_trace_set_sink(trace, &sink);
    return trace;
}

void rig_told_end(struct miniport *top)
{
    miniport_destroy(top);
}

void rig_told_state(const struct rig *rig)
{
    struct vidmm_segment_info info;

    if (!told_is_wanted())
        return;
    told_numbers(vidmm_statistics(rig->vidmm), sizeof(struct vidmm_statistics));
    for (unsigned id = 1; id <= vidmm_segment_count(rig->vidmm); id++) {
        vidmm_segment_info(rig->vidmm, id, &info);
        told_number(info.base);
        told_number(info.size);
        told_number(info.used);
        told_number(info.peak_used);
        told_number(info.allocation_count);
    }
}
