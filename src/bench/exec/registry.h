/*
 * Registry: what user mode asks of the adapter's keys (KMTQAITYPE_QUERYREGISTRY).
 *
 * Place      bench. Used by session.c.
 * Model      There are no keys. The one answer is where the driver's files are, which a user-mode
 *            driver loads libraries of its other half from.
 * Errors     NTSTATUS of the call; of the value, in the structure.
 * Source     The reference page of D3DDDI_QUERYREGISTRY_INFO.
 */
#ifndef DRYDOCK_BENCH_EXEC_REGISTRY_H
#define DRYDOCK_BENCH_EXEC_REGISTRY_H

#include <d3dkmthk.h>

#include <stddef.h>
#include <stdint.h>

/* The folder of a driver's image, whole; "" where there is none, or it is too long. */
void exec_find_store(const char *driver, char *out, size_t room);

/* store: a folder; "": there is none. data is the caller's, of any content. */
NTSTATUS exec_query_registry(const char *store, void *data, uint32_t bytes);

#endif
