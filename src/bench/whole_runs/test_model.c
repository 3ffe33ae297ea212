#include "bench/whole_runs/test_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct test_model *current;

static bool take_interrupt(struct miniport *self, ULONG message)
{
    assert_true(message < TEST_MODEL_MESSAGES);
    current->messages[message]++;
    return true;
}

static void ignore_host(struct miniport *self, struct miniport_host *host)
{
}

static void note_fault(void *context, uint32_t node, uint32_t fence, uint64_t address,
                       const char *text, const struct gpu_plugin_command *command)
{
    snprintf(current->fault, sizeof current->fault, "%s", text);
    current->faulting = *command;
}

static void note_wrote(void *context, const struct gpu_plugin_command *command,
                       struct page_store *store, uint64_t address, uint64_t bytes)
{
    current->writing = *command;
    current->writes++;
}

static void note_begin(void *context, uint64_t token, uint32_t node)
{
    current->begun = token;
}

static void note_read(void *context, uint64_t token, uint32_t index, uint64_t offset,
                      struct page_store *store, uint64_t address, uint64_t bytes)
{
    current->read_bytes += bytes;
}

static void note_write(void *context, uint64_t token, uint32_t index, uint64_t offset,
                       struct page_store *store, uint64_t address, uint64_t bytes)
{
    current->written_bytes += bytes;
}

static void note_end(void *context, uint64_t token)
{
    current->ended = token;
}

void test_model_open(struct test_model *model, const char *name, unsigned page_count,
                     uint64_t *out_pages)
{
    const struct nt_host nt_host = {.context = model};
    const struct gpu_plugin_observer observer = {.context = model,
                                                 .fault = note_fault,
                                                 .wrote = note_wrote,
                                                 .begin = note_begin,
                                                 .read = note_read,
                                                 .write = note_write,
                                                 .end = note_end};
    struct machine_config config;
    char path[512], error[GPU_PLUGIN_ERROR_BYTES];

    memset(model, 0, sizeof *model);
    current = model;
    machine_config_defaults(&config, 1);
    config.local_bytes = config.visible_bytes = TEST_MODEL_LOCAL_BYTES;
    model->machine = machine_create(base_services_libc(), &config);
    assert_non_null(model->machine);
    snprintf(path, sizeof path, GPU_FOLDER "/%s.so", name);
    if (!gpu_plugin_load(base_services_libc(), path, model->machine, &model->plugin, error))
        fail_msg("%s", error);
    gpu_plugin_set_observer(model->plugin, &observer);
    model->nt = nt_create(base_services_libc(), model->machine, &nt_host);
    assert_int_equal(host_init(&model->host, model->machine, model->nt), STATUS_SUCCESS);
    model->ops = miniport_forward_ops;
    model->ops.interrupt = take_interrupt;
    model->ops.set_host = ignore_host;
    model->driver.ops = &model->ops;
    host_set_miniport(&model->host, &model->driver);
    gpu_plugin_set_host(model->plugin, &model->host);
    assert_true(machine_alloc_pages(model->machine, page_count, out_pages));
    for (unsigned i = 0; i < page_count; i++)
        out_pages[i] *= PAGE_BYTES;
}

void test_model_close(struct test_model *model)
{
    host_set_miniport(&model->host, NULL);
    gpu_plugin_unload(model->plugin);
    host_fini(&model->host);
    nt_destroy(model->nt);
    machine_destroy(model->machine);
}
