/*
 * A GPU model that is a virtio-gpu device: PCI function 1af4:1050, split virtqueues, 2D and 3D
 * commands.
 *
 * Model      Two queues, control and cursor. Each takes one request after the other; a request
 *            takes COMMAND_NS, or what the client's work in it asks for, and all it does it does at
 *            the end of that time. Then its answer is written, it is in the used ring, and the
 *            queue's message is raised.
 *
 *            A resource of the host is the pages that back it: what the host would keep of its own
 *            is not modelled, so that TRANSFER commands move nothing, and work on a resource
 *            without backing is a fault. SUBMIT_3D is a list of the client's work (struct work) or,
 *            when it begins with something else, done at once. Once after the driver is ready, the
 *            display tells a change by the message of configuration.
 *
 *            Answers with an error are the driver's mistakes and told as faults; the queue goes on.
 *            A ring or request where no memory answers breaks the device until it is reset
 *            (NEEDS_RESET).
 *
 *            The other half of the file is the client of the viogpu3d driver: how that one wants
 *            its allocations described and its command buffers written.
 * Registers  Base address 4: 0x0000 common configuration, 0x1000 interrupt status, 0x2000 the
 *            device's configuration, 0x3000 notification, 4 bytes a queue. Base address 1: the
 *            MSI-X table, which is the system's. There is no window of configuration accesses
 *            (VIRTIO_PCI_CAP_PCI_CFG).
 * Source     Virtual I/O Device (VIRTIO) 1.2, chapters 2.7, 4.1 and 5.7; the exchange with user
 *            mode is that of viogpum.h in the virtio-win drivers (BSD).
 */
#include <drydock/gpu_model.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define QUEUES           2u
#define LONGEST_QUEUE    256u
#define COMMAND_NS       2000u
#define DISPLAY_NS       1000000u
#define WIDTH            1024u
#define HEIGHT           768u
#define REGION_BYTES     0x1000u
#define NO_VECTOR        0xffffu
#define MOST_ENTRIES     (1u << 20) /* of a resource's backing: 4 GiB of single pages */
#define CAPSET_ID        1u         /* of VIRGL, without content */
#define CAPSET_BYTES     64u
#define EVENT_DISPLAY    1u
#define FEATURE_VIRGL    (UINT64_C(1) << 0)
#define FEATURE_VERSION1 (UINT64_C(1) << 32)
#define FEATURES         (FEATURE_VIRGL | FEATURE_VERSION1)

enum { STATUS_DRIVER_OK = 4, STATUS_FEATURES_OK = 8, STATUS_NEEDS_RESET = 64 };
enum { INTERRUPT_QUEUE = 1, INTERRUPT_CONFIGURATION = 2 };

/* ---- What driver and device share ------------------------------------------------------------ */

struct common {
    uint32_t device_feature_select, device_feature, driver_feature_select, driver_feature;
    uint16_t config_vector, num_queues;
    uint8_t status, config_generation;
    uint16_t queue_select, queue_size, queue_vector, queue_enable, queue_notify_off;
    uint64_t queue_desc, queue_avail, queue_used;
};

struct configuration {
    uint32_t events_read, events_clear, num_scanouts, num_capsets;
};

enum { DESCRIPTOR_NEXT = 1, DESCRIPTOR_WRITE = 2, AVAIL_NO_INTERRUPT = 1 };
struct descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags, next;
};
struct ring_head { /* of the available ring and of the used one */
    uint16_t flags, index;
};
struct used_element {
    uint32_t id, bytes;
};

enum {
    GET_DISPLAY_INFO = 0x0100,
    RESOURCE_CREATE_2D,
    RESOURCE_UNREF,
    SET_SCANOUT,
    RESOURCE_FLUSH,
    TRANSFER_TO_HOST_2D,
    ATTACH_BACKING,
    DETACH_BACKING,
    GET_CAPSET_INFO,
    GET_CAPSET,
    CTX_CREATE = 0x0200,
    CTX_DESTROY,
    CTX_ATTACH_RESOURCE,
    CTX_DETACH_RESOURCE,
    RESOURCE_CREATE_3D,
    TRANSFER_TO_HOST_3D,
    TRANSFER_FROM_HOST_3D,
    SUBMIT_3D,
    UPDATE_CURSOR = 0x0300,
    MOVE_CURSOR,
    OK_NODATA = 0x1100,
    OK_DISPLAY_INFO,
    OK_CAPSET_INFO,
    OK_CAPSET,
    ERR_UNSPEC = 0x1200,
    ERR_OUT_OF_MEMORY,
    ERR_INVALID_SCANOUT_ID,
    ERR_INVALID_RESOURCE_ID,
    ERR_INVALID_CONTEXT_ID,
    ERR_INVALID_PARAMETER,
};

#define FLAG_FENCE 1u

struct header {
    uint32_t type, flags;
    uint64_t fence;
    uint32_t context, padding;
};

/*
 * Behind the header of each request, as dwords; what does not fit in here is read where it is
 * needed.
 */
#define REQUEST_DWORDS 11u
struct request {
    struct header header;
    uint32_t dwords[REQUEST_DWORDS];
};
enum { CREATE_3D_RESOURCE = 0, CREATE_3D_SAMPLES = 9 }; /* dwords of RESOURCE_CREATE_3D */

struct entry {
    uint64_t address;
    uint32_t bytes, padding;
};

/* ---- The client's work, in a SUBMIT_3D ------------------------------------------------------- */

#define WORK_MAGIC 0x6b726f77u /* "work" */
enum { ITEM_READ = 1, ITEM_WRITE = 2 };

struct work {
    uint32_t magic, count;
    uint64_t token, duration_ns;
};
struct work_item {
    uint32_t number; /* of the allocation */
    uint32_t index;  /* of the reference */
    uint32_t access, padding;
    uint64_t offset, bytes, key;
};

/* ---- The device ------------------------------------------------------------------------------ */

struct resource {
    struct resource *next;
    uint32_t id;
    uint32_t number; /* of the allocation that it is, plus 1; 0: it is none of the client's */
    uint32_t count;
    struct entry *entries;
};

struct context {
    struct context *next;
    uint32_t id;
};

struct gpu;
struct queue {
    struct gpu *gpu;
    uint16_t size, vector, is_enabled;
    uint64_t desc, avail, used;
    uint16_t next_avail, next_used;
    bool is_busy;
};

struct gpu {
    const struct drydock_gpu_host *host;
    uint32_t device_feature_select, driver_feature_select;
    uint64_t driver_features;
    uint16_t config_vector, queue_select;
    uint8_t status, interrupts;
    uint32_t events;
    struct queue queues[QUEUES];
    struct resource *resources;
    struct context *contexts;
};

/* A request's memory: what it gives, then what it takes the answer in. */
struct chain {
    unsigned out_count, in_count;
    uint64_t out_bytes;
    struct entry parts[LONGEST_QUEUE];
};

static bool read_at(const struct gpu *gpu, uint64_t address, void *out, uint64_t bytes)
{
    return gpu->host->read(gpu->host->context, (struct drydock_gpu_place){false, address}, out,
                           bytes);
}

static bool write_at(const struct gpu *gpu, uint64_t address, const void *from, uint64_t bytes)
{
    return gpu->host->write(gpu->host->context, (struct drydock_gpu_place){false, address}, from,
                            bytes);
}

static void interrupt(struct gpu *gpu, uint16_t vector, uint8_t why)
{
    gpu->interrupts |= why;
    if (vector != NO_VECTOR)
        gpu->host->raise_interrupt(gpu->host->context, vector);
}

static void fault(struct gpu *gpu, const struct header *header, uint64_t address, const char *text)
{
    gpu->host->report_fault(gpu->host->context, 0, header ? (uint32_t)header->fence : 0, address,
                            text);
}

static void break_down(struct gpu *gpu, uint64_t address, const char *text)
{
    gpu->status |= STATUS_NEEDS_RESET;
    fault(gpu, NULL, address, text);
    interrupt(gpu, gpu->config_vector, INTERRUPT_CONFIGURATION);
}

static void tell_display(void *argument)
{
    struct gpu *gpu = argument;

    gpu->events |= EVENT_DISPLAY;
    interrupt(gpu, gpu->config_vector, INTERRUPT_CONFIGURATION);
}

/* ---- Resources and contexts ------------------------------------------------------------------ */

static struct resource **find_resource(struct gpu *gpu, uint32_t id)
{
    struct resource **at = &gpu->resources;

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static uint32_t look_for_resource(struct gpu *gpu, uint32_t id)
{
    return *find_resource(gpu, id) ? OK_NODATA : ERR_INVALID_RESOURCE_ID;
}

static void remove_resource(struct resource **at)
{
    struct resource *resource = *at;

    *at = resource->next;
    free(resource->entries);
    free(resource);
}

static uint32_t create_resource(struct gpu *gpu, uint32_t id, uint32_t number)
{
    struct resource *resource;

    if (!id || *find_resource(gpu, id))
        return ERR_INVALID_RESOURCE_ID;
    resource = calloc(1, sizeof *resource);
    if (!resource)
        return ERR_OUT_OF_MEMORY;
    *resource = (struct resource){.next = gpu->resources, .id = id, .number = number};
    gpu->resources = resource;
    return OK_NODATA;
}

static struct context **find_context(struct gpu *gpu, uint32_t id)
{
    struct context **at = &gpu->contexts;

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static uint32_t change_context(struct gpu *gpu, uint32_t id, bool creates)
{
    struct context **at = find_context(gpu, id), *context = *at;

    if (!id || creates == (context != NULL))
        return ERR_INVALID_CONTEXT_ID;
    if (!creates) {
        *at = context->next;
        free(context);
        return OK_NODATA;
    }
    context = malloc(sizeof *context);
    if (!context)
        return ERR_OUT_OF_MEMORY;
    *context = (struct context){gpu->contexts, id};
    gpu->contexts = context;
    return OK_NODATA;
}

/* ---- Chains ---------------------------------------------------------------------------------- */

/* False: the ring is not where it was said to be, or not as the specification wants it. */
static bool gather(const struct queue *queue, uint16_t head, struct chain *chain)
{
    struct descriptor descriptor = {.next = head, .flags = DESCRIPTOR_NEXT};

    *chain = (struct chain){0};
    while (descriptor.flags & DESCRIPTOR_NEXT) {
        unsigned count = chain->out_count + chain->in_count;
        uint64_t at = queue->desc + descriptor.next * sizeof descriptor;

        if (count == queue->size || descriptor.next >= queue->size ||
            !read_at(queue->gpu, at, &descriptor, sizeof descriptor))
            return false;
        if (descriptor.flags & DESCRIPTOR_WRITE) {
            chain->in_count++;
        } else {
            if (chain->in_count)
                return false;
            chain->out_count++;
            chain->out_bytes += descriptor.bytes;
        }
        chain->parts[count] = (struct entry){descriptor.address, descriptor.bytes, 0};
    }
    return true;
}

/* Bytes from an offset of the request on; false: there are not so many, or no memory answers. */
static bool take(const struct gpu *gpu, const struct chain *chain, uint64_t offset, void *out,
                 uint64_t bytes)
{
    uint8_t *at = out;

    for (unsigned i = 0; i < chain->out_count && bytes; i++) {
        const struct entry *part = &chain->parts[i];
        uint64_t piece;

        if (offset >= part->bytes) {
            offset -= part->bytes;
            continue;
        }
        piece = part->bytes - offset < bytes ? part->bytes - offset : bytes;
        if (!read_at(gpu, part->address + offset, at, piece))
            return false;
        at += piece;
        bytes -= piece;
        offset = 0;
    }
    return !bytes;
}

/* As much of the answer as there is room for; how much, or -1 where no memory answers. */
static int64_t answer(const struct gpu *gpu, const struct chain *chain, const void *from,
                      uint64_t bytes)
{
    int64_t done = 0;

    for (unsigned i = chain->out_count; i < chain->out_count + chain->in_count && bytes; i++) {
        uint64_t piece = chain->parts[i].bytes < bytes ? chain->parts[i].bytes : bytes;

        if (!write_at(gpu, chain->parts[i].address, (const uint8_t *)from + done, piece))
            return -1;
        done += (int64_t)piece;
        bytes -= piece;
    }
    return done;
}

/* ---- Commands -------------------------------------------------------------------------------- */

static uint32_t attach(struct gpu *gpu, const struct request *request, const struct chain *chain)
{
    struct resource *resource = *find_resource(gpu, request->dwords[0]);
    uint64_t bytes = request->dwords[1] * (uint64_t)sizeof(struct entry);
    struct entry *entries;

    if (!resource)
        return ERR_INVALID_RESOURCE_ID;
    if (resource->entries)
        return ERR_UNSPEC;
    if (!bytes || request->dwords[1] > MOST_ENTRIES)
        return ERR_INVALID_PARAMETER;
    entries = malloc(bytes);
    if (!entries)
        return ERR_OUT_OF_MEMORY;
    if (!take(gpu, chain, sizeof request->header + 8, entries, bytes)) {
        free(entries);
        return ERR_INVALID_PARAMETER;
    }
    resource->entries = entries;
    resource->count = request->dwords[1];
    return OK_NODATA;
}

static uint32_t detach(struct gpu *gpu, uint32_t id)
{
    struct resource *resource = *find_resource(gpu, id);

    if (!resource)
        return ERR_INVALID_RESOURCE_ID;
    free(resource->entries);
    resource->entries = NULL;
    resource->count = 0;
    return OK_NODATA;
}

static bool do_item(struct gpu *gpu, const struct work *work, const struct work_item *item,
                    uint32_t access)
{
    const struct drydock_gpu_host *host = gpu->host;
    const struct resource *resource = gpu->resources;
    uint64_t skip = item->offset, done = 0;

    if (!(item->access & access))
        return true;
    while (resource && resource->number != item->number + 1)
        resource = resource->next;
    for (uint32_t i = 0; resource && i < resource->count && done < item->bytes; i++) {
        const struct entry *entry = &resource->entries[i];
        struct drydock_gpu_place at = {false, entry->address + skip};
        uint64_t piece = entry->bytes - skip;

        if (skip >= entry->bytes) {
            skip -= entry->bytes;
            continue;
        }
        piece = piece < item->bytes - done ? piece : item->bytes - done;
        if (access == ITEM_READ
                ? !host->read_work(host->context, work->token, item->index, done, at, piece)
                : !host->write_work(host->context, work->token, item->index, done, at, piece,
                                    item->key))
            return false;
        done += piece;
        skip = 0;
    }
    return done == item->bytes;
}

/* All that is read is read before the first is written. */
static uint32_t submit(struct gpu *gpu, const struct request *request, const struct chain *chain)
{
    static const uint32_t order[] = {ITEM_READ, ITEM_WRITE};
    const uint64_t start = sizeof request->header + 8; /* behind its size */
    struct work_item item;
    struct work work;

    if (!*find_context(gpu, request->header.context))
        return ERR_INVALID_CONTEXT_ID;
    if (chain->out_bytes < start + request->dwords[0])
        return ERR_INVALID_PARAMETER;
    if (request->dwords[0] < sizeof work || !take(gpu, chain, start, &work, sizeof work) ||
        work.magic != WORK_MAGIC)
        return OK_NODATA;
    gpu->host->begin_work(gpu->host->context, work.token, 0);
    for (uint32_t i = 0; i < 2 * work.count; i++) {
        uint64_t at = start + sizeof work + i % work.count * sizeof item;

        if (!take(gpu, chain, at, &item, sizeof item))
            return ERR_INVALID_PARAMETER;
        if (!do_item(gpu, &work, &item, order[i / work.count])) {
            fault(gpu, &request->header, item.offset,
                  "work on a resource that has no backing there, or no memory behind it");
            return ERR_UNSPEC;
        }
    }
    gpu->host->end_work(gpu->host->context, work.token);
    return OK_NODATA;
}

/* Fills what is behind the header of an answer, zeroed before, and says how much of it there is. */
static uint32_t describe(const struct request *request, uint32_t data[], uint32_t *out_bytes)
{
    switch (request->header.type) {
    case GET_DISPLAY_INFO: /* 16 outputs of x, y, width, height, enabled, flags */
        data[2] = WIDTH;
        data[3] = HEIGHT;
        data[4] = 1;
        *out_bytes = 16 * 24;
        return OK_DISPLAY_INFO;
    case GET_CAPSET_INFO:
        if (request->dwords[0])
            return ERR_INVALID_PARAMETER;
        data[0] = CAPSET_ID;
        data[1] = 1;
        data[2] = CAPSET_BYTES;
        *out_bytes = 16;
        return OK_CAPSET_INFO;
    default:
        if (request->dwords[0] != CAPSET_ID)
            return ERR_INVALID_PARAMETER;
        *out_bytes = CAPSET_BYTES;
        return OK_CAPSET;
    }
}

static uint32_t execute(struct gpu *gpu, const struct request *request, const struct chain *chain)
{
    const uint32_t *dwords = request->dwords;
    uint32_t type = request->header.type;

    switch (type) {
    case RESOURCE_CREATE_2D:
        return create_resource(gpu, dwords[0], 0);
    case RESOURCE_CREATE_3D:
        return create_resource(gpu, dwords[CREATE_3D_RESOURCE], dwords[CREATE_3D_SAMPLES]);
    case RESOURCE_UNREF:
        if (!*find_resource(gpu, dwords[0]))
            return ERR_INVALID_RESOURCE_ID;
        remove_resource(find_resource(gpu, dwords[0]));
        return OK_NODATA;
    case ATTACH_BACKING:
        return attach(gpu, request, chain);
    case DETACH_BACKING:
        return detach(gpu, dwords[0]);
    case SET_SCANOUT: /* a rectangle, the output, the resource: 0 is none */
        if (dwords[4])
            return ERR_INVALID_SCANOUT_ID;
        return dwords[5] ? look_for_resource(gpu, dwords[5]) : OK_NODATA;
    case RESOURCE_FLUSH: /* a rectangle, the resource */
        return look_for_resource(gpu, dwords[4]);
    case TRANSFER_TO_HOST_2D: /* a rectangle, the offset, the resource */
        return look_for_resource(gpu, dwords[6]);
    case TRANSFER_TO_HOST_3D: /* a box, the offset, the resource */
    case TRANSFER_FROM_HOST_3D:
        return look_for_resource(gpu, dwords[8]);
    case CTX_CREATE:
    case CTX_DESTROY:
        return change_context(gpu, request->header.context, type == CTX_CREATE);
    case CTX_ATTACH_RESOURCE:
    case CTX_DETACH_RESOURCE:
        if (!*find_context(gpu, request->header.context))
            return ERR_INVALID_CONTEXT_ID;
        return look_for_resource(gpu, dwords[0]);
    case SUBMIT_3D:
        return submit(gpu, request, chain);
    case UPDATE_CURSOR:
    case MOVE_CURSOR:
        return OK_NODATA;
    default:
        return ERR_UNSPEC;
    }
}

/* Of a fault, by the error that was answered. */
static const char *const error_texts[] = {
    "a command was answered with VIRTIO_GPU_RESP_ERR_UNSPEC",
    "a command was answered with VIRTIO_GPU_RESP_ERR_OUT_OF_MEMORY",
    "a command was answered with VIRTIO_GPU_RESP_ERR_INVALID_SCANOUT_ID",
    "a command was answered with VIRTIO_GPU_RESP_ERR_INVALID_RESOURCE_ID",
    "a command was answered with VIRTIO_GPU_RESP_ERR_INVALID_CONTEXT_ID",
    "a command was answered with VIRTIO_GPU_RESP_ERR_INVALID_PARAMETER",
};

/*
 * Tells which bytes of the driver take effect: of the client's work those behind its size, which
 * may be all that lies in the buffer that the driver submitted, else the request.
 */
static void tell_request(const struct gpu *gpu, const struct request *request,
                         const struct chain *chain)
{
    uint64_t offset = request->header.type == SUBMIT_3D ? sizeof request->header + 8 : 0;
    unsigned part = 0;

    while (part + 1 < chain->out_count && offset >= chain->parts[part].bytes)
        offset -= chain->parts[part++].bytes;
    if (offset < chain->parts[part].bytes)
        gpu->host->executes(gpu->host->context, 0, chain->parts[part].address + offset,
                            chain->parts[part].bytes - (uint32_t)offset);
}

/* The whole of one request; how many bytes its answer has, or -1: no memory answers. */
static int64_t serve(struct gpu *gpu, const struct chain *chain)
{
    struct {
        struct header header;
        uint32_t data[16 * 6]; /* the longest: GET_DISPLAY_INFO's */
    } reply = {0};
    struct request request = {0};
    uint64_t bytes = chain->out_bytes < sizeof request ? chain->out_bytes : sizeof request;
    uint32_t data_bytes = 0;

    if (bytes < sizeof request.header || !take(gpu, chain, 0, &request, bytes))
        return -1;
    tell_request(gpu, &request, chain);
    if (request.header.type == GET_DISPLAY_INFO || request.header.type == GET_CAPSET_INFO ||
        request.header.type == GET_CAPSET)
        reply.header.type = describe(&request, reply.data, &data_bytes);
    else
        reply.header.type = execute(gpu, &request, chain);
    if (request.header.flags & FLAG_FENCE) {
        reply.header.flags = FLAG_FENCE;
        reply.header.fence = request.header.fence;
        reply.header.context = request.header.context;
    }
    if (reply.header.type >= ERR_UNSPEC)
        fault(gpu, &request.header, request.header.type,
              error_texts[reply.header.type - ERR_UNSPEC]);
    gpu->host->executes(gpu->host->context, 0, 0, 0);
    return answer(gpu, chain, &reply, sizeof reply.header + data_bytes);
}

/* ---- Queues ---------------------------------------------------------------------------------- */

static void start(struct queue *queue);

/* The head of the next request; false: there is none, or the queue is broken. */
static bool peek(struct queue *queue, uint16_t *out_head, uint16_t *out_flags)
{
    struct ring_head avail;
    uint64_t at = queue->avail + sizeof avail + 2 * (queue->next_avail % queue->size);

    if (!read_at(queue->gpu, queue->avail, &avail, sizeof avail) ||
        !read_at(queue->gpu, at, out_head, sizeof *out_head)) {
        break_down(queue->gpu, queue->avail, "no memory answers where the available ring is");
        return false;
    }
    *out_flags = avail.flags;
    return avail.index != queue->next_avail;
}

static void end(void *argument)
{
    struct queue *queue = argument;
    struct gpu *gpu = queue->gpu;
    struct ring_head used = {0};
    struct used_element element;
    struct chain chain;
    uint16_t head, flags;
    uint64_t at = queue->used + sizeof used + queue->next_used % queue->size * sizeof element;
    int64_t bytes = -1;

    queue->is_busy = false;
    if (!peek(queue, &head, &flags))
        return;
    if (gather(queue, head, &chain))
        bytes = serve(gpu, &chain);
    queue->next_avail++;
    used.index = ++queue->next_used;
    element = (struct used_element){head, (uint32_t)bytes};
    if (bytes < 0 || !write_at(gpu, at, &element, sizeof element) ||
        !write_at(gpu, queue->used, &used, sizeof used)) {
        break_down(gpu, queue->desc + head * sizeof(struct descriptor),
                   "a request is not as the specification wants it, or no memory answers there");
        return;
    }
    if (!(flags & AVAIL_NO_INTERRUPT))
        interrupt(gpu, queue->vector, INTERRUPT_QUEUE);
    start(queue);
}

/* How long the next request takes: the client's work says so, others are short. */
static uint64_t duration(struct queue *queue, uint16_t head)
{
    struct {
        struct header header;
        uint32_t size, padding;
        struct work work;
    } request;
    struct chain chain;

    if (gather(queue, head, &chain) && chain.out_bytes >= sizeof request &&
        take(queue->gpu, &chain, 0, &request, sizeof request) && request.header.type == SUBMIT_3D &&
        request.work.magic == WORK_MAGIC && request.work.duration_ns > COMMAND_NS)
        return request.work.duration_ns;
    return COMMAND_NS;
}

static void start(struct queue *queue)
{
    struct gpu *gpu = queue->gpu;
    uint16_t head, flags;

    if (queue->is_busy || !queue->is_enabled || !(gpu->status & STATUS_DRIVER_OK) ||
        gpu->status & STATUS_NEEDS_RESET || !peek(queue, &head, &flags))
        return;
    queue->is_busy = gpu->host->schedule(gpu->host->context, duration(queue, head), end, queue);
}

/* ---- Registers ------------------------------------------------------------------------------- */

static void reset(void *self)
{
    struct gpu *gpu = self;
    const struct drydock_gpu_host *host = gpu->host;

    host->cancel(host->context, gpu);
    for (unsigned i = 0; i < QUEUES; i++)
        host->cancel(host->context, &gpu->queues[i]);
    while (gpu->resources)
        remove_resource(&gpu->resources);
    while (gpu->contexts)
        change_context(gpu, gpu->contexts->id, false);
    *gpu = (struct gpu){.host = host, .config_vector = NO_VECTOR};
    gpu->queues[0] = (struct queue){.gpu = gpu, .size = LONGEST_QUEUE, .vector = NO_VECTOR};
    gpu->queues[1] = (struct queue){.gpu = gpu, .size = 16, .vector = NO_VECTOR};
}

static struct common common_of(const struct gpu *gpu)
{
    static const struct queue none = {.vector = NO_VECTOR};
    const struct queue *queue =
        gpu->queue_select < QUEUES ? &gpu->queues[gpu->queue_select] : &none;

    return (struct common){
        .device_feature_select = gpu->device_feature_select,
        .device_feature = gpu->device_feature_select < 2
                              ? (uint32_t)(FEATURES >> 32 * gpu->device_feature_select)
                              : 0,
        .driver_feature_select = gpu->driver_feature_select,
        .driver_feature = gpu->driver_feature_select < 2
                              ? (uint32_t)(gpu->driver_features >> 32 * gpu->driver_feature_select)
                              : 0,
        .config_vector = gpu->config_vector,
        .num_queues = QUEUES,
        .status = gpu->status,
        .queue_select = gpu->queue_select,
        .queue_size = queue->size,
        .queue_vector = queue->vector,
        .queue_enable = queue->is_enabled,
        .queue_notify_off = gpu->queue_select,
        .queue_desc = queue->desc,
        .queue_avail = queue->avail,
        .queue_used = queue->used,
    };
}

static uint64_t read_register(void *self, uint64_t offset, unsigned size)
{
    struct gpu *gpu = self;
    const struct common common = common_of(gpu);
    const struct configuration configuration = {.events_read = gpu->events, 0, 1, 1};
    uint64_t in_region = offset % REGION_BYTES, value = 0;

    switch (offset / REGION_BYTES) {
    case 0:
        if (in_region + size <= sizeof common)
            memcpy(&value, (const char *)&common + in_region, size);
        break;
    case 1:
        value = in_region ? 0 : gpu->interrupts;
        if (!in_region)
            gpu->interrupts = 0;
        break;
    case 2:
        if (in_region + size <= sizeof configuration)
            memcpy(&value, (const char *)&configuration + in_region, size);
        break;
    }
    return value;
}

static void set_half(uint64_t *at, unsigned half, unsigned size, uint64_t value)
{
    if (size == 8)
        *at = value;
    else
        *at = (*at & ~(UINT64_C(0xffffffff) << 32 * half)) | value << 32 * half;
}

static void set_status(struct gpu *gpu, uint8_t status)
{
    bool is_ready = status & ~gpu->status & STATUS_DRIVER_OK;

    if (!status) {
        reset(gpu);
        return;
    }
    if (gpu->driver_features & ~FEATURES || !(gpu->driver_features & FEATURE_VERSION1))
        status &= (uint8_t)~STATUS_FEATURES_OK;
    gpu->status = status | (gpu->status & STATUS_NEEDS_RESET);
    if (is_ready)
        gpu->host->schedule(gpu->host->context, DISPLAY_NS, tell_display, gpu);
}

static void write_queue(struct queue *queue, uint64_t offset, unsigned size, uint64_t value)
{
    if (offset == offsetof(struct common, queue_size) && value && value <= LONGEST_QUEUE &&
        !(value & (value - 1)))
        queue->size = (uint16_t)value;
    else if (offset == offsetof(struct common, queue_vector))
        queue->vector = (uint16_t)value;
    else if (offset == offsetof(struct common, queue_enable))
        queue->is_enabled = value == 1;
    else if (offset >= offsetof(struct common, queue_used))
        set_half(&queue->used, offset % 8 / 4, size, value);
    else if (offset >= offsetof(struct common, queue_avail))
        set_half(&queue->avail, offset % 8 / 4, size, value);
    else if (offset >= offsetof(struct common, queue_desc))
        set_half(&queue->desc, offset % 8 / 4, size, value);
}

static void write_register(void *self, uint64_t offset, unsigned size, uint64_t value)
{
    struct gpu *gpu = self;

    if (offset / REGION_BYTES == 3) {
        if (value < QUEUES)
            start(&gpu->queues[value]);
    } else if (offset == 2 * REGION_BYTES + offsetof(struct configuration, events_clear)) {
        gpu->events &= ~(uint32_t)value;
    } else if (offset >= sizeof(struct common)) {
        return;
    } else if (offset == offsetof(struct common, device_feature_select)) {
        gpu->device_feature_select = (uint32_t)value;
    } else if (offset == offsetof(struct common, driver_feature_select)) {
        gpu->driver_feature_select = (uint32_t)value;
    } else if (offset == offsetof(struct common, driver_feature)) {
        if (gpu->driver_feature_select < 2)
            set_half(&gpu->driver_features, gpu->driver_feature_select, 4, value);
    } else if (offset == offsetof(struct common, config_vector)) {
        gpu->config_vector = (uint16_t)value;
    } else if (offset == offsetof(struct common, status)) {
        set_status(gpu, (uint8_t)value);
    } else if (offset == offsetof(struct common, queue_select)) {
        gpu->queue_select = (uint16_t)value;
    } else if (gpu->queue_select < QUEUES) {
        write_queue(&gpu->queues[gpu->queue_select], offset, size, value);
    }
}

/* ---- The client of viogpu3d ------------------------------------------------------------------ */

enum { EXCHANGE_SAMPLES = 8, EXCHANGE_DWORDS = 12 };
#define COMMAND_SUBMIT 1u

/*
 * Ten dwords of options, as RESOURCE_CREATE_3D has them, then the size: a buffer that says which
 * one it is.
 */
static uint32_t allocation_data(void *self, const struct drydock_gpu_allocation *allocation,
                                void *out, uint32_t room)
{
    uint32_t dwords[EXCHANGE_DWORDS] = {0, 64, 0, (uint32_t)allocation->bytes, 1, 1, 1, 0};

    dwords[EXCHANGE_SAMPLES] = allocation->index + 1;
    memcpy(&dwords[EXCHANGE_DWORDS - 2], &allocation->bytes, sizeof allocation->bytes);
    if (sizeof dwords <= room)
        memcpy(out, dwords, sizeof dwords);
    return sizeof dwords;
}

/* One command for the host: its kind and size, then the work. */
static uint32_t commands(void *self, const struct drydock_gpu_work *work, void *out, uint32_t room)
{
    uint32_t body =
        (uint32_t)(sizeof(struct work) + work->reference_count * sizeof(struct work_item));
    const uint32_t head[] = {COMMAND_SUBMIT, body};
    const struct work list = {WORK_MAGIC, work->reference_count, work->token, work->duration_ns};
    uint8_t *at = out;

    if (sizeof head + body > room)
        return (uint32_t)sizeof head + body;
    memcpy(at, head, sizeof head);
    memcpy(at += sizeof head, &list, sizeof list);
    at += sizeof list;
    for (uint32_t i = 0; i < work->reference_count; i++, at += sizeof(struct work_item)) {
        const struct drydock_gpu_reference *r = &work->references[i];
        const struct work_item item = {
            .number = r->number,
            .index = i,
            .access = (r->is_read ? ITEM_READ : 0) | (r->is_written ? ITEM_WRITE : 0),
            .offset = r->offset,
            .bytes = r->bytes,
            .key = r->key,
        };

        memcpy(at, &item, sizeof item);
    }
    return (uint32_t)sizeof head + body;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *create(const struct drydock_gpu_host *host, const struct drydock_gpu_board *board)
{
    struct gpu *gpu = calloc(1, sizeof *gpu);

    if (!gpu)
        return NULL;
    gpu->host = host;
    reset(gpu);
    return gpu;
}

static void destroy(void *self)
{
    reset(self);
    free(self);
}

#define CAPABILITY(next, length, kind, offset, bytes)                                              \
    0x09, next, length, kind, 4, 0, 0, 0, 0, (offset) >> 8, 0, 0, 0, (bytes) >> 8, 0, 0

const struct drydock_gpu_model *drydock_gpu_model(uint32_t api_version)
{
    /* MSI-X of three messages; then virtio's: common, interrupt status, device, notification. */
    /* clang-format off */
    static const uint8_t capabilities[] = {
        0x11, 0x50, 2, 0x80, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0, 0, /* at 0x40 */
        CAPABILITY(0x60, 16, 1, 0x0000, REGION_BYTES),           /* at 0x50 */
        CAPABILITY(0x70, 16, 3, 0x1000, REGION_BYTES),
        CAPABILITY(0x80, 16, 4, 0x2000, REGION_BYTES),
        CAPABILITY(0x00, 20, 2, 0x3000, REGION_BYTES), 4, 0, 0, 0, /* bytes a queue */
    };
    /* clang-format on */
    static const struct drydock_gpu_pci pci = {
        .vendor_id = 0x1af4,
        .device_id = 0x1050,
        .subsystem_vendor_id = 0x1af4,
        .subsystem_id = 0x1100,
        .revision = 1,
        .class_code = 0x038000,
        .bars[1] = {.is_there = true, .bytes = 0x1000, .first = 0x4000},
        .bars[4] = {.is_there = true, .bytes = 0x4000, .first = 0},
        .capabilities = capabilities,
        .capability_bytes = sizeof capabilities,
        .message_count = 3,
    };
    static const struct drydock_gpu_model model = {
        .api_version = DRYDOCK_GPU_MODEL_API,
        .name = "virtio-gpu",
        .register_bytes = 0x5000,
        .create = create,
        .destroy = destroy,
        .reset = reset,
        .read_register = read_register,
        .write_register = write_register,
        .allocation_data = allocation_data,
        .commands = commands,
        .pci = &pci,
        .names_allocations = true,
    };

    return api_version == DRYDOCK_GPU_MODEL_API ? &model : NULL;
}
