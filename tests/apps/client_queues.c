/*
 * Work by hardware queues: one queue brings what the application has to the GPU, another one, which
 * waits for the progress of the first, takes it back, and signals a fence that the application
 * waits for. The first queue is destroyed and made anew between rounds.
 */
#define _GNU_SOURCE
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SLOT_BYTES 512u /* of one command buffer */
#define SLOTS      64u

struct lane {
    D3DKMT_HANDLE context;
    D3DKMT_CREATEHWQUEUE queue;
    uint64_t id; /* of the last submission to the queue */
};

/* On the node that has queues. */
static void make_context(struct driver *driver, struct lane *lane)
{
    D3DKMT_CREATECONTEXTVIRTUAL create = {.hDevice = driver->device,
                                          .NodeOrdinal = SGPU_NODE_RENDER};

    create.Flags.HwQueueSupported = 1;
    must("CreateContextVirtual", D3DKMTCreateContextVirtual(&create));
    lane->context = create.hContext;
}

static void make_queue(struct lane *lane)
{
    lane->queue = (D3DKMT_CREATEHWQUEUE){.hHwContext = lane->context};
    must("CreateHwQueue", D3DKMTCreateHwQueue(&lane->queue));
    lane->id = 0;
}

static void destroy_queue(struct lane *lane)
{
    must("DestroyHwQueue", D3DKMTDestroyHwQueue(&(D3DKMT_DESTROYHWQUEUE){lane->queue.hHwQueue}));
}

static void submit_copy(struct driver *driver, struct lane *lane, uint64_t to, uint64_t from,
                        uint64_t bytes)
{
    const struct sgpu_packet_copy copy = {.header =
                                              SGPU_PACKET_HEADER(SGPU_OP_COPY, sizeof copy / 4),
                                          .source = from,
                                          .destination = to,
                                          .bytes = bytes};
    const D3DKMT_SUBMITCOMMANDTOHWQUEUE call = {.hHwQueue = lane->queue.hHwQueue,
                                                .HwQueueProgressFenceId = ++lane->id,
                                                .CommandBuffer =
                                                    (uintptr_t)driver->memory + driver->at,
                                                .CommandLength = sizeof copy};

    memcpy(driver->memory + driver->at, &copy, sizeof copy);
    driver->at = (driver->at + SLOT_BYTES) % (SLOTS * SLOT_BYTES);
    must("SubmitCommandToHwQueue", D3DKMTSubmitCommandToHwQueue(&call));
}

static void wait_in(const struct lane *lane, D3DKMT_HANDLE fence, UINT64 value)
{
    must("SubmitWaitForSyncObjectsToHwQueue",
         D3DKMTSubmitWaitForSyncObjectsToHwQueue(
             &(D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE){.hHwQueue = lane->queue.hHwQueue,
                                                         .ObjectCount = 1,
                                                         .ObjectHandleArray = &fence,
                                                         .FenceValueArray = &value}));
}

static void signal_in(const struct lane *lane, D3DKMT_HANDLE fence, UINT64 value)
{
    must("SubmitSignalSyncObjectsToHwQueue",
         D3DKMTSubmitSignalSyncObjectsToHwQueue(&(D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE){
             .BroadcastHwQueueCount = 1,
             .BroadcastHwQueueArray = &lane->queue.hHwQueue,
             .ObjectCount = 1,
             .ObjectHandleArray = &fence,
             .FenceValueArray = &value}));
}

/* Memory of the application's own, which both sides see. */
static uint64_t *share(struct driver *driver, uint64_t bytes, struct buffer *out)
{
    uint64_t *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        fail("mmap", 0);
    *out = create(driver, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, bytes, memory);
    map(driver, out, 0);
    make_resident(driver, out);
    return memory;
}

int queues(unsigned buffers, uint64_t bytes, unsigned rounds)
{
    struct buffer *all = calloc(buffers, sizeof *all), in, out;
    struct lane to_gpu, from_gpu;
    struct driver driver;
    uint64_t *written, *read, wrong = 0;

    start(&driver);
    make_context(&driver, &to_gpu);
    make_context(&driver, &from_gpu);
    make_queue(&to_gpu);
    make_queue(&from_gpu);
    written = share(&driver, bytes, &in);
    read = share(&driver, bytes, &out);
    for (unsigned b = 0; b < buffers; b++) {
        all[b] = create(&driver, SGPU_UMD_NO_APERTURE, bytes, NULL);
        map(&driver, &all[b], 0);
    }
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned b = 0; b < buffers; b++) {
            for (uint64_t i = 0; i < bytes / 8; i++)
                written[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)round << 32 ^ b;
            make_resident(&driver, &all[b]);
            submit_copy(&driver, &to_gpu, all[b].va, in.va, bytes);
            wait_in(&from_gpu, to_gpu.queue.hHwQueueProgressFence, to_gpu.id);
            submit_copy(&driver, &from_gpu, out.va, all[b].va, bytes);
            signal_in(&from_gpu, driver.fence, ++driver.value);
            wait_until(&driver, driver.fence, driver.value);
            wrong += memcmp(written, read, bytes) != 0;
            evict(&driver, &all[b]);
        }
        wait_until(&driver, to_gpu.queue.hHwQueueProgressFence, to_gpu.id);
        destroy_queue(&to_gpu);
        make_queue(&to_gpu);
    }
    if (*(const volatile uint64_t *)from_gpu.queue.HwQueueProgressFenceCPUVirtualAddress !=
        from_gpu.id)
        fail("a progress fence lags behind", 0);
    destroy_queue(&to_gpu);
    must("DestroyDevice", D3DKMTDestroyDevice(&(D3DKMT_DESTROYDEVICE){driver.device}));
    must("CloseAdapter", D3DKMTCloseAdapter(&(D3DKMT_CLOSEADAPTER){adapter}));
    munmap(written, bytes);
    munmap(read, bytes);
    free(all);
    printf("%llu wrong buffers of %u\n", (unsigned long long)wrong, buffers * rounds);
    return wrong != 0;
}
