/*
 * Client file: the user-mode half of a driver, in a shared object (docs/clients.md).
 *
 * Place      bench. A run with the option client-file has one; the player asks it.
 * Model      The object exports one table of drydock/client.h. Each call notes in the crash
 *            recorder that code of the client runs: a crash or an endless loop there is no finding
 *            about the driver.
 * Ownership  client_file_load() gives the client, client_file_unload() ends it. The object that was
 *            loaded last stays for the rest of the process, because a process that is caged can
 *            load no other one.
 * Errors     False, with a sentence for the user.
 */
#ifndef DRYDOCK_BENCH_CLIENT_FILE_H
#define DRYDOCK_BENCH_CLIENT_FILE_H

#include "base/services.h"
#include "drydock/client.h"

#define CLIENT_FILE_ERROR_BYTES 512u

struct client_file;

bool client_file_load(const struct base_services *services, const char *path, uint64_t seed,
                      struct client_file **out_client, char error[CLIENT_FILE_ERROR_BYTES]);
/* NULL is nothing. */
void client_file_unload(struct client_file *client);

/* Its table: which functions it has. NULL: there is no client. */
const struct drydock_client *client_file_table(const struct client_file *client);

/* Each calls the function of its name, which there is. */
uint32_t client_file_allocation_data(const struct client_file *client,
                                     const struct drydock_gpu_allocation *allocation, void *out,
                                     uint32_t room);
uint32_t client_file_context_data(const struct client_file *client, uint32_t node, void *out,
                                  uint32_t room);
uint32_t client_file_commands(const struct client_file *client, const struct drydock_gpu_work *work,
                              void *out, uint32_t room);
uint32_t client_file_escape(const struct client_file *client,
                            const struct drydock_client_escape *escape, void *out, uint32_t room);
void client_file_escaped(const struct client_file *client,
                         const struct drydock_client_escape *escape, int32_t status,
                         const void *data, uint32_t bytes);
uint64_t client_file_choose_address(const struct client_file *client,
                                    const struct drydock_client_range *range);

#endif
