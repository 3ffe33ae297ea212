/* Check: the state that the check, its layer and its reports share. No watcher sees it. */
#ifndef DRYDOCK_CHECK_PRIVATE_H
#define DRYDOCK_CHECK_PRIVATE_H

#include "check/guard/check_guard.h"
#include "check/guard/check_patch_guard.h"
#include "check/check_watch.h"

#define CHECK_MAX_TOLD 256

#define X(watcher) +1
enum { CHECK_WATCHER_COUNT = 0 CHECK_WATCHER_LIST(X) };
#undef X

/* The watchers that have a function, in their order, each with its state. */
struct check_listener {
    const struct check_watcher *watcher;
    void *state;
};
struct check_listeners {
    unsigned count;
    struct check_listener list[CHECK_WATCHER_COUNT];
};

/* For each DDI the watchers that are shown its calls: bit i is the i-th of the list. */
struct check_hearers {
    uint64_t of[MINIPORT_DDI_COUNT];
};
_Static_assert(CHECK_WATCHER_COUNT <= 64, "a bit for each watcher");

/* A paging operation that was asked for, as it was then; its pointers lead nowhere any more. */
#define CHECK_PAST_CHUNK  64
#define CHECK_PAST_CHUNKS 32
struct check_past {
    uint64_t number; /* of the ledger; 0: none */
    uint64_t event;
    DXGKARG_BUILDPAGINGBUFFER arg;
};

struct check {
    struct check_config config;
    struct check_ledger ledger;
    void *states[CHECK_WATCHER_COUNT];
    struct {
        struct check_listeners callback, retired, gpu, maps, client;
    } listeners; /* by the function that they have */
    struct check_hearers before, after;
    uint64_t event;
    const struct check_call *call;                 /* the innermost */
    const struct check_callback *callback;         /* inside of it, NULL: none */
    const struct check_gpu_event *gpu_event;       /* NULL: none */
    const struct check_client_event *client_event; /* NULL: none */
    const void *byte;   /* that was written, and may not be; NULL: the report is about none */
    const char *lender; /* the call that lent what a report is about; NULL: the current */
    struct guard dma_guard, private_guard;
    struct patch_guard patch_guard;
    struct guard_verdict dma_verdict, private_verdict; /* of the last call */
    struct patch_verdict patch_verdict;
    bool is_whole, has_layer;
    bool stands_still; /* by the driver's doing: what our side does from here on is torn down, and
                          judged by no rule */
    uint64_t told[CHECK_MAX_TOLD]; /* cause and object */
    unsigned told_count;
    bool is_advised[RULE_COUNT];                /* advice about it was given */
    char field[FINDING_WHERE_BYTES];            /* check_field() */
    struct finding finding;                     /* being made */
    struct check_past *past[CHECK_PAST_CHUNKS]; /* the last operations; NULL: none yet */
    /* Whose mistake is told (check_blame.h), when it is not that of the current call. */
    struct {
        bool is_set;
        enum miniport_ddi ddi;
        uint64_t event;                   /* 0: its number does not count */
        const struct check_past *past;    /* BuildPagingBuffer: what was asked for, ... */
        struct finding_commands commands; /* ... and what was written */
        HANDLE context;                   /* of a submission */
    } blamed;
};

/* Show the call to the watchers that hear of its DDI. */
void check_tell_before(struct check *check, const struct check_call *call);
void check_tell_after(struct check *check, const struct check_call *call);

/* Calls the function of all that have it. */
#define CHECK_TELL(check, function, ...)                                                           \
    do {                                                                                           \
        const struct check_listeners *listeners = &(check)->listeners.function;                    \
                                                                                                   \
        for (unsigned i = 0; i < listeners->count; i++)                                            \
            listeners->list[i].watcher->function(check, listeners->list[i].state, __VA_ARGS__);    \
    } while (0)

/*
 * The argument structure of the callback or call that is happening, a line a member (decode.h); and
 * the element of an array that the field names, "pAllocationInfo[2].Size".
 */
void check_write_arguments(const struct check *check, const char *field, char *text, size_t size);
/*
 * The object that the call that is happening names; NULL: none that the ledger has.
 */
const struct check_object *check_object_of_call(const struct check *check);

#endif
