/*
 * Zoo: planted defects, to see what the bench finds, and lawful drivers, of which it must say
 * nothing.
 *
 * Place      zoo, beside the sources. Uses base, miniport and the WDK's headers, and the manual of
 *            the modelled GPU where a defect changes commands. Nothing of the bench knows it: the
 *            command line makes each defect a driver, "zoo:ID".
 * Model      A defect is a layer right above the reference driver (which stays clean), or above
 *            that of display-only drivers, that deviates in one documented way: it alters arguments
 *            on their way in, or bytes, pointers, statuses and timing on their way out. The
 *            patterns are those of real drivers and of the contract. Each stands in the table of
 *            its file (zoo_paging.c, ...); zoo.c lists the files. A lawful driver is such a layer,
 *            too: it does what is unusual and what the contract allows, so that a finding about it
 *            is the bench's mistake. Lawful drivers stand in zoo_lawful_paging.c, _work.c and
 *            _memory.c.
 * Ownership  create gives a miniport that owns next; on failure next is still the caller's.
 */
#ifndef DRYDOCK_ZOO_ZOO_H
#define DRYDOCK_ZOO_ZOO_H

#include "base/services.h"
#include "miniport/miniport.h"

#include <stdbool.h>
#include <stddef.h>

enum zoo_models { ZOO_PHYSICAL = 1, ZOO_GPUMMU = 2, ZOO_IOMMU = 4, ZOO_BOTH = 3, ZOO_ALL = 7 };

struct zoo_layer;

struct zoo_defect {
    const char *id;        /* "D10-pointer-stays" */
    const char *sentence;  /* what it does */
    unsigned models;       /* in which it can be seen: enum zoo_models */
    const char *rules;     /* ids of rules of which one should fire, separated by spaces; or
                            * the kind of a finding where the contract has no rule: "leak" */
    const char *since;     /* version of the bench that finds it first; NULL: it does not */
    const char *profile;   /* under which it is a mistake; NULL: under any */
    const char *lawful;    /* the page that allows it; NULL: a defect. rules is "", since NULL */
    bool is_display_only;  /* over the reference driver of that kind */
    bool calls_functions;  /* of the kernel's tables, which over an image are the image's alone */
    bool is_particular;    /* only one lawful reading serves it: not run_driver.is_tolerant */
    uint32_t local_traits; /* of the board that it is for: SGPU_TRAIT_* */
    /*
     * What each seed of its row has, since few seeds draw it: options of a run and settings of the
     * generator of random cases, "restart-after=12 rows=yes"; NULL: what a seed draws.
     */
    const char *focus;
    unsigned run_seconds; /* until a run of its row counts as hung; 0: a few, as runs are short */
    /* What is otherwise; one of them, the rest forwards. */
    void (*alter)(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg); /* on its way in */
    NTSTATUS (*build)(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg);
    void (*plant)(struct zoo_layer *layer); /* puts other functions in place */
    /* ... of the table that the driver registers: what its functions do stays as it is */
    void (*registers)(DRIVER_INITIALIZATION_DATA *table);
};

/* What a defect works with. miniport is first, so a function finds its layer from self. */
struct zoo_layer {
    struct miniport miniport;
    struct miniport_ops ops;
    struct miniport_host_layer host; /* in use when plant changes host_ops */
    struct miniport_host_ops host_ops;
    const struct base_services *services;
    const struct zoo_defect *defect;
    uint64_t calls;    /* for the defect's own count */
    uint64_t state[8]; /* for whatever it must remember */
    char *registers;   /* where the driver has them, if plant has called zoo_note_registers() */
    union {            /* ... and more than that */
        uint64_t words[512];
        DXGKARGCB_NOTIFY_INTERRUPT_DATA reports[16];
    } memory;
};

static inline struct zoo_layer *zoo_layer_of(struct miniport *self)
{
    return (struct zoo_layer *)self;
}

static inline struct zoo_layer *zoo_layer_of_host(struct miniport_host *host)
{
    return (struct zoo_layer *)((char *)host - offsetof(struct zoo_layer, host.host));
}

/* Goes on with a report of the driver's, at device IRQL. */
static inline void zoo_tell(struct zoo_layer *layer, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    layer->host.upper->ops->notify_interrupt(layer->host.upper, data);
}

static inline bool zoo_is_completion(const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    return data->InterruptType == DXGK_INTERRUPT_DMA_COMPLETED;
}

/* Has the driver build another operation than the kernel asked for. */
NTSTATUS zoo_build_as(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg,
                      DXGKARG_BUILDPAGINGBUFFER *as);

/* A first DMA buffer that does nothing: Render has to be called again for the commands. */
NTSTATUS zoo_render_nothing(DXGKARG_RENDER *arg);

/*
 * A mapping of the driver's is the registers: they are not cached, and its own local memory, which
 * may be as long as they are, is write-combined.
 */
bool zoo_is_of_registers(ULONG length, ULONG cache_type);

/* From now on the layer notes where the driver maps the registers. */
void zoo_note_registers(struct zoo_layer *layer);

/* Tells the kernel that a node was preempted, at device IRQL, and queues a DPC. */
void zoo_tell_preempted(struct zoo_layer *layer, unsigned node, uint64_t preemption_fence,
                        uint64_t last_fence);

/* By number from 0; NULL behind the last. */
const struct zoo_defect *zoo_defect_at(unsigned index);
const struct zoo_defect *zoo_lawful_at(unsigned index);
/* Of both kinds; NULL: there is none. */
const struct zoo_defect *zoo_find(const char *id);
/* It can be played over an image of that kind. */
bool zoo_suits_image(const struct zoo_defect *defect, bool is_display_only);

NTSTATUS zoo_create(const struct zoo_defect *defect, const struct base_services *services,
                    struct miniport *next, struct miniport **out_layer);

#endif
