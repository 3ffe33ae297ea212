/* Notes: the words for their enumerations. */
#include "vidmm/notes.h"

#include "base/bits.h"

#define NAMES(function, count, ...)                                                                \
    const char *function(unsigned value)                                                           \
    {                                                                                              \
        static const char *const names[] = {__VA_ARGS__};                                          \
                                                                                                   \
        _Static_assert(ARRAY_COUNT(names) == (count), "a word for each value");                    \
        return value < (count) ? names[value] : "?";                                               \
    }

NAMES(vidmm_note_name, VIDMM_NOTE_KINDS, "object", "object ends", "list", "request",
      "request waits", "request begins", "request ends", "given up", "victim", "offer", "budget",
      "trim", "departs", "placed", "left", "state", "range", "sample", "mapping", "job", "job ends",
      "queue waits", "operation", "operation built", "entries", "submission", "packet",
      "fence value", "fence waits", "fence wait ends")

NAMES(vidmm_object_name, VIDMM_OBJECT_KINDS, "process", "device", "context", "allocation",
      "own allocation", "buffer", "instance", "native fence")

NAMES(vidmm_request_name, VIDMM_REQUEST_KINDS, "client", "reclaim", "submission", "lock", "tables",
      "update")

NAMES(vidmm_wait_name, VIDMM_WAITS, "request", "turn", "room", "departure", "lock", "tables",
      "compaction", "paging")

NAMES(vidmm_victim_group_name, 3, "offered", "over budget", "priority")

NAMES(vidmm_place_reason_name, VIDMM_PLACE_REASONS, "asked", "ahead", "move", "evicted", "dropped",
      "destroyed", "moved", "lost", "unused")

NAMES(vidmm_range_name, VIDMM_RANGE_USES, "tables", "buffers", "eviction")

NAMES(vidmm_state_name, VIDMM_STATES, "empty", "backed", "entering", "resident", "leaving", "dying")

NAMES(vidmm_queue_wait_name, VIDMM_QUEUE_WAITS, "job", "idle", "context", "slots", "buffer",
      "given way")

NAMES(vidmm_packet_name, VIDMM_PACKET_KINDS, "paging", "submission", "switch")

NAMES(vidmm_packet_step_name, VIDMM_PACKET_STEPS, "queued", "submitted", "came back", "retired")
