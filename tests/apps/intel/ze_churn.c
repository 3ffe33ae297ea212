/*
 * ze_churn: Level Zero clients in threads on copy-only queues, with memory of random sizes and
 * lifetimes.
 *
 * Does       Each thread has a share of the working set and an immediate command list of its own. A
 * step allocates device memory and fills or writes it, writes or fills a part, reads and checks a
 * part, copies a part to another allocation, evicts one and makes it resident again
 * (zeContextEvictMemory), or frees one. In the end all is checked. Engine     The queue group that
 * can copy and cannot compute: on DG2 the copy engine only, fills included (XY_FAST_COLOR_BLT).
 * Without such a group the program ends with status 2. Options    total=MiB (128) buffer=KiB (4096)
 * threads=N (4) steps=N of each thread (400) seed=N (1) Build      cc -O2 -o ze_churn ze_churn.c
 * -lze_loader -lpthread
 */
#include <level_zero/ze_api.h>
#include <pthread.h>

#include "pattern.h"

#define MOST 256 /* allocations of a thread */

struct piece {
    unsigned char *memory; /* device memory; NULL: the slot is free */
    uint64_t lines;
    uint64_t *tags;
};

struct client {
    const struct options *options;
    ze_context_handle_t context;
    ze_device_handle_t device;
    ze_command_list_handle_t list;
    struct rng rng;
    struct piece pieces[MOST];
    uint64_t number, held_lines, next_tag, wrong, bytes_checked, fills;
    unsigned char *host;
    pthread_t thread;
};

static struct piece *any(struct client *c)
{
    unsigned first = (unsigned)rng_below(&c->rng, MOST);
    for (unsigned i = 0; i < MOST; i++)
        if (c->pieces[(first + i) % MOST].memory)
            return &c->pieces[(first + i) % MOST];
    return NULL;
}

/* The list is synchronous: what is appended has happened when the call returns. */
#define COPY(c, to, from, bytes)                                                                   \
    CHECK(zeCommandListAppendMemoryCopy((c)->list, to, from, bytes, NULL, 0, NULL))

static void write_part(struct client *c, struct piece *p, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        p->tags[first + i] = c->next_tag++;
    lines_write(c->host, p->tags + first, count);
    COPY(c, p->memory + first * LINE, c->host, count * LINE);
}

static void fill_part(struct client *c, struct piece *p, uint64_t first, uint64_t count)
{
    uint64_t tag = FILL_TAG | c->next_tag++;
    uint32_t word = tag_word(tag, 0);
    for (uint64_t i = 0; i < count; i++)
        p->tags[first + i] = tag;
    CHECK(zeCommandListAppendMemoryFill(c->list, p->memory + first * LINE, &word, sizeof word,
                                        count * LINE, NULL, 0, NULL));
    c->fills++;
}

static void check_part(struct client *c, struct piece *p, uint64_t first, uint64_t count)
{
    char who[32];
    snprintf(who, sizeof who, "thread %llu", (unsigned long long)c->number);
    memset(c->host, 0, count * LINE);
    COPY(c, c->host, p->memory + first * LINE, count * LINE);
    c->wrong += lines_wrong(c->host, p->tags + first, count, who, (unsigned)(p - c->pieces), first);
    c->bytes_checked += count * LINE;
}

static void release(struct client *c, struct piece *p)
{
    CHECK(zeMemFree(c->context, p->memory));
    c->held_lines -= p->lines;
    free(p->tags);
    memset(p, 0, sizeof *p);
}

static void allocate(struct client *c)
{
    uint64_t share = c->options->total_mib * MIB / LINE / c->options->threads;
    uint64_t lines = 1 + rng_below(&c->rng, c->options->buffer_kib * 1024 / LINE);
    ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    struct piece *p = NULL, *victim;
    void *memory;
    while (c->held_lines + lines > share && (victim = any(c)))
        release(c, victim);
    for (unsigned i = 0; i < MOST && !p; i++)
        if (!c->pieces[i].memory)
            p = &c->pieces[i];
    if (!p)
        release(c, p = any(c));
    CHECK(zeMemAllocDevice(c->context, &desc, lines * LINE, LINE, c->device, &memory));
    *p = (struct piece){.memory = memory, .lines = lines, .tags = malloc(lines * sizeof(uint64_t))};
    c->held_lines += lines;
    (rng_below(&c->rng, 4) == 0 ? fill_part : write_part)(c, p, 0, lines);
}

static void copy_part(struct client *c)
{
    struct piece *from = any(c), *to = any(c);
    if (!from || from == to)
        return;
    uint64_t most = from->lines < to->lines ? from->lines : to->lines,
             count = 1 + rng_below(&c->rng, most);
    uint64_t a = rng_below(&c->rng, from->lines - count + 1),
             b = rng_below(&c->rng, to->lines - count + 1);
    COPY(c, to->memory + b * LINE, from->memory + a * LINE, count * LINE);
    memcpy(to->tags + b, from->tags + a, count * sizeof(uint64_t));
}

static void *run(void *argument)
{
    struct client *c = argument;
    for (uint64_t step = 0; step < c->options->steps; step++) {
        struct piece *p = any(c);
        uint64_t what = rng_below(&c->rng, 12), first = p ? rng_below(&c->rng, p->lines) : 0;
        uint64_t count = p ? 1 + rng_below(&c->rng, p->lines - first) : 0;
        if (!p || what < 2)
            allocate(c);
        else if (what < 5)
            write_part(c, p, first, count);
        else if (what == 5)
            fill_part(c, p, first, count);
        else if (what < 9)
            check_part(c, p, first, count);
        else if (what == 9)
            copy_part(c);
        else if (what == 10) {
            CHECK(zeContextMakeMemoryResident(c->context, c->device, p->memory, p->lines * LINE));
            CHECK(zeContextEvictMemory(c->context, c->device, p->memory, p->lines * LINE));
        } else if (rng_below(&c->rng, 2))
            release(c, p);
    }
    for (struct piece *p; (p = any(c)); release(c, p))
        check_part(c, p, 0, p->lines);
    return NULL;
}

int main(int argc, char **argv)
{
    struct options o = {
        .total_mib = 128, .buffer_kib = 4096, .threads = 4, .steps = 400, .seed = 1};
    options_read(&o, argc, argv);
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    uint32_t drivers = 1, devices = 1, groups = 8, copy_only = UINT32_MAX;
    CHECK(zeInit(0));
    CHECK(zeDriverGet(&drivers, &driver));
    CHECK(zeDeviceGet(driver, &devices, &device));
    ze_command_queue_group_properties_t group[8] = {0};
    CHECK(zeDeviceGetCommandQueueGroupProperties(device, &groups, group));
    const uint32_t copy = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY,
                   compute = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
    for (uint32_t i = 0; i < groups; i++)
        if ((group[i].flags & (copy | compute)) == copy)
            copy_only = i;
    if (copy_only == UINT32_MAX) {
        fprintf(stderr, "no copy-only queue group\n");
        return 2;
    }
    ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_context_handle_t context;
    CHECK(zeContextCreate(driver, &context_desc, &context));
    ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                          .ordinal = copy_only,
                                          .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};

    struct client *clients = calloc(o.threads, sizeof *clients);
    uint64_t wrong = 0, checked = 0, fills = 0;
    for (uint64_t i = 0; i < o.threads; i++) {
        struct client *c = &clients[i];
        *c = (struct client){.options = &o,
                             .context = context,
                             .device = device,
                             .number = i,
                             .rng = {mix(o.seed * 1000 + i)},
                             .next_tag = (i + 1) << 44};
        c->host = aligned_alloc(4096, (o.buffer_kib * 1024 + 4095) / 4096 * 4096);
        CHECK(zeCommandListCreateImmediate(context, device, &queue_desc, &c->list));
        if (pthread_create(&c->thread, NULL, run, c) != 0)
            return 2;
    }
    for (uint64_t i = 0; i < o.threads; i++) {
        pthread_join(clients[i].thread, NULL);
        wrong += clients[i].wrong, checked += clients[i].bytes_checked, fills += clients[i].fills;
        CHECK(zeCommandListDestroy(clients[i].list));
        free(clients[i].host);
    }
    CHECK(zeContextDestroy(context));
    printf("ze_churn: %llu threads, %llu steps each, %llu fills, %llu MiB checked, %llu wrong "
           "lines: %s\n",
           (unsigned long long)o.threads, (unsigned long long)o.steps, (unsigned long long)fills,
           (unsigned long long)(checked / MIB), (unsigned long long)wrong,
           wrong ? "WRONG" : "all content right");
    free(clients);
    return wrong != 0;
}
