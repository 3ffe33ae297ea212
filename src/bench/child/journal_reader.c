#define _GNU_SOURCE
#include "bench/child/journal_reader.h"

#include "bench/child/case_facts.h"
#include "bench/child/validate.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define FRAME_SECONDS 5.0 /* for a frame to come whole */

static double wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

uint64_t journal_new_key(void)
{
    uint64_t key;

    if (getrandom(&key, sizeof key, 0) != sizeof key)
        key = (uint64_t)(wall_now() * 1e9);
    return key;
}

void journal_reader_begin(struct journal_reader *reader, int file, uint64_t key)
{
    memset(reader, 0, offsetof(struct journal_reader, findings)); /* a count says how many */
    reader->file = file;
    reader->seal = key;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static enum journal_got broken(struct journal_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum journal_got broken(struct journal_reader *reader, const char *format, ...)
{
    va_list arguments;

    if (!reader->is_broken) {
        va_start(arguments, format);
        vsnprintf(reader->why, sizeof reader->why, format, arguments);
        va_end(arguments);
    }
    reader->is_broken = true;
    return JOURNAL_GOT_BROKEN;
}

/* JOURNAL_GOT_FRAME: all of the bytes are there. */
static enum journal_got read_all(const struct journal_reader *reader, void *data, size_t size,
                                 double until)
{
    struct pollfd polled = {.fd = reader->file, .events = POLLIN};
    char *at = data;

    while (size) {
        double left = until - wall_now();
        ssize_t got;

        if (poll(&polled, 1, left > 0 ? (int)(left * 1000) + 1 : 0) == 0)
            return JOURNAL_GOT_LATE;
        got = read(reader->file, at, size);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return JOURNAL_GOT_CLOSED;
        at += got;
        size -= (size_t)got;
    }
    return JOURNAL_GOT_FRAME;
}

static bool has_something(const struct journal_reader *reader)
{
    struct pollfd polled = {.fd = reader->file, .events = POLLIN};

    return poll(&polled, 1, 0) > 0;
}

/* The counts of a tally, in their order. */
static const char *const tally_names[] = {
    "calls of the driver",
    "submissions handed over",
    "lines played",
    "submissions that ran",
    "submissions that failed",
    "submissions that were aborted",
    "evaluations of rules",
    "broken rules",
    "findings",
    "compared pages",
};
#define TALLY_COUNT (sizeof tally_names / sizeof tally_names[0])
_Static_assert(sizeof(struct journal_tally) == TALLY_COUNT * sizeof(uint64_t),
               "each count has a name");

static uint64_t tally_get(const struct journal_tally *tally, size_t index)
{
    uint64_t count;

    memcpy(&count, (const char *)tally + index * sizeof count, sizeof count);
    return count;
}

/* No count becomes less. */
static enum journal_got take_tally(struct journal_reader *reader, const struct journal_tally *tally)
{
    for (size_t i = 0; i < TALLY_COUNT; i++) {
        if (tally_get(tally, i) < tally_get(&reader->last, i))
            return broken(reader, "%s: first %llu were told, then %llu", tally_names[i],
                          (unsigned long long)tally_get(&reader->last, i),
                          (unsigned long long)tally_get(tally, i));
    }
    reader->last = *tally;
    return JOURNAL_GOT_FRAME;
}

/* An answer may be shorter: the rest of it is zero. */
static bool is_length_of(enum journal_kind kind, uint64_t bytes, size_t answer_bytes)
{
    switch (kind) {
    case JOURNAL_PROGRESS:
        return bytes == sizeof(struct journal_tally);
    case JOURNAL_FINDING:
        return bytes == sizeof(struct run_finding);
    case JOURNAL_END:
        return bytes == sizeof(struct journal_end);
    case JOURNAL_ANSWER:
        return bytes <= answer_bytes;
    }
    return false;
}

/* What is behind a frame; an answer is the caller's. */
union content {
    struct journal_tally tally;
    struct journal_end end;
    struct run_finding finding;
};

/* A frame that has come whole and has the right seal. */
static enum journal_got take(struct journal_reader *reader, enum journal_kind kind,
                             const union content *content)
{
    if (kind == JOURNAL_ANSWER)
        return JOURNAL_GOT_ANSWER;
    if (reader->has_end)
        return broken(reader, "the run goes on behind its end");
    if (kind == JOURNAL_PROGRESS)
        return take_tally(reader, &content->tally);
    if (kind == JOURNAL_END) {
        reader->has_end = true;
        reader->end = content->end;
        return take_tally(reader, &content->end.tally);
    }
    if (reader->finding_count == RUN_MAX_FINDINGS)
        return broken(reader, "more findings are told than a run keeps");
    reader->findings[reader->finding_count] = content->finding;
    validate_finding(&reader->findings[reader->finding_count++]);
    return JOURNAL_GOT_FRAME;
}

enum journal_got journal_read(struct journal_reader *reader, void *answer, size_t answer_bytes)
{
    const double until = wall_now() + FRAME_SECONDS;
    struct journal_frame frame;
    union content content;
    enum journal_got got;
    void *into;

    if (reader->is_broken)
        return JOURNAL_GOT_BROKEN;
    if (!has_something(reader))
        return JOURNAL_GOT_NOTHING;
    got = read_all(reader, &frame, sizeof frame, until);
    if (got != JOURNAL_GOT_FRAME)
        return got;
    if (frame.mark != JOURNAL_MARK || frame.kind > JOURNAL_ANSWER ||
        frame.number != reader->number + 1 ||
        !is_length_of((enum journal_kind)frame.kind, frame.bytes, answer_bytes))
        return broken(reader, "what comes from its process is not what the bench sends");
    into = frame.kind == JOURNAL_ANSWER ? answer : &content;
    got = read_all(reader, into, frame.bytes, until);
    if (got != JOURNAL_GOT_FRAME)
        return got;
    if (frame.seal != journal_seal(reader->seal, &frame, into))
        return broken(reader, "what comes from its process does not have the seal of the bench");
    if (frame.kind == JOURNAL_ANSWER)
        memset((char *)answer + frame.bytes, 0, answer_bytes - frame.bytes);
    reader->seal = frame.seal;
    reader->number = frame.number;
    return take(reader, (enum journal_kind)frame.kind, &content);
}

/* ---- Contradictions -------------------------------------------------------------------------- */

static bool say(char *why, size_t why_bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Always true. */
static bool say(char *why, size_t why_bytes, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, why_bytes, format, arguments);
    va_end(arguments);
    return true;
}

/* The record against what was told when the run ended. */
static bool differs_from_end(const struct journal_reader *reader, const struct journal_claim *claim,
                             char *why, size_t why_bytes)
{
    const struct journal_tally *told = &reader->end.tally;

    if (claim->digest != reader->end.digest)
        return say(why, why_bytes, "the run ended with digest %016llx, the record has %016llx",
                   (unsigned long long)reader->end.digest, (unsigned long long)claim->digest);
    if (claim->outcome != reader->end.outcome)
        return say(why, why_bytes, "the run ended with another outcome than the record has");
    for (size_t i = 0; i < TALLY_COUNT; i++) {
        uint64_t count = tally_get(&claim->tally, i);

        if (count != tally_get(told, i))
            return say(why, why_bytes, "%s: the run ended with %llu, the record has %llu",
                       tally_names[i], (unsigned long long)tally_get(told, i),
                       (unsigned long long)count);
    }
    return false;
}

/* The record against the findings that were told while the run went on. */
static bool forgets_findings(const struct journal_reader *reader, const struct journal_claim *claim,
                             char *why, size_t why_bytes)
{
    uint64_t told = 0;

    for (uint32_t i = 0; i < reader->finding_count; i++)
        told += !run_finding_is_remark(reader->findings[i].kind);
    if (told && claim->outcome == RUN_CLEAN)
        return say(why, why_bytes, "a finding was told during the run, and the record has none");
    if (told > reader->end.tally.findings)
        return say(why, why_bytes,
                   "%llu findings were told during the run, and at its end it had "
                   "%llu",
                   (unsigned long long)told, (unsigned long long)reader->end.tally.findings);
    return false;
}

bool journal_contradiction(const struct journal_reader *reader, const struct journal_claim *claim,
                           const struct run_config *config, const struct workload *workload,
                           char *why, size_t why_bytes)
{
    if (reader->is_broken)
        return say(why, why_bytes, "%s", reader->why);
    if (!reader->has_end)
        return say(why, why_bytes, "the record is there, and the end of the run was not told");
    return differs_from_end(reader, claim, why, why_bytes) ||
           forgets_findings(reader, claim, why, why_bytes) ||
           (claim->outcome == RUN_CLEAN &&
            case_contradiction(config, workload, &reader->end.tally, why, why_bytes));
}

void journal_explain(const char *why, char *text, size_t text_bytes)
{
    snprintf(text, text_bytes,
             "the record of the run cannot be true: %s; the driver has written over the bench, by "
             "mistake or on purpose, and what else is said of the run is the driver's word",
             why);
}
