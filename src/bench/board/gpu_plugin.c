#include "bench/board/gpu_plugin.h"

#include "base/bits.h"
#include "base/list.h"
#include "bench/board/kept_object.h"
#include "bench/board/model_file.h"
#include "bench/child/cage.h"
#include "bench/child/crash_recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define INTERRUPT_LATENCY_NS 500u
#define SYSTEM_PAGE_BYTES    4096u
#define MOST_MESSAGES        2048u /* of MSI-X */
#define MOST_MSI             32u
#define MOST_HAPPENINGS      500000u /* without work for the driver: the model goes on for ever */

/* Something that will happen to the model: a call of its own, or (fn NULL) an interrupt. */
struct plugin_event {
    struct list link;
    struct machine_event event;
    struct gpu_plugin *plugin;
    void (*fn)(void *argument);
    void *argument;
    uint32_t message;
};

struct gpu_plugin {
    const struct base_services *services;
    struct machine *machine;
    void *object; /* of dlopen() */
    const struct drydock_gpu_model *model;
    void *gpu;
    struct drydock_gpu_host interface;
    struct machine_registers registers;
    struct gpu_plugin_observer observer;
    struct bench_host *host;
    struct list events;
    bool is_off;
    struct gpu_plugin_command command; /* that takes effect */
    uint64_t left_out;                 /* commands that it did not carry out */
    const char *path;
    uint64_t happened, interrupts; /* since the driver was given something */
};

/* ---- Registers ------------------------------------------------------------------------------- */

static uint64_t read_register(void *context, uint64_t offset, unsigned size)
{
    struct gpu_plugin *plugin = context;
    uint64_t ones = UINT64_MAX >> (64 - 8 * size), value = ones;
    const char *before;

    if (plugin->is_off)
        return ones;
    before = crash_recorder_enter_model("read_register()");
    value &= plugin->model->read_register(plugin->gpu, offset, size);
    crash_recorder_leave_model(before);
    return value;
}

static void write_register(void *context, uint64_t offset, unsigned size, uint64_t value)
{
    struct gpu_plugin *plugin = context;

    machine_digest_add(plugin->machine, offset);
    machine_digest_add(plugin->machine, value);
    if (!plugin->is_off) {
        const char *before = crash_recorder_enter_model("write_register()");

        plugin->model->write_register(plugin->gpu, offset, size, value);
        crash_recorder_leave_model(before);
    }
}

/* ---- Time and interrupts --------------------------------------------------------------------- */

static uint64_t now(void *context)
{
    return machine_now(((struct gpu_plugin *)context)->machine);
}

static void drop(struct plugin_event *event)
{
    machine_cancel(event->plugin->machine, &event->event);
    list_remove(&event->link);
    base_free(event->plugin->services, event, sizeof *event);
}

static void raise_interrupt(void *context, uint32_t message);

static void reset_model(struct gpu_plugin *plugin)
{
    const char *before = crash_recorder_enter_model("reset()");

    plugin->model->reset(plugin->gpu);
    crash_recorder_leave_model(before);
}

static void run_event(const struct plugin_event *event)
{
    const char *before = crash_recorder_enter_model("an event that it has scheduled");

    event->fn(event->argument);
    crash_recorder_leave_model(before);
}

static void tell_endless(struct gpu_plugin *plugin)
{
    char text[300];

    snprintf(text, sizeof text,
             "GPU model '%.120s' goes on without end: %llu interrupts and %llu events since the "
             "driver was given something; this tells nothing of the driver",
             plugin->path, (unsigned long long)plugin->interrupts,
             (unsigned long long)(plugin->happened - plugin->interrupts));
    plugin->happened = plugin->interrupts = 0;
    if (plugin->observer.endless)
        plugin->observer.endless(plugin->observer.context, text);
}

static void happen(void *context)
{
    struct plugin_event event = *(struct plugin_event *)context;

    drop(context);
    event.plugin->interrupts += !event.fn;
    if (++event.plugin->happened > MOST_HAPPENINGS)
        tell_endless(event.plugin);
    if (event.fn)
        run_event(&event);
    else if (event.plugin->host && !host_interrupt(event.plugin->host, event.message))
        raise_interrupt(event.plugin, event.message); /* the processor is masked */
}

static struct plugin_event *plan(struct gpu_plugin *plugin, uint64_t after_ns)
{
    struct plugin_event *event = base_alloc(plugin->services, sizeof *event);

    if (!event)
        return NULL;
    event->plugin = plugin;
    list_push_back(&plugin->events, &event->link);
    machine_schedule(plugin->machine, &event->event, machine_now(plugin->machine) + after_ns,
                     happen, event);
    return event;
}

static bool schedule(void *context, uint64_t after_ns, void (*fn)(void *argument), void *argument)
{
    struct plugin_event *event = fn ? plan(context, after_ns) : NULL;

    if (!event)
        return false;
    event->fn = fn;
    event->argument = argument;
    return true;
}

static void cancel(void *context, void *argument)
{
    struct gpu_plugin *plugin = context;
    struct plugin_event *event, *following;

    list_for_each_safe (event, following, &plugin->events, struct plugin_event, link) {
        if (event->fn && event->argument == argument)
            drop(event);
    }
}

/* One of a number that the function does not have goes nowhere. */
static void raise_interrupt(void *context, uint32_t message)
{
    struct gpu_plugin *plugin = context;
    bool is_there = message == 0 || message < machine_pci(plugin->machine)->message_count;
    struct plugin_event *event =
        plugin->is_off || !is_there ? NULL : plan(plugin, INTERRUPT_LATENCY_NS);

    if (event)
        event->message = message;
}

static void drop_events(struct gpu_plugin *plugin)
{
    struct plugin_event *event, *following;

    list_for_each_safe (event, following, &plugin->events, struct plugin_event, link)
        drop(event);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* The page of RAM that the device has at a page of its own addresses; false: none is there. */
static bool locate_page(const struct gpu_plugin *plugin, uint64_t page, uint64_t *out_page)
{
    struct machine_iommu *iommu = machine_iommu(plugin->machine);

    *out_page = page;
    return (!machine_iommu_is_remapping(iommu) ||
            machine_iommu_find(iommu, MACHINE_NO_PASID, page, out_page)) &&
           machine_page_is_allocated(plugin->machine, *out_page);
}

/* Where the first bytes of a place are, and how many of them, at most `bytes`; false: nowhere. */
static bool locate(struct gpu_plugin *plugin, struct drydock_gpu_place place, uint64_t bytes,
                   struct page_store **out_store, uint64_t *out_address, uint64_t *out_bytes)
{
    const uint64_t first = place.address / SYSTEM_PAGE_BYTES,
                   in_page = place.address % SYSTEM_PAGE_BYTES;
    uint64_t page, next, count = 1;

    if (place.is_local) {
        *out_store = machine_local(plugin->machine);
        *out_address = place.address;
        *out_bytes = bytes;
        return *out_store && page_store_contains(*out_store, place.address, bytes);
    }
    if (!locate_page(plugin, first, &page))
        return false;
    while (count * SYSTEM_PAGE_BYTES - in_page < bytes &&
           locate_page(plugin, first + count, &next) && next == page + count)
        count++;
    *out_store = machine_ram(plugin->machine);
    *out_address = page * SYSTEM_PAGE_BYTES + in_page;
    *out_bytes = min_u64(bytes, count * SYSTEM_PAGE_BYTES - in_page);
    return true;
}

static bool answers(struct gpu_plugin *plugin, struct drydock_gpu_place place, uint64_t bytes)
{
    struct page_store *store;
    uint64_t address, piece;

    for (; bytes; bytes -= piece, place.address += piece) {
        if (!locate(plugin, place, bytes, &store, &address, &piece))
            return false;
    }
    return true;
}

static bool read_memory(void *context, struct drydock_gpu_place from, void *out, uint64_t bytes)
{
    struct page_store *store;
    uint64_t address, piece;
    uint8_t *at = out;

    if (!answers(context, from, bytes)) {
        memset(out, 0xff, bytes);
        return false;
    }
    for (; bytes; bytes -= piece, from.address += piece, at += piece) {
        locate(context, from, bytes, &store, &address, &piece);
        page_store_read(store, address, at, piece);
    }
    return true;
}

static void tell_write(const struct gpu_plugin *plugin, struct page_store *store, uint64_t address,
                       uint64_t bytes)
{
    if (plugin->command.bytes && plugin->observer.wrote)
        plugin->observer.wrote(plugin->observer.context, &plugin->command, store, address, bytes);
}

static bool write_memory(void *context, struct drydock_gpu_place to, const void *from,
                         uint64_t bytes)
{
    struct page_store *store;
    uint64_t address, piece;
    const uint8_t *at = from;

    if (!answers(context, to, bytes))
        return false;
    for (; bytes; bytes -= piece, to.address += piece, at += piece) {
        locate(context, to, bytes, &store, &address, &piece);
        page_store_write(store, address, at, piece);
        tell_write(context, store, address, piece);
    }
    return true;
}

static bool copy_memory(void *context, struct drydock_gpu_place to, struct drydock_gpu_place from,
                        uint64_t bytes)
{
    struct page_store *source, *destination;
    uint64_t source_address, destination_address, piece, other;

    if (!answers(context, to, bytes) || !answers(context, from, bytes))
        return false;
    for (; bytes; bytes -= piece, to.address += piece, from.address += piece) {
        locate(context, from, bytes, &source, &source_address, &other);
        locate(context, to, other, &destination, &destination_address, &piece);
        page_store_copy_bytes(destination, destination_address, source, source_address, piece);
        tell_write(context, destination, destination_address, piece);
    }
    return true;
}

/* The store's patterns count from address 0, the model's from where the fill begins. */
static uint32_t turned(uint32_t pattern, uint64_t address, uint64_t done)
{
    unsigned bits = 8 * (unsigned)((address - done) % sizeof pattern);

    return bits ? pattern << bits | pattern >> (32 - bits) : pattern;
}

static bool fill_memory(void *context, struct drydock_gpu_place to, uint32_t pattern,
                        uint64_t bytes)
{
    struct page_store *store;
    uint64_t address, piece;

    if (!answers(context, to, bytes))
        return false;
    for (uint64_t done = 0; done < bytes; done += piece, to.address += piece) {
        locate(context, to, bytes - done, &store, &address, &piece);
        page_store_fill(store, address, piece, turned(pattern, address, done));
        tell_write(context, store, address, piece);
    }
    return true;
}

/* ---- What the model tells -------------------------------------------------------------------- */

static void report_fault(void *context, uint32_t node, uint32_t fence, uint64_t address,
                         const char *text)
{
    struct gpu_plugin *plugin = context;

    if (plugin->observer.fault)
        plugin->observer.fault(plugin->observer.context, node, fence, address, text,
                               &plugin->command);
}

static void executes(void *context, uint32_t node, uint64_t address, uint32_t bytes)
{
    struct gpu_plugin *plugin = context;

    plugin->command = (struct gpu_plugin_command){node, address, bytes};
}

static void leaves_out(void *context, uint32_t node)
{
    struct gpu_plugin *plugin = context;

    plugin->left_out++;
}

static void begin_work(void *context, uint64_t token, uint32_t node)
{
    struct gpu_plugin *plugin = context;

    if (plugin->observer.begin)
        plugin->observer.begin(plugin->observer.context, token, node);
}

static bool read_work(void *context, uint64_t token, uint32_t index, uint64_t offset,
                      struct drydock_gpu_place at, uint64_t bytes)
{
    struct gpu_plugin *plugin = context;
    struct page_store *store;
    uint64_t address, piece;

    if (!answers(plugin, at, bytes))
        return false;
    for (; bytes; bytes -= piece, at.address += piece, offset += piece) {
        locate(plugin, at, bytes, &store, &address, &piece);
        if (plugin->observer.read)
            plugin->observer.read(plugin->observer.context, token, index, offset, store, address,
                                  piece);
    }
    return true;
}

/* `offset` counts from the reference's start, whose page takes the content named key. */
static bool write_work(void *context, uint64_t token, uint32_t index, uint64_t offset,
                       struct drydock_gpu_place at, uint64_t bytes, uint64_t key)
{
    struct gpu_plugin *plugin = context;
    uint64_t in_page = (at.address - offset) % SYSTEM_PAGE_BYTES; /* of the reference */
    struct page_store *store;
    uint64_t address, piece;

    if (!answers(plugin, at, bytes))
        return false;
    for (; bytes; bytes -= piece, at.address += piece, offset += piece) {
        locate(plugin, at, bytes, &store, &address, &piece);
        if (plugin->observer.write)
            plugin->observer.write(plugin->observer.context, token, index, offset, store, address,
                                   piece);
        page_store_write_tag(store, address, piece, key + (in_page + offset) / SYSTEM_PAGE_BYTES);
    }
    return true;
}

static void end_work(void *context, uint64_t token)
{
    struct gpu_plugin *plugin = context;

    if (plugin->observer.end)
        plugin->observer.end(plugin->observer.context, token);
}

static void flushed(void *context, const struct drydock_gpu_place *root, uint64_t start,
                    uint64_t end)
{
    struct gpu_plugin *plugin = context;

    if (plugin->observer.flushed)
        plugin->observer.flushed(plugin->observer.context, root, start, end);
}

/* ---- Life ------------------------------------------------------------------------------------ */

bool gpu_plugin_is_path(const char *name)
{
    size_t length = strlen(name);

    return strchr(name, '/') || (length > 3 && strcmp(name + length - 3, ".so") == 0);
}

/*
 * The model that was used when the cage closed. From then on no library can be loaded, so it stays
 * for the runs that follow in this process.
 */
static struct {
    char path[1024];
    void *object; /* of dlopen() */
} kept;

static void give_back(const char *path, void *object)
{
    if (!cage_is_closed()) {
        dlclose(object);
    } else if (object != kept.object) {
        snprintf(kept.path, sizeof kept.path, "%s", path);
        kept.object = object;
    }
}

/* The name of a function that the table lacks; NULL: it lacks none. */
static const char *missing_in(const struct drydock_gpu_model *model)
{
    if (!model->create || !model->destroy || !model->reset)
        return "its table lacks create, destroy or reset";
    if (!model->read_register || !model->write_register)
        return "its table lacks read_register or write_register";
    if (!model->register_bytes || model->register_bytes % SYSTEM_PAGE_BYTES ||
        model->register_bytes > GiB)
        return "its register_bytes are not whole pages of 4096 bytes, up to 1 GiB";
    return NULL;
}

/* Asks for the newest version first. */
static bool find_model(struct gpu_plugin *plugin, const char *path, char error[])
{
    const struct drydock_gpu_model *(*entry)(uint32_t api_version);
    uint32_t version = DRYDOCK_GPU_MODEL_API;
    char text[200];
    const char *lack, *before;

    *(void **)&entry = dlsym(plugin->object, DRYDOCK_GPU_MODEL_ENTRY);
    if (!entry)
        return model_file_refuse(error, path, "it has no function " DRYDOCK_GPU_MODEL_ENTRY "()");
    before = crash_recorder_enter_model(DRYDOCK_GPU_MODEL_ENTRY "()");
    do
        plugin->model = entry(version);
    while (!plugin->model && version-- > DRYDOCK_GPU_MODEL_OLDEST_API);
    crash_recorder_leave_model(before);
    if (!plugin->model || plugin->model->api_version != version) {
        if (plugin->model)
            snprintf(text, sizeof text,
                     "asked for version %u of drydock/gpu_model.h it gives a table of version %u",
                     version, plugin->model->api_version);
        else
            snprintf(text, sizeof text,
                     "it serves no version of drydock/gpu_model.h from %u to %u, which this bench "
                     "has: build it with the header of this bench",
                     DRYDOCK_GPU_MODEL_OLDEST_API, DRYDOCK_GPU_MODEL_API);
        return model_file_refuse(error, path, text);
    }
    lack = missing_in(plugin->model);
    return !lack || model_file_refuse(error, path, lack);
}

/* The machine's function from the model's; what does not fit is refused by machine_set_pci(). */
static bool show_function(struct gpu_plugin *plugin)
{
    const struct drydock_gpu_pci *own = plugin->model->api_version >= 2 ? plugin->model->pci : NULL;
    struct machine_pci pci = machine_pci_nameless();
    uint64_t visible = machine_get_config(plugin->machine)->visible_bytes;

    if (!own) {
        pci = *machine_pci(plugin->machine);
        pci.message_count = 1;
        return machine_set_pci(plugin->machine, &pci);
    }
    if (own->message_count > MOST_MESSAGES ||
        (!own->capabilities && (own->message_count > MOST_MSI || own->capability_bytes)))
        return false;
    pci = (struct machine_pci){
        .vendor_id = own->vendor_id,
        .device_id = own->device_id,
        .subsystem_vendor_id = own->subsystem_vendor_id,
        .subsystem_id = own->subsystem_id,
        .revision = own->revision,
        .class_code = own->class_code,
        .capabilities = own->capabilities,
        .capability_bytes = own->capability_bytes,
        .message_count = own->message_count,
    };
    for (unsigned i = 0; i < MACHINE_PCI_BARS; i++) {
        const struct drydock_gpu_bar *bar = &own->bars[i];

        if (!bar->is_there)
            continue;
        if (bar->is_local) {
            pci.bars[i] =
                (struct machine_pci_bar){bar->bytes ? min_u64(bar->bytes, visible) : visible,
                                         machine_bar1_pa(plugin->machine), true};
            continue;
        }
        if (!is_power_of_two(bar->bytes) || bar->bytes < SYSTEM_PAGE_BYTES ||
            bar->first > plugin->model->register_bytes ||
            bar->bytes > plugin->model->register_bytes - bar->first)
            return false;
        pci.bars[i] = (struct machine_pci_bar){
            bar->bytes, machine_bar0_pa(plugin->machine) + bar->first, false};
    }
    return machine_set_pci(plugin->machine, &pci);
}

bool gpu_plugin_load(const struct base_services *services, const char *path,
                     struct machine *machine, struct gpu_plugin **out,
                     char error[GPU_PLUGIN_ERROR_BYTES])
{
    const struct machine_config *config = machine_get_config(machine);
    const struct drydock_gpu_board board = {
        .local_bytes = config->local_bytes,
        .visible_bytes = config->visible_bytes,
        .system_bytes = config->ram_bytes,
        .local_bytes_per_second = config->local_bytes_per_second,
        .link_bytes_per_second = config->pcie_bytes_per_second,
        .seed = config->seed,
    };
    struct gpu_plugin *plugin = base_alloc(services, sizeof *plugin);
    const char *before;
    char full[1024];

    *out = NULL;
    if (!plugin)
        return model_file_refuse(error, path, "no memory");
    memset(plugin, 0, sizeof *plugin);
    plugin->services = services;
    plugin->machine = machine;
    plugin->path = path;
    list_init(&plugin->events);
    plugin->interface = (struct drydock_gpu_host){
        .context = plugin,
        .now = now,
        .schedule = schedule,
        .cancel = cancel,
        .raise_interrupt = raise_interrupt,
        .read = read_memory,
        .write = write_memory,
        .copy = copy_memory,
        .fill = fill_memory,
        .report_fault = report_fault,
        .begin_work = begin_work,
        .read_work = read_work,
        .write_work = write_work,
        .end_work = end_work,
        .flushed = flushed,
        .executes = executes,
        .leaves_out = leaves_out,
    };
    /* Without a slash the system would look elsewhere. */
    snprintf(full, sizeof full, "%s%s", strchr(path, '/') ? "" : "./", path);
    if (cage_is_closed() && strcmp(kept.path, path) == 0) {
        plugin->object = kept.object;
    } else if (model_file_check(path, error)) {
        before = crash_recorder_enter_model(KEPT_OBJECT_LOADING);
        plugin->object = dlopen(full, RTLD_NOW | RTLD_LOCAL);
        crash_recorder_leave_model(before);
    } else {
        goto unload;
    }
    if (!plugin->object) {
        const char *why = dlerror();
        size_t length = strlen(full);

        /* The loader's text mostly names the file. */
        model_file_refuse(error, path,
                          strncmp(why, full, length) == 0 && why[length] == ':' ? why + length + 2
                                                                                : why);
    }
    if (!plugin->object || !find_model(plugin, path, error))
        goto unload;
    before = crash_recorder_enter_model("create()");
    plugin->gpu = plugin->model->create(&plugin->interface, &board);
    crash_recorder_leave_model(before);
    if (!plugin->gpu) {
        model_file_refuse(error, path, "its create() failed");
        goto unload;
    }
    plugin->registers = (struct machine_registers){
        .bytes = plugin->model->register_bytes, .read = read_register, .write = write_register};
    if (!machine_set_registers(machine, &plugin->registers, plugin)) {
        model_file_refuse(error, path, "no memory for its registers");
        goto unload;
    }
    if (!show_function(plugin)) {
        model_file_refuse(
            error, path,
            "its PCI function does not fit: base addresses of registers are powers of two within "
            "register_bytes at multiples of themselves, each takes two numbers");
        goto unload;
    }
    *out = plugin;
    return true;

unload:
    gpu_plugin_unload(plugin);
    return false;
}

void gpu_plugin_unload(struct gpu_plugin *plugin)
{
    if (!plugin)
        return;
    drop_events(plugin);
    if (plugin->registers.bytes) {
        machine_set_registers(plugin->machine, NULL, NULL);
        machine_set_pci(plugin->machine, NULL);
    }
    if (plugin->gpu) {
        const char *before = crash_recorder_enter_model("destroy()");

        plugin->model->destroy(plugin->gpu);
        crash_recorder_leave_model(before);
    }
    if (plugin->object)
        give_back(plugin->path, plugin->object);
    base_free(plugin->services, plugin, sizeof *plugin);
}

void gpu_plugin_set_observer(struct gpu_plugin *plugin, const struct gpu_plugin_observer *observer)
{
    plugin->observer = *observer;
}

void gpu_plugin_set_host(struct gpu_plugin *plugin, struct bench_host *host)
{
    plugin->host = host;
}

void gpu_plugin_power(struct gpu_plugin *plugin, bool is_on)
{
    const char *before = crash_recorder_enter_model("power()");

    if (plugin->model->power)
        plugin->model->power(plugin->gpu, is_on ? DRYDOCK_GPU_POWER_ON : DRYDOCK_GPU_POWER_OFF);
    crash_recorder_leave_model(before);
    plugin->is_off = !is_on;
    drop_events(plugin);
    reset_model(plugin);
}

void gpu_plugin_note_progress(struct gpu_plugin *plugin)
{
    plugin->happened = plugin->interrupts = 0;
}

bool gpu_plugin_tells_flushes(const struct gpu_plugin *plugin)
{
    return plugin->model->api_version >= 3 && plugin->model->tells_flushes;
}

bool gpu_plugin_names_allocations(const struct gpu_plugin *plugin)
{
    return plugin->model->api_version >= 4 && plugin->model->names_allocations;
}

const struct drydock_gpu_model *gpu_plugin_model(const struct gpu_plugin *plugin)
{
    return plugin->model;
}

bool gpu_plugin_translate(const struct gpu_plugin *plugin, struct drydock_gpu_place root,
                          uint64_t va, struct drydock_gpu_translation *out)
{
    const char *before = crash_recorder_enter_model("translate()");
    bool is_known = plugin->model->translate(plugin->gpu, root, va, out);

    crash_recorder_leave_model(before);
    return is_known;
}

uint32_t gpu_plugin_allocation_data(const struct gpu_plugin *plugin,
                                    const struct drydock_gpu_allocation *allocation, void *out,
                                    uint32_t room)
{
    const char *before = crash_recorder_enter_model("allocation_data()");
    uint32_t bytes = plugin->model->allocation_data(plugin->gpu, allocation, out, room);

    crash_recorder_leave_model(before);
    return bytes;
}

uint32_t gpu_plugin_context_data(const struct gpu_plugin *plugin, uint32_t node, void *out,
                                 uint32_t room)
{
    const char *before = crash_recorder_enter_model("context_data()");
    uint32_t bytes = plugin->model->context_data(plugin->gpu, node, out, room);

    crash_recorder_leave_model(before);
    return bytes;
}

uint32_t gpu_plugin_commands(const struct gpu_plugin *plugin, const struct drydock_gpu_work *work,
                             void *out, uint32_t room)
{
    const char *before = crash_recorder_enter_model("commands()");
    uint32_t bytes = plugin->model->commands(plugin->gpu, work, out, room);

    crash_recorder_leave_model(before);
    return bytes;
}

uint64_t gpu_plugin_left_out(const struct gpu_plugin *plugin)
{
    return plugin->left_out;
}

const struct drydock_gpu_application *gpu_plugin_application(const struct gpu_plugin *plugin)
{
    return plugin->model->api_version >= 6 ? plugin->model->application : NULL;
}

uint64_t gpu_plugin_client_bytes(const struct gpu_plugin *plugin, const void *private_data,
                                 uint32_t bytes)
{
    const struct drydock_gpu_application *application = gpu_plugin_application(plugin);
    const char *before = crash_recorder_enter_model("client_bytes()");
    const uint64_t found = application && application->client_bytes
                               ? application->client_bytes(plugin->gpu, private_data, bytes)
                               : 0;

    crash_recorder_leave_model(before);
    return found;
}

NTSTATUS gpu_plugin_query_adapter(const struct gpu_plugin *plugin, uint32_t type, void *data,
                                  uint32_t bytes)
{
    const struct drydock_gpu_application *application = gpu_plugin_application(plugin);
    const char *before = crash_recorder_enter_model("query_adapter()");
    const NTSTATUS status = application && application->query_adapter
                                ? application->query_adapter(plugin->gpu, type, data, bytes)
                                : STATUS_NOT_SUPPORTED;

    crash_recorder_leave_model(before);
    return status;
}

bool gpu_plugin_walk_batch(const struct gpu_plugin *plugin, uint64_t va, uint64_t bytes,
                           const struct drydock_gpu_walk *walk)
{
    const struct drydock_gpu_application *application = gpu_plugin_application(plugin);
    const char *before = crash_recorder_enter_model("walk_batch()");
    const bool is_whole = application && plugin->model->api_version >= 7 &&
                          application->walk_batch &&
                          application->walk_batch(plugin->gpu, va, bytes, walk);

    crash_recorder_leave_model(before);
    return is_whole;
}

NTSTATUS gpu_plugin_escape(const struct gpu_plugin *plugin, void *data, uint32_t bytes)
{
    const struct drydock_gpu_application *application = gpu_plugin_application(plugin);
    const char *before = crash_recorder_enter_model("escape()");
    const NTSTATUS status = application && application->escape
                                ? application->escape(plugin->gpu, data, bytes)
                                : STATUS_NOT_SUPPORTED;

    crash_recorder_leave_model(before);
    return status;
}
