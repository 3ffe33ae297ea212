/*
 * A process that ends while its threads are inside of calls: one waits for what never comes, the
 * others create, copy and destroy without end, each with a device of its own. The process leaves
 * by exit() when so many buffers have been made, from beside the calls of all. With a library that
 * lingers (linger.c) it leaves slowly: where a record goes is a pipe by then, so that writing it
 * takes as long as somebody likes, and behind it the threads have time, too.
 */
#define _GNU_SOURCE
#include "client.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define BUFFER_BYTES 65536u

struct leaving {
    _Atomic unsigned made;
    unsigned buffers; /* with that many made it is time */
    sem_t has_driver, is_time;
};

static void *wait_in_vain(void *context)
{
    struct leaving *leaving = context;
    struct driver driver;

    start(&driver);
    sem_post(&leaving->has_driver);
    wait_until(&driver, driver.fence, 1);
    return NULL;
}

static void *work(void *context)
{
    struct leaving *leaving = context;
    struct driver driver;

    start(&driver);
    sem_post(&leaving->has_driver);
    for (;;) {
        struct buffer buffers[2];
        D3DKMT_HANDLE handles[2];

        for (unsigned i = 0; i < 2; i++) {
            buffers[i] = create(&driver, SGPU_UMD_CPU_VISIBLE, BUFFER_BYTES, NULL);
            handles[i] = buffers[i].handle;
            if (atomic_fetch_add(&leaving->made, 1) + 1 == leaving->buffers)
                sem_post(&leaving->is_time);
            map(&driver, &buffers[i], 0);
        }
        make_all_resident(&driver, handles, 2);
        wait_until(&driver, driver.fence,
                   copy(&driver, buffers[1].va, buffers[0].va, BUFFER_BYTES));
        evict_all(&driver, handles, 2);
        for (unsigned i = 0; i < 2; i++)
            destroy(&driver, &buffers[i]);
    }
    return NULL;
}

int leave(unsigned threads, unsigned buffers, const char *lingering)
{
    const char *record = getenv("DRYDOCK_RECORD");
    struct leaving *leaving = calloc(1, sizeof *leaving);
    pthread_t thread;

    if (!leaving)
        return 3;
    leaving->buffers = buffers;
    sem_init(&leaving->has_driver, 0, 0);
    sem_init(&leaving->is_time, 0, 0);
    for (unsigned i = 0; i <= threads; i++) {
        if (pthread_create(&thread, NULL, i ? work : wait_in_vain, leaving))
            fail("a thread", 0);
        pthread_detach(thread);
    }
    for (unsigned i = 0; i <= threads; i++)
        sem_wait(&leaving->has_driver);
    sem_wait(&leaving->is_time);
    if (lingering && (!record || mkfifo(record, 0600) || !dlopen(lingering, RTLD_NOW)))
        fail("a pipe, or a library that lingers", 0);
    exit(0); /* main()'s return would be the same */
}
