/*
 * A client of your own: the user-mode half of a driver, for the bench.
 *
 * Place      The interface between a shared object of yours and `drydock run --client-file FILE`
 *            (docs/clients.md). C library and drydock/gpu_model.h only.
 * Model      A case says what applications do: allocations, contexts, submissions, escapes. What a
 *            user-mode driver tells its kernel half about them in private data and commands is
 *            the driver's own language, which the bench does not speak. The object exports one
 *            table, drydock_client, whose functions say it. Each function may be NULL: then the
 *            GPU's model says it, if there is one that does, and else the templates of the run.
 *
 *            Functions that write bytes get where to, and the room there. They return how many
 *            bytes there are, and write nothing when the room is smaller; the bench asks for the
 *            length with no room first. The length must be the same in both calls.
 * Ownership  Everything is lent for the call. create() gives the client, destroy() ends it.
 * Errors     A function that does not return, or crashes, ends the run with a sentence that names
 *            it, which says nothing of the driver. So does a length that differs.
 * Units      Bytes.
 */
#ifndef DRYDOCK_CLIENT_H
#define DRYDOCK_CLIENT_H

#include "drydock/gpu_model.h"

#include <stdbool.h>
#include <stdint.h>

#define DRYDOCK_CLIENT_API    1u
#define DRYDOCK_CLIENT_SYMBOL "drydock_client"

/* On behalf of which object a client asks its kernel half something. */
enum drydock_client_asker {
    DRYDOCK_CLIENT_CONTEXT,
    DRYDOCK_CLIENT_DEVICE,
    DRYDOCK_CLIENT_ADAPTER,
};

/* An `escape` line of the case. */
struct drydock_client_escape {
    uint32_t number; /* of the operation in the case, from 0 */
    uint32_t context;
    enum drydock_client_asker asker;
    bool needs_hardware;
    const void *data; /* what the template of the line lays out */
    uint32_t bytes;
};

/* GPU virtual addresses that something needs. */
struct drydock_client_range {
    uint64_t bytes;
    uint64_t lowest, end; /* free for all processes and not given away: [lowest, end) */
    uint64_t alignment;   /* a power of two */
};

struct drydock_client {
    uint32_t api_version; /* DRYDOCK_CLIENT_API */
    const char *name;

    /* NULL: there is no memory. The seed is the run's. */
    void *(*create)(uint64_t seed);
    void (*destroy)(void *client);

    /* pPrivateDriverData of an allocation, and of a context. */
    uint32_t (*allocation_data)(void *client, const struct drydock_gpu_allocation *allocation,
                                void *out, uint32_t room);
    uint32_t (*context_data)(void *client, uint32_t node, void *out, uint32_t room);

    /*
     * The commands of a submission. Asked for the length, work has no token, addresses and keys.
     * On a board whose model carries commands out they are what it takes for work of this token
     * (docs/gpu-models.md); elsewhere the CPU writes what the case has the GPU write.
     */
    uint32_t (*commands)(void *client, const struct drydock_gpu_work *work, void *out,
                         uint32_t room);

    /* What DxgkDdiEscape gets in place of the template's bytes, and what it has made of it. */
    uint32_t (*escape)(void *client, const struct drydock_client_escape *escape, void *out,
                       uint32_t room);
    void (*escaped)(void *client, const struct drydock_client_escape *escape, int32_t status,
                    const void *data, uint32_t bytes);

    /*
     * The address of a range, aligned and inside of [lowest, end): where no line of the case says
     * one. It must be free: nobody else gives addresses there. 0: there is none left, and what
     * needs the range fails.
     */
    uint64_t (*choose_address)(void *client, const struct drydock_client_range *range);
};

#endif
