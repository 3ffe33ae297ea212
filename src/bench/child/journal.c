#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "bench/child/journal.h"

#include "base/bits.h"
#include "base/hash.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* On a page of its own, which is read-only unless a frame is being sent. */
struct journal {
    int file;
    bool is_open, is_running, has_run;
    uint64_t seal, number;
    const struct run_result *result;
    uint32_t findings_sent;
};

static struct journal *journal; /* NULL: none was opened */

/* Counted at each call, so it is not protected: the frames hold the driver to it. */
static uint64_t calls, submit_calls;

uint64_t journal_seal(uint64_t before, const struct journal_frame *frame, const void *content)
{
    struct hash hash;

    hash_init(&hash, before);
    hash_update(&hash, frame, offsetof(struct journal_frame, seal));
    hash_update(&hash, content, frame->bytes);
    return hash_final(&hash);
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* In one call, as a rule: each one wakes the parent. */
static bool write_all(int file, struct iovec parts[2])
{
    while (parts[0].iov_len + parts[1].iov_len) {
        ssize_t written = writev(file, parts, 2);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        for (unsigned i = 0; i < 2; i++) {
            const size_t of_part = min_u64((size_t)written, parts[i].iov_len);

            parts[i].iov_base = (char *)parts[i].iov_base + of_part;
            parts[i].iov_len -= of_part;
            written -= (ssize_t)of_part;
        }
    }
    return true;
}

static void unprotect(void)
{
    mprotect(journal, PAGE_BYTES, PROT_READ | PROT_WRITE);
}

static void protect(void)
{
    mprotect(journal, PAGE_BYTES, PROT_READ);
}

/* The page can be written. */
static bool send_frame(enum journal_kind kind, const void *content, size_t bytes)
{
    struct journal_frame frame = {
        .mark = JOURNAL_MARK, .kind = kind, .number = ++journal->number, .bytes = bytes};

    journal->seal = frame.seal = journal_seal(journal->seal, &frame, content);
    return write_all(journal->file, (struct iovec[2]){{&frame, sizeof frame},
                                                      {(void *)(uintptr_t)content, bytes}});
}

/* ---- A run ----------------------------------------------------------------------------------- */

void journal_count(const struct run_result *result, struct journal_tally *tally)
{
    tally->operations = result->operations_played;
    tally->submissions = result->submissions;
    tally->failed = result->failed_submissions;
    tally->aborted = result->aborted_submissions;
    tally->pages_checked = result->pages_checked;
    tally->evaluated = tally->broken = tally->findings = 0;
    for (size_t i = 0; i < RULE_COUNT; i++) {
        tally->evaluated += result->rules.evaluated[i];
        tally->broken += result->rules.broken[i];
    }
    for (size_t i = 0; i < RUN_FINDING_KIND_COUNT; i++)
        tally->findings +=
            run_finding_is_remark((enum run_finding_kind)i) ? 0 : result->finding_totals[i];
}

static struct journal_tally count_all(void)
{
    struct journal_tally tally = {.calls = calls, .submit_calls = submit_calls};

    journal_count(journal->result, &tally);
    return tally;
}

void journal_open(int file, uint64_t key, bool tells_run)
{
    if (!journal) {
        void *page =
            mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (page == MAP_FAILED)
            return; /* nothing is sent: the parent misses it */
        journal = page;
    }
    unprotect();
    *journal = (struct journal){.file = file, .is_open = true, .has_run = !tells_run, .seal = key};
    protect();
}

void journal_begin_run(const struct run_result *result)
{
    if (!journal || !journal->is_open || journal->has_run)
        return;
    calls = submit_calls = 0;
    unprotect();
    journal->result = result;
    journal->is_running = journal->has_run = true;
    protect();
}

void journal_tell_findings(void)
{
    uint32_t count;

    if (!journal || !journal->is_running)
        return;
    count = journal->result->finding_count;
    if (count <= journal->findings_sent || count > RUN_MAX_FINDINGS) /* written over */
        return;
    unprotect();
    while (journal->findings_sent < count)
        send_frame(JOURNAL_FINDING, &journal->result->findings[journal->findings_sent++],
                   sizeof journal->result->findings[0]);
    protect();
}

static bool submits(const struct trace_event *event)
{
    return event->ddi == MINIPORT_DDI_SubmitCommand ||
           event->ddi == MINIPORT_DDI_SubmitCommandVirtual;
}

void journal_note_call(const struct trace_event *event)
{
    const uint64_t pace =
        calls < JOURNAL_LONG_PACE * JOURNAL_PACE ? JOURNAL_PACE : JOURNAL_LONG_PACE * JOURNAL_PACE;
    struct journal_tally tally;

    if (!journal || !journal->is_running)
        return;
    journal_tell_findings();
    if (event->is_callback || event->phase != TRACE_BEFORE)
        return;
    submit_calls += submits(event);
    if (calls++ % pace != 0)
        return;
    tally = count_all();
    unprotect();
    send_frame(JOURNAL_PROGRESS, &tally, sizeof tally);
    protect();
}

void journal_end_run(void)
{
    struct journal_end end;

    if (!journal || !journal->is_running)
        return;
    journal_tell_findings();
    end = (struct journal_end){.tally = count_all(),
                               .digest = journal->result->digest,
                               .outcome = journal->result->outcome};
    unprotect();
    send_frame(JOURNAL_END, &end, sizeof end);
    journal->is_running = false;
    protect();
}

bool journal_answer(const void *answer, size_t bytes)
{
    bool is_sent;

    if (!journal || !journal->is_open)
        return false;
    unprotect();
    is_sent = send_frame(JOURNAL_ANSWER, answer, bytes);
    journal->is_open = false;
    protect();
    return is_sent;
}
