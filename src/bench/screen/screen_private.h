/*
 * Screen, inside.
 */
#ifndef DRYDOCK_BENCH_SCREEN_PRIVATE_H
#define DRYDOCK_BENCH_SCREEN_PRIVATE_H

#include "bench/screen/screen.h"

#include "base/rng.h"

#define SCREEN_SOURCE    0u
#define SCREEN_SETTLE_NS 2000000u /* between two calls that change what is shown */

/*
 * An image of the system's, which ends in front of a page of nobody's. The driver may read it where
 * it lies, or by an MDL: then it sees pages of the machine with the same content.
 */
struct screen_image {
    uint8_t *pages; /* NULL: none */
    size_t page_bytes;
    uint64_t *pfns; /* of the machine, one for each page but the last */
    size_t pfn_count;
    uint8_t *pixels;
    size_t bytes;
};

/* A child that has come or gone, as the driver has told. */
struct screen_change {
    ULONG child;
    bool is_connected;
};

struct screen {
    struct screen_config config;
    struct display *display;
    struct rng rng;
    ULONG sources, children;
    DXGK_CHILD_DESCRIPTOR *relations; /* children + 1 of them */
    DXGK_DRIVERCAPS caps;

    /* What the driver has told of children, and nobody has attended to; the oldest first. */
    struct screen_change changes[DISPLAY_MOST_TARGETS];
    unsigned change_count;

    /* What is shown. */
    D3DDDI_VIDEO_PRESENT_TARGET_ID target;
    bool has_target;                 /* false: no child has a monitor */
    struct display_network *network; /* committed; NULL: none */
    D3DKMDT_VIDPN_SOURCE_MODE mode;
    bool is_visible, is_over; /* is_over: there is nothing to show any more */
    struct screen_image image;
    unsigned presents;

    /* A present that returned STATUS_PENDING. */
    bool is_pending, has_failed; /* the present, and by its report */
    bool has_differed;           /* the monitor, from the image; told once */

    /* The pointer. */
    struct screen_image shape;
    bool has_shape;
};

/* ---- screen_calls.c -------------------------------------------------------------------------- */

/* The machine goes on for so long. */
void screen_pass(struct screen *screen, uint64_t ns);
/*
 * A call returned a status that leaves nothing to show; told, and the showing is over. True:
 * STATUS_SUCCESS.
 */
bool screen_succeeds(struct screen *screen, const char *ddi, NTSTATUS status);
bool screen_has(const struct screen *screen, enum miniport_ddi ddi);

/* ---- screen.c -------------------------------------------------------------------------------- */

/* A mode of the target, made visible, and an image; without a target: nothing is shown any more. */
bool screen_show_target(struct screen *screen);

/* ---- screen_modes.c -------------------------------------------------------------------------- */

/* Told once: what follows from it is not. False. */
bool screen_give_up(struct screen *screen, const char *why);
/* A mode, negotiated and committed; not visible yet. */
bool screen_set_mode(struct screen *screen);
/* Nothing is shown: a network without a path, committed. */
bool screen_show_nothing(struct screen *screen);
/* The network that is committed is committed again, as after a sleep. */
bool screen_commit_again(struct screen *screen);
bool screen_set_visible(struct screen *screen, bool is_visible);
void screen_forget_mode(struct screen *screen);

/* ---- screen_children.c ----------------------------------------------------------------------- */

/* What the children are, and the first one that has a monitor. False: there is nothing to show. */
bool screen_find_children(struct screen *screen);
/* The driver says that a child has come or gone; in any of its calls, and at DISPATCH_LEVEL. */
void screen_child_changed(void *context, const DXGK_CHILD_STATUS *status);

/* ---- screen_present.c ------------------------------------------------------------------------ */

bool screen_make_image(struct screen *screen, struct screen_image *image, size_t bytes);
void screen_free_image(struct screen *screen, struct screen_image *image);
void screen_present(struct screen *screen, bool is_whole);
void screen_move_pointer(struct screen *screen);
void screen_interrupted(void *context, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);

/* ---- screen_shown.c -------------------------------------------------------------------------- */

/* Compares the monitor with the image, which has rows of pitch bytes. */
void screen_compare(struct screen *screen, const DXGKARG_PRESENT_DISPLAYONLY *arg);

#endif
