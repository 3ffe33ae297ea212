/*
 * Bounds: what figures of `drydock bench` are held to.
 *
 * Place      bench. Read from a file by the verb; knows nothing of how a figure came about.
 * Model      A figure has a key, such as "ranges/64 KiB units/10000". A bound is a line of the
 *            file: KEY, tab, BOUND; lines that begin with # are comments. A figure is worse when it
 *            is above its bound by more than its spread, a part of the bound.
 * Ownership  bounds_read() allocates, bounds_free() frees. Fine on zeroed memory.
 */
#ifndef DRYDOCK_BENCH_BOUNDS_H
#define DRYDOCK_BENCH_BOUNDS_H

#include <stdbool.h>

struct bound {
    char *key;
    double bound;
    bool is_due; /* its bench is measured, which the key begins with */
    bool is_met; /* a figure had the key */
};

struct bounds {
    struct bound *list;
    unsigned count;
    unsigned judged, worse, unsteady;
};

#define BOUNDS_MESSAGE_BYTES 320

/* False, with a message: the file cannot be read, or a line of it is no bound. */
bool bounds_read(struct bounds *bounds, const char *path, char message[BOUNDS_MESSAGE_BYTES]);
void bounds_free(struct bounds *bounds);

/* Whether there are bounds of a bench: "ranges". */
bool bounds_have(const struct bounds *bounds, const char *bench);
/* The bench is going to be measured: its bounds are due. NULL: all of them are. */
void bounds_expect(struct bounds *bounds, const char *bench);

/* True: it is worse than its bound, which is told. A bound of 0: it has none. */
bool bounds_judge(struct bounds *bounds, const char *key, double figure, double spread,
                  double *out_bound);

/* There is such a figure, but it was measured too unsteadily to be judged. */
void bounds_skip(struct bounds *bounds, const char *key);

#endif
