/*
 * cl_images: an OpenCL client with images of every kind, regions of which are written and read.
 *
 * Does       Keeps total MiB of images: lines, planes and volumes, arrays of lines and of planes,
 * of 1 to 16 bytes a texel, and of sizes up to buffer KiB each. A step writes a drawn region of a
 * drawn image, or reads one back and compares every byte with what the CPU remembers; one in eight
 * lets an image go and makes another one. Engine     Blocking writes and reads: the copy engine
 * only, whose surfaces are tiled, and have slices. Options    total=MiB (64) buffer=KiB (2048)
 * steps=N (400) seed=N (1); threads is ignored. Build      cc -O2 -o cl_images cl_images.c -lOpenCL
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdbool.h>

#include "pattern.h"

static const struct {
    cl_mem_object_type type;
    unsigned dimensions; /* of a region, the layers of an array included */
    bool is_array;
} kinds[] = {
    {CL_MEM_OBJECT_IMAGE1D, 1, false},      {CL_MEM_OBJECT_IMAGE2D, 2, false},
    {CL_MEM_OBJECT_IMAGE3D, 3, false},      {CL_MEM_OBJECT_IMAGE1D_ARRAY, 2, true},
    {CL_MEM_OBJECT_IMAGE2D_ARRAY, 3, true},
};

static const struct {
    cl_image_format format;
    size_t bytes;
} formats[] = {
    {{CL_R, CL_UNSIGNED_INT8}, 1},     {{CL_RG, CL_UNSIGNED_INT8}, 2},
    {{CL_RGBA, CL_UNSIGNED_INT8}, 4},  {{CL_R, CL_FLOAT}, 4},
    {{CL_RGBA, CL_UNSIGNED_INT16}, 8}, {{CL_RGBA, CL_UNSIGNED_INT32}, 16},
};

struct image {
    cl_mem memory;
    size_t texel_bytes;
    size_t size[3]; /* in texels */
    uint8_t *bytes; /* as they should be; rows and slices without gaps */
};

static size_t image_bytes(const struct image *image)
{
    return image->size[0] * image->size[1] * image->size[2] * image->texel_bytes;
}

static void make(cl_context context, struct image *image, size_t most, struct rng *rng)
{
    const unsigned kind = (unsigned)rng_below(rng, sizeof kinds / sizeof kinds[0]);
    const unsigned format = (unsigned)rng_below(rng, sizeof formats / sizeof formats[0]);
    cl_image_desc desc = {.image_type = kinds[kind].type};
    const size_t limits[3] = {kinds[kind].dimensions == 1 ? 8192 : 1500, 1500, 40};
    cl_int status;

    image->texel_bytes = formats[format].bytes;
    do {
        for (unsigned i = 0; i < 3; i++)
            image->size[i] = i < kinds[kind].dimensions ? 1 + rng_below(rng, limits[i]) : 1;
    } while (image_bytes(image) > most);
    desc.image_width = image->size[0];
    if (kinds[kind].is_array)
        desc.image_array_size = image->size[kinds[kind].dimensions - 1];
    if (kinds[kind].type != CL_MEM_OBJECT_IMAGE1D_ARRAY)
        desc.image_height = image->size[1];
    if (kinds[kind].type == CL_MEM_OBJECT_IMAGE3D)
        desc.image_depth = image->size[2];
    image->memory =
        clCreateImage(context, CL_MEM_READ_WRITE, &formats[format].format, &desc, NULL, &status);
    CHECK(status);
    image->bytes = malloc(image_bytes(image));
}

static void drop(struct image *image)
{
    CHECK(clReleaseMemObject(image->memory));
    free(image->bytes);
}

/* Copies the region between the image as it should be and a block without gaps. */
static void copy_region(const struct image *image, const size_t *origin, const size_t *region,
                        uint8_t *block, bool to_image)
{
    const size_t row = region[0] * image->texel_bytes;

    for (size_t z = 0; z < region[2]; z++) {
        for (size_t y = 0; y < region[1]; y++, block += row) {
            uint8_t *at =
                image->bytes +
                (((origin[2] + z) * image->size[1] + origin[1] + y) * image->size[0] + origin[0]) *
                    image->texel_bytes;

            memcpy(to_image ? at : block, to_image ? block : at, row);
        }
    }
}

static void write_region(cl_command_queue queue, struct image *image, const size_t *origin,
                         const size_t *region, uint8_t *block, struct rng *rng)
{
    const size_t bytes = region[0] * region[1] * region[2] * image->texel_bytes;

    for (size_t i = 0; i < bytes; i++)
        block[i] = (uint8_t)rng_below(rng, 256);
    copy_region(image, origin, region, block, true);
    CHECK(clEnqueueWriteImage(queue, image->memory, CL_TRUE, origin, region, 0, 0, block, 0, NULL,
                              NULL));
}

/* Whether the region is not as it should be. */
static bool is_wrong(cl_command_queue queue, const struct image *image, const size_t *origin,
                     const size_t *region, uint8_t *block, uint8_t *expected)
{
    const size_t bytes = region[0] * region[1] * region[2] * image->texel_bytes;

    memset(block, 0xa5, bytes);
    CHECK(clEnqueueReadImage(queue, image->memory, CL_TRUE, origin, region, 0, 0, block, 0, NULL,
                             NULL));
    copy_region(image, origin, region, expected, false);
    return memcmp(block, expected, bytes) != 0;
}

int main(int argc, char **argv)
{
    struct options o = {.total_mib = 64, .buffer_kib = 2048, .threads = 1, .steps = 400, .seed = 1};
    const size_t whole[3] = {0, 0, 0};
    struct rng rng;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;

    options_read(&o, argc, argv);
    rng.state = o.seed;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    CHECK(status);

    const size_t most = o.buffer_kib * 1024;
    const size_t count = 2 * o.total_mib * MIB / most + 1;
    struct image *images = calloc(count, sizeof *images);
    uint8_t *block = malloc(most), *expected = malloc(most);
    uint64_t wrong = 0, regions = 0;

    for (uint64_t step = 0; step < count + o.steps; step++) {
        const bool is_first = step < count;
        struct image *image = &images[is_first ? step : rng_below(&rng, count)];
        size_t origin[3], region[3];

        if (is_first || rng_below(&rng, 8) == 0) {
            if (!is_first)
                drop(image);
            make(context, image, most, &rng);
            write_region(queue, image, whole, image->size, block, &rng);
            continue;
        }
        for (unsigned i = 0; i < 3; i++) {
            origin[i] = rng_below(&rng, image->size[i]);
            region[i] = 1 + rng_below(&rng, image->size[i] - origin[i]);
        }
        regions++;
        if (rng_below(&rng, 2))
            write_region(queue, image, origin, region, block, &rng);
        else
            wrong += is_wrong(queue, image, origin, region, block, expected);
    }
    for (size_t i = 0; i < count; i++) {
        wrong += is_wrong(queue, &images[i], whole, images[i].size, block, expected);
        drop(&images[i]);
    }
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
    free(images);
    free(block);
    free(expected);
    printf("cl_images: %llu regions of %llu images, %llu wrong\n", (unsigned long long)regions,
           (unsigned long long)count, (unsigned long long)wrong);
    return wrong != 0;
}
