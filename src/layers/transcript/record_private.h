/*
 * Record: what its two sources share: the recorder, and how an item is written.
 */
#ifndef DRYDOCK_LAYERS_TRANSCRIPT_RECORD_PRIVATE_H
#define DRYDOCK_LAYERS_TRANSCRIPT_RECORD_PRIVATE_H

#include "layers/layer.h"
#include "layers/transcript/record.h"
#include "layers/transcript/transcript.h"
#include "layers/transcript/written.h"

#define OWN_MOST 1024u

/* An event that the driver has set. */
struct own {
    const struct machine_event *event;
    uint64_t number;
};

struct recorder {
    const struct base_services *services;
    struct machine *machine;
    struct nt *nt;
    struct machine_witness witness;
    struct written written;
    struct miniport_host_layer up;
    struct transcript_pages fresh; /* the range of pages that the driver has taken last */
    uint8_t *copies;               /* of what calls lend, those in others behind them */
    size_t copied;
    bool is_running; /* the driver's code */
    bool is_over;    /* nothing is written any more */
    unsigned own_count;
    uint64_t own_number;
    struct own own[OWN_MOST];
    struct transcript_writer writer;
};

/* Writes an item, its tail behind its structure; nothing, where the recorder has given up. */
void record_put(struct recorder *recorder, enum transcript_kind kind, const void *structure,
                size_t bytes, const void *tail, size_t tail_bytes);
/* The driver does what no transcript can hold: why is its last item. */
void record_give_up(struct recorder *recorder, const char *why);
/* The driver's code stops running: what it has written so far comes in front of what it does. */
void record_stop_running(struct recorder *recorder);
void record_go_on_running(struct recorder *recorder);

/* Of recorder->up.host: callbacks go up, and into the transcript. */
extern const struct miniport_host_ops record_host_ops;

#endif
