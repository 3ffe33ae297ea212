/*
 * cl_churn: OpenCL clients in threads, each with buffers of random sizes and lifetimes.
 *
 * Does       Each thread has a share of the working set and a queue of its own. A step creates a
 * buffer and writes it, or writes a part (blocking or not), reads and checks a part, copies a part
 * to another buffer on a copy-only queue, or releases a buffer. When its share is full, a thread
 * releases one first. In the end all is checked. Engine     Writes, reads, and copies of a
 * copy-only queue (cl_intel_command_queue_families): on DG2 the copy engine only. Where there is no
 * such queue, copies are left out: other queues copy device memory with a kernel. Options total=MiB
 * (128) buffer=KiB (4096) threads=N (4) steps=N of each thread (400) seed=N (1) Build      cc -O2
 * -o cl_churn cl_churn.c -lOpenCL -lpthread
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <pthread.h>

#include "pattern.h"

#define MOST 256 /* buffers of a thread */

struct buffer {
    cl_mem memory; /* NULL: the slot is free */
    uint64_t lines;
    uint64_t *tags;
};

struct client {
    const struct options *options;
    cl_context context;
    cl_command_queue queue, copies; /* copies: NULL when there is no copy-only queue */
    struct rng rng;
    struct buffer buffers[MOST];
    uint64_t number, held_lines, next_tag, wrong, bytes_checked;
    unsigned char *host;
    pthread_t thread;
};

static struct buffer *any(struct client *c)
{
    unsigned first = (unsigned)rng_below(&c->rng, MOST);
    for (unsigned i = 0; i < MOST; i++)
        if (c->buffers[(first + i) % MOST].memory)
            return &c->buffers[(first + i) % MOST];
    return NULL;
}

static void write_part(struct client *c, struct buffer *b, uint64_t first, uint64_t count,
                       cl_bool blocking)
{
    for (uint64_t i = 0; i < count; i++)
        b->tags[first + i] = c->next_tag++;
    lines_write(c->host, b->tags + first, count);
    CHECK(clEnqueueWriteBuffer(c->queue, b->memory, blocking, first * LINE, count * LINE, c->host,
                               0, NULL, NULL));
    if (!blocking)
        CHECK(clFinish(c->queue)); /* the host memory is used again */
}

static void check_part(struct client *c, struct buffer *b, uint64_t first, uint64_t count)
{
    char who[32];
    snprintf(who, sizeof who, "thread %llu", (unsigned long long)c->number);
    memset(c->host, 0, count * LINE);
    CHECK(clEnqueueReadBuffer(c->queue, b->memory, CL_TRUE, first * LINE, count * LINE, c->host, 0,
                              NULL, NULL));
    c->wrong +=
        lines_wrong(c->host, b->tags + first, count, who, (unsigned)(b - c->buffers), first);
    c->bytes_checked += count * LINE;
}

static void release(struct client *c, struct buffer *b)
{
    CHECK(clReleaseMemObject(b->memory));
    c->held_lines -= b->lines;
    free(b->tags);
    memset(b, 0, sizeof *b);
}

static void create(struct client *c)
{
    uint64_t share = c->options->total_mib * MIB / LINE / c->options->threads;
    uint64_t lines = 1 + rng_below(&c->rng, c->options->buffer_kib * 1024 / LINE);
    struct buffer *b = NULL, *victim;
    while (c->held_lines + lines > share && (victim = any(c)))
        release(c, victim);
    for (unsigned i = 0; i < MOST && !b; i++)
        if (!c->buffers[i].memory)
            b = &c->buffers[i];
    if (!b) {
        release(c, b = any(c));
    }
    cl_int status;
    b->memory = clCreateBuffer(c->context, CL_MEM_READ_WRITE, lines * LINE, NULL, &status);
    CHECK(status);
    b->tags = malloc(lines * sizeof(uint64_t));
    b->lines = lines;
    c->held_lines += lines;
    write_part(c, b, 0, lines, CL_TRUE);
}

static void copy_part(struct client *c)
{
    struct buffer *from = any(c), *to = any(c);
    if (!c->copies || !from || from == to)
        return;
    uint64_t most = from->lines < to->lines ? from->lines : to->lines,
             count = 1 + rng_below(&c->rng, most);
    uint64_t a = rng_below(&c->rng, from->lines - count + 1),
             b = rng_below(&c->rng, to->lines - count + 1);
    CHECK(clFinish(c->queue));
    CHECK(clEnqueueCopyBuffer(c->copies, from->memory, to->memory, a * LINE, b * LINE, count * LINE,
                              0, NULL, NULL));
    CHECK(clFinish(c->copies));
    memcpy(to->tags + b, from->tags + a, count * sizeof(uint64_t));
}

static void *run(void *argument)
{
    struct client *c = argument;
    for (uint64_t step = 0; step < c->options->steps; step++) {
        struct buffer *b = any(c);
        uint64_t what = rng_below(&c->rng, 10);
        uint64_t first = b ? rng_below(&c->rng, b->lines) : 0,
                 count = b ? 1 + rng_below(&c->rng, b->lines - first) : 0;
        if (!b || what < 2)
            create(c);
        else if (what < 5)
            write_part(c, b, first, count, what == 4 ? CL_FALSE : CL_TRUE);
        else if (what < 8)
            check_part(c, b, first, count);
        else if (what == 8)
            copy_part(c);
        else if (rng_below(&c->rng, 2))
            release(c, b);
    }
    for (struct buffer *b; (b = any(c)); release(c, b))
        check_part(c, b, 0, b->lines);
    return NULL;
}

int main(int argc, char **argv)
{
    struct options o = {
        .total_mib = 128, .buffer_kib = 4096, .threads = 4, .steps = 400, .seed = 1};
    options_read(&o, argc, argv);
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);

    struct client *clients = calloc(o.threads, sizeof *clients);
    uint64_t wrong = 0, checked = 0;
    cl_queue_properties copy_only[] = {CL_QUEUE_FAMILY_INTEL, 1, CL_QUEUE_INDEX_INTEL, 0, 0};
    for (uint64_t i = 0; i < o.threads; i++) {
        struct client *c = &clients[i];
        *c = (struct client){
            .options = &o, .context = context, .number = i, .rng = {mix(o.seed * 1000 + i)}};
        c->next_tag = (i + 1) << 44;
        c->host = aligned_alloc(4096, (o.buffer_kib * 1024 + 4095) / 4096 * 4096);
        c->queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
        CHECK(status);
        c->copies = clCreateCommandQueueWithProperties(context, device, copy_only, &status);
        if (status != CL_SUCCESS)
            c->copies = NULL;
        if (pthread_create(&c->thread, NULL, run, c) != 0)
            return 2;
    }
    for (uint64_t i = 0; i < o.threads; i++) {
        pthread_join(clients[i].thread, NULL);
        wrong += clients[i].wrong, checked += clients[i].bytes_checked;
        CHECK(clReleaseCommandQueue(clients[i].queue));
        if (clients[i].copies)
            CHECK(clReleaseCommandQueue(clients[i].copies));
        free(clients[i].host);
    }
    CHECK(clReleaseContext(context));
    printf("cl_churn: %llu threads, %llu steps each, %llu MiB checked, %llu wrong lines: %s\n",
           (unsigned long long)o.threads, (unsigned long long)o.steps,
           (unsigned long long)(checked / MIB), (unsigned long long)wrong,
           wrong ? "WRONG" : "all content right");
    free(clients);
    return wrong != 0;
}
