/*
 * Display, inside: objects that have handles, sets of modes, what is lent.
 *
 * Place      display, private.
 *
 *            | file         | what it does                                                    |
 *            | display.c    | life of a display, tables of functions, settling                |
 *            | objects.c    | handles; infos that are lent; misuse                            |
 *            | mode_sets.c  | sets of modes of any kind, and the functions of the three kinds |
 *            | topology.c   | paths                                                           |
 *            | network.c    | networks: their functions, and what the kernel asks of them     |
 *            | monitor.c    | EDIDs, monitors                                                 |
 */
#ifndef DRYDOCK_DISPLAY_DISPLAY_PRIVATE_H
#define DRYDOCK_DISPLAY_DISPLAY_PRIVATE_H

#include "display/display.h"

#include "base/list.h"

enum object_kind {
    OBJECT_NETWORK,
    OBJECT_TOPOLOGY,
    OBJECT_SOURCE_SET,
    OBJECT_TARGET_SET,
    OBJECT_MONITOR_SET,
    OBJECT_DESCRIPTORS, /* of a monitor */
    OBJECT_RANGES,
};

/* What has a handle. */
struct object {
    struct list link; /* in display.objects */
    enum object_kind kind;
    struct display *display;
    void *handle;
};

struct mode_family;

/* A mode, with a structure of its family's size behind it. */
struct mode {
    struct list link;
    uint64_t id;
};

struct mode_set {
    struct object object;
    const struct mode_family *family;
    struct display_network *network; /* NULL: of a monitor */
    uint32_t owner;                  /* source or target */
    bool is_new;                     /* created by the driver, and not assigned yet */
    unsigned acquired;               /* by the driver, and not released */
    bool is_replaced;                /* another one has been assigned; goes when it is released */
    struct list link;                /* in the network's sets */
    struct list modes;
    struct mode *pinned; /* NULL: none */
};

struct path {
    struct list link;
    D3DKMDT_VIDPN_PRESENT_PATH info;
};

struct display_network {
    struct object object;
    struct object topology;
    struct list link; /* in display.networks */
    struct list paths;
    struct list sets; /* of sources and targets, and those that are not assigned */
};

/* An info that a driver has. Behind it: the info, LENT_GUARD bytes, the info as it was given. */
struct lent {
    struct list link; /* in display.lent */
    struct display *display;
    const struct object *of; /* NULL: it has gone, and the driver has the info all the same */
    bool is_of_monitor;
    const char *by;   /* the function that gave it */
    const void *item; /* the mode or path; NULL: a new one, which the driver fills */
    size_t bytes;
    bool is_over; /* released, or added */
};

#define LENT_GUARD      64u
#define LENT_GUARD_BYTE 0xC7
#define LENT_POISON     0xDD

struct monitor {
    struct list link; /* in display.unplugged, else nowhere */
    struct object descriptors, ranges;
    struct mode_set *set;
    uint8_t edid[DISPLAY_EDID_BYTES];
    bool has_edid;
    D3DKMDT_MONITOR_DESCRIPTOR descriptor;
};

struct target {
    D3DDDI_VIDEO_PRESENT_TARGET_ID id;
    struct monitor *monitor; /* NULL: none is plugged in */
};

struct display {
    struct display_config config;
    struct list link; /* of all displays of the process */
    struct list objects, networks, lent;
    struct list unplugged; /* monitors that have gone, and of which the driver may have something */
    HANDLE adapter;        /* by which its driver knows it */
    struct target targets[DISPLAY_MOST_TARGETS];
    unsigned target_count;
    UINT next_id; /* of modes */
    DXGK_VIDPN_INTERFACE vidpn[2];
    DXGK_VIDPNTOPOLOGY_INTERFACE topology;
    DXGK_VIDPNSOURCEMODESET_INTERFACE source_modes;
    DXGK_VIDPNTARGETMODESET_INTERFACE target_modes;
    DXGK_MONITORSOURCEMODESET_INTERFACE monitor_modes;
    DXGK_MONITORDESCRIPTORSET_INTERFACE descriptors;
    DXGK_MONITORFREQUENCYRANGESET_INTERFACE ranges;
    DXGK_MONITOR_INTERFACE monitor;
    DXGK_MONITOR_INTERFACE_V2 monitor2;
};

/* ---- objects.c ------------------------------------------------------------------------------- */

/* Among those of the process, whose handles are found. */
void display_enter(struct display *display);
void display_leave(struct display *display);

const char *object_kind_name(enum object_kind kind);
bool object_is_of_monitor(const struct object *object);
/* Infos that the driver has are told, and all end; true: it had none. */
bool infos_settle(struct display *display, const char *ddi, bool of_monitors);
/* Whatever the driver has. */
void infos_forget(struct display *display);

void object_init(struct object *object, struct display *display, enum object_kind kind);
void object_fini(struct object *object);

/*
 * The object behind a handle, in any display of the process; NULL: it is none of this kind, and
 * that has been told. Tells called().
 */
struct object *object_find(const void *handle, enum object_kind kind, const char *function);

void display_misuse(const struct display *display, const char *function, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether the driver has given room for an answer; it is told if not. */
bool display_has_room(const struct display *display, const char *function, const void *out);

const struct target *display_find_target(const struct display *display,
                                         D3DDDI_VIDEO_PRESENT_TARGET_ID id);
/* The display of an adapter's handle; NULL: told, as far as there is one to tell it. */
struct display *display_of_adapter(const void *adapter, const char *function);

/* A copy of bytes for the driver; NULL: no memory. */
void *lend_info(const struct object *of, const char *function, const void *item, const void *info,
                size_t bytes);
/*
 * The info at this address, which is the object's and has not been given back; NULL: it is not,
 * and that has been told.
 */
struct lent *find_lent(const struct object *of, const char *function, const void *info);
/* The driver has it no more. */
void end_lent(struct lent *lent, const char *function);
void *lent_info(struct lent *lent);
/* The object goes. What is lent of it stays the driver's, and is told as left when all settles. */
void end_lent_of(const struct object *of);

/* ---- mode_sets.c ----------------------------------------------------------------------------- */

extern const struct mode_family source_family, target_family, monitor_family;

NTSTATUS mode_set_create(struct display *display, struct display_network *network,
                         const struct mode_family *family, uint32_t owner,
                         struct mode_set **out_set);
void mode_set_destroy(struct mode_set *set);
/* NULL: no memory. Gives the mode its identifier. */
struct mode *mode_set_add(struct mode_set *set, const void *info);
struct mode *mode_set_at(const struct mode_set *set, unsigned index);
unsigned mode_set_count(const struct mode_set *set);
const void *mode_info(const struct mode *mode);
NTSTATUS bad_set_status(const struct mode_family *family);
struct mode_set *mode_set_find(const void *handle, const struct mode_family *family,
                               const char *function);
/* The mode of the set that has the same values, whatever its identifier; NULL: none. */
struct mode *mode_set_find_same(const struct mode_set *set, const struct mode *mode);
const char *mode_set_name(const struct mode_family *family);

extern const DXGK_VIDPNSOURCEMODESET_INTERFACE source_mode_functions;
extern const DXGK_VIDPNTARGETMODESET_INTERFACE target_mode_functions;
extern const DXGK_MONITORSOURCEMODESET_INTERFACE monitor_mode_functions;

/* ---- topology.c, network.c, monitor.c -------------------------------------------------------- */

extern const DXGK_VIDPNTOPOLOGY_INTERFACE topology_functions;
extern const DXGK_VIDPN_INTERFACE vidpn_functions;
extern const DXGK_MONITOR_INTERFACE_V2 monitor_functions;
extern const DXGK_MONITORDESCRIPTORSET_INTERFACE descriptor_functions;
extern const DXGK_MONITORFREQUENCYRANGESET_INTERFACE range_functions;

/* The set of a source or a target that is assigned; NULL: it is in no path. */
struct mode_set *network_set(const struct display_network *network,
                             const struct mode_family *family, uint32_t owner);
/* The path with this source and target; NULL: none. */
struct path *network_path(const struct display_network *network, uint32_t source, uint32_t target);
/* Also the sets of the two. On failure nothing has changed. */
NTSTATUS network_add_path(struct display_network *network, const D3DKMDT_VIDPN_PRESENT_PATH *info);
void network_remove_path(struct display_network *network, struct path *path);

/* Those that were unplugged. */
void monitors_bury(struct display *display);
void monitors_forget(struct display *display);

#endif
