#include "bench/board/client_file.h"

#include "bench/board/kept_object.h"
#include "bench/child/crash_recorder.h"

#include <dlfcn.h>
#include <stdio.h>

struct client_file {
    const struct base_services *services;
    const struct drydock_client *table;
    void *client; /* of create(); NULL: it has no such function */
};

static struct kept_object loaded;

static bool refuse(char error[CLIENT_FILE_ERROR_BYTES], const char *path, const char *why)
{
    snprintf(error, CLIENT_FILE_ERROR_BYTES, "client '%.200s': %.250s", path, why);
    return false;
}

bool client_file_load(const struct base_services *services, const char *path, uint64_t seed,
                      struct client_file **out_client, char error[CLIENT_FILE_ERROR_BYTES])
{
    const struct drydock_client *table;
    struct client_file *client;
    const char *why = kept_object_load(&loaded, path), *before;

    *out_client = NULL;
    if (why)
        return refuse(error, path, why);
    table = dlsym(loaded.object, DRYDOCK_CLIENT_SYMBOL);
    if (!table)
        return refuse(error, path, "it exports no " DRYDOCK_CLIENT_SYMBOL);
    if (table->api_version != DRYDOCK_CLIENT_API)
        return refuse(error, path, "its api_version is not that of drydock/client.h");
    if (!table->name || !table->create != !table->destroy)
        return refuse(error, path, "its table has no name, or create() without destroy()");
    client = base_alloc(services, sizeof *client);
    if (!client)
        return refuse(error, path, "there is no memory");
    client->services = services;
    client->table = table;
    before = crash_recorder_enter_model("the client's create()");
    client->client = table->create ? table->create(seed) : NULL;
    crash_recorder_leave_model(before);
    if (table->create && !client->client) {
        base_free(services, client, sizeof *client);
        return refuse(error, path, "its create() gave NULL");
    }
    *out_client = client;
    return true;
}

void client_file_unload(struct client_file *client)
{
    const char *before;

    if (!client)
        return;
    before = crash_recorder_enter_model("the client's destroy()");
    if (client->table->destroy)
        client->table->destroy(client->client);
    crash_recorder_leave_model(before);
    base_free(client->services, client, sizeof *client);
}

const struct drydock_client *client_file_table(const struct client_file *client)
{
    return client ? client->table : NULL;
}

/* A call of one of its functions, whose value is kept. */
#define CALL(type, function, ...)                                                                  \
    const char *before = crash_recorder_enter_model("the client's " #function "()");               \
    const type value = client->table->function(client->client, __VA_ARGS__);                       \
                                                                                                   \
    crash_recorder_leave_model(before);                                                            \
    return value

uint32_t client_file_allocation_data(const struct client_file *client,
                                     const struct drydock_gpu_allocation *allocation, void *out,
                                     uint32_t room)
{
    CALL(uint32_t, allocation_data, allocation, out, room);
}

uint32_t client_file_context_data(const struct client_file *client, uint32_t node, void *out,
                                  uint32_t room)
{
    CALL(uint32_t, context_data, node, out, room);
}

uint32_t client_file_commands(const struct client_file *client, const struct drydock_gpu_work *work,
                              void *out, uint32_t room)
{
    CALL(uint32_t, commands, work, out, room);
}

uint32_t client_file_escape(const struct client_file *client,
                            const struct drydock_client_escape *escape, void *out, uint32_t room)
{
    CALL(uint32_t, escape, escape, out, room);
}

void client_file_escaped(const struct client_file *client,
                         const struct drydock_client_escape *escape, int32_t status,
                         const void *data, uint32_t bytes)
{
    const char *before = crash_recorder_enter_model("the client's escaped()");

    client->table->escaped(client->client, escape, status, data, bytes);
    crash_recorder_leave_model(before);
}

uint64_t client_file_choose_address(const struct client_file *client,
                                    const struct drydock_client_range *range)
{
    CALL(uint64_t, choose_address, range);
}
