/*
 * Threads that write records through locks. Some of their locks are held for long; the GPU copies
 * the other records, for which they are moved in and out.
 */
#define _GNU_SOURCE
#include "client.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define RECORD_BYTES 65536u
#define RECORD_WORDS (RECORD_BYTES / 8)
#define HELD_LOCKS   8u /* of each thread, at any time */

struct record {
    struct buffer buffer;
    uint64_t seed;    /* of what it holds; 0: nothing yet */
    uint64_t *memory; /* while it is locked */
};

struct locker {
    unsigned number, count, rounds, moves;
    unsigned next; /* of records, for a copy */
    uint64_t wrong, written, copied, random;
};

static uint64_t next_random(struct locker *locker)
{
    locker->random = locker->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return locker->random >> 24;
}

/* The last word is a sum of those in front of it. */
static void write_record(struct record *record, uint64_t seed)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i + 1 < RECORD_WORDS; i++) {
        record->memory[i] = (i + seed) * UINT64_C(0x9e3779b97f4a7c15);
        sum += record->memory[i];
    }
    record->memory[RECORD_WORDS - 1] = sum;
    record->seed = seed;
}

static uint64_t wrong_words(const struct record *record)
{
    uint64_t sum = 0, wrong = 0;

    for (unsigned i = 0; record->seed && i + 1 < RECORD_WORDS; i++) {
        wrong += record->memory[i] != (i + record->seed) * UINT64_C(0x9e3779b97f4a7c15);
        sum += record->memory[i];
    }
    return wrong + (record->seed && sum != record->memory[RECORD_WORDS - 1]);
}

static void lock_record(struct locker *locker, struct driver *driver, struct record *record)
{
    D3DKMT_LOCK2 lock = {.hDevice = driver->device, .hAllocation = record->buffer.handle};

    must("Lock2", D3DKMTLock2(&lock));
    record->memory = lock.pData;
    locker->wrong += wrong_words(record);
}

static void unlock_record(struct driver *driver, struct record *record)
{
    must("Unlock2", D3DKMTUnlock2(&(D3DKMT_UNLOCK2){.hDevice = driver->device,
                                                    .hAllocation = record->buffer.handle}));
    record->memory = NULL;
}

/*
 * The GPU copies records that are not locked to others, no record twice. Next are always those that
 * have rested longest, so that where memory is short each has been moved out meanwhile.
 */
static void copy_records(struct locker *locker, struct driver *driver, struct record *records)
{
    struct record *chosen[2 * MOST_MOVES];
    D3DKMT_HANDLE handles[2 * MOST_MOVES];
    struct move moves[MOST_MOVES];
    unsigned count = 0, pairs;

    for (unsigned looked = 0; looked < locker->count && count < 2 * locker->moves; looked++) {
        struct record *record = &records[locker->next++ % locker->count];

        if (record->memory)
            continue;
        chosen[count] = record;
        handles[count++] = record->buffer.handle;
    }
    pairs = count / 2;
    if (!pairs)
        return;
    for (unsigned i = 0; i < pairs; i++) {
        const bool is_back = next_random(locker) & 1;
        const struct record *from = chosen[is_back ? pairs + i : i];
        struct record *to = chosen[is_back ? i : pairs + i];

        moves[i] = (struct move){to->buffer.va, from->buffer.va, RECORD_BYTES};
        to->seed = from->seed;
    }
    make_all_resident(driver, handles, 2 * pairs);
    wait_until(driver, driver->fence, copy_all(driver, moves, pairs));
    evict_all(driver, handles, 2 * pairs);
    locker->copied += pairs;
}

static void *play_locks(void *context)
{
    struct locker *locker = context;
    struct record *records = calloc(locker->count, sizeof *records);
    struct driver driver;

    start(&driver);
    for (unsigned i = 0; i < locker->count; i++) {
        records[i].buffer = create(&driver, SGPU_UMD_CPU_VISIBLE, RECORD_BYTES, NULL);
        map(&driver, &records[i].buffer, 0);
    }
    for (unsigned round = 0; round < locker->rounds; round++) {
        struct record *oldest = &records[(round + locker->count - HELD_LOCKS) % locker->count];
        struct record *one = &records[round % locker->count];

        if (oldest->memory) {
            locker->wrong += wrong_words(oldest);
            unlock_record(&driver, oldest);
        }
        lock_record(locker, &driver, one);
        for (unsigned i = 0; i < 4; i++) { /* into those that are locked, whichever they are */
            one = &records[next_random(locker) % locker->count];
            if (one->memory) {
                locker->wrong += wrong_words(one);
                write_record(one, next_random(locker) | 1);
                locker->written++;
            }
        }
        copy_records(locker, &driver, records);
    }
    for (unsigned i = 0; i < locker->count; i++) {
        if (!records[i].memory)
            lock_record(locker, &driver, &records[i]);
        locker->wrong += wrong_words(&records[i]);
        unlock_record(&driver, &records[i]);
    }
    must("DestroyDevice", D3DKMTDestroyDevice(&(D3DKMT_DESTROYDEVICE){driver.device}));
    free(records);
    return NULL;
}

int locks(unsigned count, unsigned threads, unsigned rounds, unsigned moves)
{
    struct locker lockers[64] = {{0}};
    pthread_t handles[64];
    uint64_t wrong = 0, written = 0, copied = 0;

    if (!threads || threads > 64 || count / threads <= HELD_LOCKS || count / threads > 64 ||
        !moves || moves > MOST_MOVES) {
        fprintf(stderr,
                "client locks: at most 64 threads, each of 9 to 64 records; 1 to 8 moves\n");
        return 2;
    }
    for (unsigned i = 0; i < threads; i++) {
        lockers[i] = (struct locker){.number = i,
                                     .count = count / threads,
                                     .rounds = rounds,
                                     .moves = moves,
                                     .random = i + 1};
        pthread_create(&handles[i], NULL, play_locks, &lockers[i]);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
        wrong += lockers[i].wrong;
        written += lockers[i].written;
        copied += lockers[i].copied;
    }
    printf("%llu wrong words in %u records, of which %llu times one was written through a lock and "
           "%llu times copied by the GPU\n",
           (unsigned long long)wrong, count, (unsigned long long)written,
           (unsigned long long)copied);
    must("CloseAdapter", D3DKMTCloseAdapter(&(D3DKMT_CLOSEADAPTER){adapter}));
    return wrong != 0;
}
