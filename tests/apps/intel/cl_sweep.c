/*
 * cl_sweep: an OpenCL client that goes round and round over more buffers than may fit.
 *
 * Does       Creates total/buffer buffers, writes each once, then reads all of them in order,
 * `steps` rounds, and checks every byte. In every round each eighth buffer is written anew. The
 * cyclic order is the worst one for a manager that evicts what was used longest ago: with local
 * memory below the working set every reference misses. Engine     Blocking writes and reads of
 * device buffers: on DG2 the copy engine only. Options    total=MiB (256) buffer=KiB (8192)
 * steps=rounds (3) seed=N (1); threads is ignored. Build      cc -O2 -o cl_sweep cl_sweep.c
 * -lOpenCL
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <time.h>

#include "pattern.h"

struct buffer {
    cl_mem memory;
    uint64_t *tags;
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Gives every line of the buffer a new tag, and sends the content. */
static void write_anew(cl_command_queue queue, struct buffer *b, uint64_t lines, void *host,
                       uint64_t *next_tag)
{
    for (uint64_t i = 0; i < lines; i++)
        b->tags[i] = (*next_tag)++;
    lines_write(host, b->tags, lines);
    CHECK(clEnqueueWriteBuffer(queue, b->memory, CL_TRUE, 0, lines * LINE, host, 0, NULL, NULL));
}

int main(int argc, char **argv)
{
    struct options o = {.total_mib = 256, .buffer_kib = 8192, .threads = 1, .steps = 3, .seed = 1};
    options_read(&o, argc, argv);
    uint64_t bytes = o.buffer_kib * 1024, lines = bytes / LINE, count = o.total_mib * MIB / bytes;
    if (lines == 0 || count == 0) {
        fprintf(stderr, "no buffer fits\n");
        return 2;
    }

    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    char name[128] = "";
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    CHECK(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    CHECK(status);

    struct buffer *buffers = calloc(count, sizeof *buffers);
    void *host = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    uint64_t next_tag = o.seed << 40, wrong = 0;
    double start = seconds();
    for (uint64_t i = 0; i < count; i++) {
        buffers[i].tags = malloc(lines * sizeof(uint64_t));
        buffers[i].memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
        CHECK(status);
        write_anew(queue, &buffers[i], lines, host, &next_tag);
    }
    printf("%s: %llu buffers of %llu KiB written in %.2f s\n", name, (unsigned long long)count,
           (unsigned long long)o.buffer_kib, seconds() - start);

    for (uint64_t round = 0; round < o.steps; round++) {
        start = seconds();
        for (uint64_t i = 0; i < count; i++) {
            memset(host, 0, bytes);
            CHECK(clEnqueueReadBuffer(queue, buffers[i].memory, CL_TRUE, 0, bytes, host, 0, NULL,
                                      NULL));
            wrong += lines_wrong(host, buffers[i].tags, lines, "cl_sweep", (unsigned)i, 0);
            if ((i + round) % 8 == 0)
                write_anew(queue, &buffers[i], lines, host, &next_tag);
        }
        printf("round %llu: %.2f s, %llu wrong lines so far\n", (unsigned long long)round,
               seconds() - start, (unsigned long long)wrong);
    }

    for (uint64_t i = 0; i < count; i++) {
        CHECK(clReleaseMemObject(buffers[i].memory));
        free(buffers[i].tags);
    }
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
    free(buffers);
    free(host);
    printf("cl_sweep: %s\n", wrong ? "WRONG" : "all content right");
    return wrong != 0;
}
