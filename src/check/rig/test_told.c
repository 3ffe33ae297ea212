/* Told: see test_told.h. */
#include "check/rig/test_told.h"

#include "check/rig/test_rig_submit.h"
#include "check/rig/wrong_word.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#define CALLS_MOST  256u
#define EVENTS_MOST 256u
#define LINES_BYTES (256u << 10)
#define WRONG_PLAYS 40u /* of the calls of a test, with a wrong word */
#define OTHER_PLAYS 12u /* with a call that is left out or comes twice */

/* A wrong word leads the rig's driver astray: with assertions and sanitizers the first step ends
 * the process, so that nothing is played there, and nothing compared. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
#define IS_STRICT true
#else
#define IS_STRICT false
#endif

/* ---- What was told --------------------------------------------------------------------------- */

struct told {
    bool is_any;
    struct hash hash;
    bool is_broken[RULE_COUNT];
};

static struct {
    struct told test; /* of the one that is played */
    const char *name;
    char lines[LINES_BYTES];
    size_t length;
} book;

static void put(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    book.length +=
        (size_t)vsnprintf(book.lines + book.length, LINES_BYTES - book.length, format, list);
    va_end(list);
    if (book.length >= LINES_BYTES)
        abort();
}

static void begin(struct told *told)
{
    memset(told, 0, sizeof *told);
    hash_init(&told->hash, 0);
}

static void add(struct told *told, const struct rule_counts *counts, uint64_t said)
{
    told->is_any = true;
    rule_counts_hash(&told->hash, counts);
    hash_update_u64(&told->hash, said);
    for (unsigned i = 1; i < RULE_COUNT; i++)
        told->is_broken[i] |= counts->broken[i] != 0;
}

static void put_line(const char *test, const char *what, const struct told *told)
{
    put("%s%s:", test, what);
    for (unsigned i = 1; i < RULE_COUNT; i++) {
        if (told->is_broken[i])
            put(" %s", rule_get((enum rule_id)i)->id);
    }
    put(" %016llx\n", (unsigned long long)hash_final(&told->hash));
}

static int begin_test(void **state)
{
    book.name = *state;
    begin(&book.test);
    return 0;
}

static int end_test(void **state)
{
    if (book.test.is_any)
        put_line(*state, "", &book.test);
    book.name = NULL;
    return 0;
}

/* Without what looks like an address of a process: 12 digits, which no address of a rig has. */
static void add_text(struct hash *hash, const char *text)
{
    for (size_t digits; *text; text += digits) {
        const size_t length = strcspn(text, "x");

        hash_update(hash, text, length);
        text += length;
        text += *text == 'x';
        digits = strspn(text, "0123456789abcdef");
        if (digits != 12)
            hash_update(hash, text, digits);
    }
    hash_update(hash, "", 1);
}

/* Without the arguments, in which a pointer can be read as another member of its union, and without
 * the text of PB-015, which tells a byte of one. */
void told_finding(struct hash *hash, const struct finding *finding)
{
    const struct finding_detail *detail = &finding->detail;
    const char *texts[] = {detail->where, detail->objects, detail->bytes, finding->text};
    const size_t count = ARRAY_COUNT(texts) - (finding->rule == RULE_PB_015);

    hash_update_u64(hash, finding->rule);
    hash_update_u64(hash, finding->object);
    hash_update_u64(hash, finding->is_advice);
    for (size_t i = 0; i < count; i++)
        add_text(hash, texts[i]);
    if (getenv("DRYDOCK_TOLD_DETAILS"))
        fprintf(stderr, "  %s %s %s\n%s\n%s\n", rule_get(finding->rule)->id, detail->where,
                finding->text, detail->objects, detail->bytes);
}

/* Without the arguments, as above, and the event, of which the numbers in the text are. */
void told_oracle_report(struct hash *hash, const struct oracle_report *report)
{
    const char *texts[] = {report->text, report->where, report->bytes};

    hash_update_u64(hash, report->problem);
    hash_update_u64(hash, report->rule);
    hash_update_u64(hash, report->allocation);
    hash_update_u64(hash, report->token);
    hash_update_u64(hash, report->page);
    hash_update_u64(hash, report->offset);
    hash_update_u64(hash, report->writer);
    hash_update_u64(hash, report->was_spoilt);
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        add_text(hash, texts[i]);
    if (getenv("DRYDOCK_TOLD_DETAILS"))
        fprintf(stderr, "  %s %s\n%s\n", report->where, report->text, report->bytes);
}

void told_oracle(struct hash *hash, const struct oracle *oracle, uint64_t allocation)
{
    struct page_store *store;
    uint64_t at;

    hash_update(hash, oracle_counters(oracle), sizeof(struct oracle_counters));
    for (uint64_t page = 0; page < 16; page++) {
        bool is_known = oracle_find_page(oracle, allocation, page, &store, &at);

        hash_update_u64(hash, is_known ? at : UINT64_MAX);
        hash_update_u64(hash, is_known && store ? page_store_page_count(store) : 0);
    }
}

void told_add(const struct rule_counts *counts, uint64_t said)
{
    if (book.name)
        add(&book.test, counts, said);
}

/* ---- Calls with a wrong word ----------------------------------------------------------------- */

struct calls {
    const char *test;
    enum rig_model model;
    void (*function)(struct rig *rig);
};

static struct {
    struct calls all[CALLS_MOST];
    unsigned count;
} book_of_calls;

/* What the plays of the same calls differ in. */
enum variation {
    WRONG_WORDS, /* one word of one event is wrong */
    OTHER_CALLS, /* one call of the manager's is left out, or comes twice */
    IN_COMPANY,  /* there are other objects than those of the test; all calls are right */
};

/* The play that is under way. */
static struct {
    const struct calls *calls;
    enum variation variation;
    unsigned number; /* 0: all words are right, and the events are counted */
    struct wrong_words *words;
    bool is_on;
    unsigned event, wanted; /* wanted: the event whose word is wrong, from 1; 0: none */
    struct told told;
    struct rig *rig;
    bool has_ended;
} plays;

void told_calls(unsigned model, void (*function)(struct rig *rig))
{
    if (book_of_calls.count == CALLS_MOST)
        abort();
    book_of_calls.all[book_of_calls.count++] =
        (struct calls){book.name, (enum rig_model)model, function};
}

/* Whether the word of this event is the wrong one. */
static bool is_turn(const struct loan_structure *structure, const void *argument)
{
    if (!plays.is_on || plays.variation != WRONG_WORDS || !structure || !argument)
        return false;
    if (++plays.event == plays.wanted)
        return true;
    wrong_words_remember(plays.words, structure, argument, structure->bytes);
    return false;
}

static struct wrong_word distort(enum wrong_side side, const struct loan_structure *structure,
                                 const void *argument)
{
    struct wrong_word word = wrong_words_distort(plays.words, side, structure,
                                                 (void *)(uintptr_t)argument, structure->bytes);

    if (word.size && getenv("DRYDOCK_TOLD_DETAILS"))
        fprintf(stderr, "%s %u: %s.%s%s is 0x%llx, not 0x%llx\n", plays.calls->test, plays.number,
                word.structure, word.member, word.is_of_another ? " of another element" : "",
                (unsigned long long)word.wrong, (unsigned long long)word.right);
    return word;
}

NTSTATUS told_answer(enum miniport_ddi ddi, void *arg, bool is_const, NTSTATUS status)
{
    const struct loan_structure *structure = loans_of(ddi);

    if (!is_turn(structure, arg))
        return status;
    is_const &= ddi != MINIPORT_DDI_QueryAdapterInfo; /* whose answer stands elsewhere */
    if (is_const || rng_below(wrong_words_rng(plays.words), 4) == 0 ||
        !distort(WRONG_BY_DRIVER, structure, arg).size)
        return wrong_words_status(plays.words, status);
    return status;
}

/* How often the manager makes this call. */
static unsigned times_called(void)
{
    if (!plays.is_on || plays.variation != OTHER_CALLS || ++plays.event != plays.wanted)
        return 1;
    return rng_below(wrong_words_rng(plays.words), 2) ? 2 : 0;
}

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS hand_down_##function(struct miniport *self, HANDLE object, argument arg)       \
    {                                                                                              \
        const struct loan_structure *structure = loans_of(MINIPORT_DDI_##ddi);                     \
        const __typeof__(*arg) given = *arg;                                                       \
        struct wrong_word word = {0};                                                              \
        NTSTATUS status = STATUS_SUCCESS;                                                          \
                                                                                                   \
        if (is_turn(structure, arg))                                                               \
            word = distort(WRONG_BY_MANAGER, structure, arg);                                      \
        for (unsigned times = times_called(), whole = times; times; times--) {                     \
            if (times < whole) /* what it was given, where the driver has answered */              \
                memcpy((void *)(uintptr_t)arg, &given, sizeof given);                              \
            status = miniport_forward_##function(self, object, arg);                               \
        }                                                                                          \
        wrong_word_undo(&word);                                                                    \
        return status;                                                                             \
    }
MINIPORT_DDI_LIST(X)
#undef X

static void notify_interrupt(struct miniport_host *host,
                             const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct miniport_host_layer *layer = (struct miniport_host_layer *)host;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA wrong = *data;

    if (is_turn(&wrong_word_interrupt, &wrong))
        distort(WRONG_BY_INTERRUPT, &wrong_word_interrupt, &wrong);
    layer->upper->ops->notify_interrupt(layer->upper, &wrong);
}

/* Objects of each kind in front of those of the test, and work that has ended. */
static void make_company(struct rig *rig)
{
    HANDLE process = rig->model == RIG_GPUMMU ? rig_create_process(rig, false) : NULL;
    HANDLE device = rig_create_device(rig, process);
    HANDLE allocations[2];

    for (unsigned i = 0; i < ARRAY_COUNT(allocations); i++) {
        DXGKARG_BUILDPAGINGBUFFER fill;

        rig_create_context(rig, device, RIG_CLIENT_NODE, false);
        allocations[i] = rig_create_allocation(rig, NULL);
        fill = rig_fill(allocations[i]);
        fill.Fill.Destination.SegmentAddress.QuadPart = (LONGLONG)((1 + i) * MiB);
        if (rig->model == RIG_PHYSICAL)
            rig_build(rig, &fill);
    }
    if (rig->model == RIG_PHYSICAL)
        rig_run(rig, 0, rig_submit(rig), rig->buffer_used);
}

static void play(struct rig *rig)
{
    struct miniport_ops ops = miniport_forward_ops;
    struct miniport_host_ops host_ops = miniport_host_forward_ops;
    struct miniport upper = {.ops = &ops, .next = rig->top};
    struct miniport_host_layer host = {.host.ops = &host_ops, .upper = rig->drivers_host};

#define X(function, ddi, argument) ops.function = hand_down_##function;
    MINIPORT_DDI_LIST(X)
#undef X
    host_ops.notify_interrupt = notify_interrupt;
    rig->top = &upper;
    rig->drivers_host = &host.host;
    if (plays.variation == IN_COMPANY)
        make_company(rig);
    plays.is_on = true;
    plays.calls->function(rig);
    check_end(rig->check, false);
    plays.is_on = false;
    if (rig->top == &upper) { /* else the test has made its rig again, without these two */
        rig->top = upper.next;
        rig->drivers_host = host.upper;
    }
}

/* A wrong word can let the test of the calls fail, or crash: the play ends there. */
static void play_once(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    sigset_t signals;

    sigfillset(&signals);
    sigprocmask(SIG_UNBLOCK, &signals, NULL); /* that of the last crash */
    assert_non_null(rig);
    rig_init(rig, plays.calls->model);
    plays.rig = rig;
    play(rig);
    add(&plays.told, &rig->counts, rig_said(rig));
    rig_fini(rig);
    free(rig);
    plays.has_ended = true;
}

/* Gives whether the play came to its end. */
static bool play_number(const struct CMUnitTest *test, enum variation variation, unsigned number,
                        unsigned events)
{
    begin(&plays.told);
    plays.variation = variation;
    plays.number = number;
    plays.event = 0;
    plays.wanted = number ? 1 + (unsigned)rng_below(wrong_words_rng(plays.words), events) : 0;
    plays.has_ended = plays.is_on = false;
    plays.rig = NULL;
    _cmocka_run_group_tests("play", test, 1, NULL, NULL);
    /* A test that looks for its numbers in what was said ends there; all was said by then. */
    if (!plays.has_ended && variation != WRONG_WORDS && plays.rig)
        add(&plays.told, &plays.rig->counts, rig_said(plays.rig));
    return plays.has_ended;
}

static void play_varied(const struct calls *calls, enum variation variation, unsigned most)
{
    const struct CMUnitTest test = {.name = calls->test, .test_func = play_once};
    const uint64_t seed = hash_string(calls->test);
    unsigned events = 0, ended = 0, number;
    struct told all;
    char what[64];

    begin(&all);
    plays.calls = calls;
    for (number = 0; number <= most; number++) {
        bool has_ended;

        wrong_words_begin(plays.words, hash_pair(seed, number));
        has_ended = play_number(&test, variation, number, events);
        if (!number)
            events = plays.event;
        if (!events)
            return;
        ended += !has_ended;
        if (!has_ended && variation == WRONG_WORDS)
            continue;
        hash_update_u64(&all.hash, number);
        hash_update_u64(&all.hash, hash_final(&plays.told.hash));
        for (unsigned i = 1; i < RULE_COUNT; i++)
            all.is_broken[i] |= plays.told.is_broken[i];
    }
    snprintf(what, sizeof what, ", %s, %u ended",
             variation == WRONG_WORDS ? "wrong words" : "other calls", ended);
    put_line(calls->test, what, &all);
}

static void play_in_company(const struct calls *calls)
{
    const struct CMUnitTest test = {.name = calls->test, .test_func = play_once};

    plays.calls = calls;
    play_number(&test, IN_COMPANY, 0, 0);
    put_line(calls->test, plays.has_ended ? ", in company" : ", in company, ended", &plays.told);
}

static void play_all(void)
{
    const int out = dup(STDOUT_FILENO), error = dup(STDERR_FILENO),
              nowhere = open("/dev/null", O_WRONLY);

    fflush(NULL);
    plays.words = wrong_words_create();
    if (!plays.words || out < 0 || error < 0 || nowhere < 0)
        abort();
    dup2(nowhere, STDOUT_FILENO);
    if (!getenv("DRYDOCK_TOLD_DETAILS"))
        dup2(nowhere, STDERR_FILENO);
    for (unsigned i = 0; i < book_of_calls.count; i++)
        play_varied(&book_of_calls.all[i], WRONG_WORDS, WRONG_PLAYS);
    for (unsigned i = 0; i < book_of_calls.count; i++) {
        play_varied(&book_of_calls.all[i], OTHER_CALLS, OTHER_PLAYS);
        play_in_company(&book_of_calls.all[i]);
    }
    fflush(NULL);
    dup2(out, STDOUT_FILENO);
    dup2(error, STDERR_FILENO);
    close(out);
    close(error);
    close(nowhere);
    wrong_words_destroy(plays.words);
}

/* ---- The file -------------------------------------------------------------------------------- */

static const char *golden_of;

static void what_was_told_is_what_it_was(void **state)
{
    const bool updates = getenv("DRYDOCK_UPDATE_GOLDEN") && !IS_STRICT;
    char path[512], expected[1024];
    unsigned others = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/tests/golden/told/%s.txt", DRYDOCK_SOURCE_DIR, golden_of);
    file = fopen(path, updates ? "w" : "r");
    if (!file)
        fail_msg("%s cannot be opened", path);
    if (updates)
        fputs(book.lines, file);
    for (char *line = book.lines, *end; !updates && !IS_STRICT && *line; line = end + 1) {
        end = strchr(line, '\n');
        if (fgets(expected, sizeof expected, file) &&
            strlen(expected) == (size_t)(end + 1 - line) &&
            memcmp(expected, line, (size_t)(end + 1 - line)) == 0)
            continue;
        if (others++ < 8)
            fprintf(stderr, "was: %sis:  %.*s\n", feof(file) ? "nothing\n" : expected,
                    (int)(end - line), line);
    }
    if (!updates && !IS_STRICT && fgets(expected, sizeof expected, file))
        others++;
    fclose(file);
    if (others)
        fail_msg("%u lines of %s are others; if that is meant: scripts/golden.sh DRYDOCK --update",
                 others, path);
}

int told_run(struct CMUnitTest *tests, size_t count, const char *file)
{
    const struct CMUnitTest last[] = {cmocka_unit_test(what_was_told_is_what_it_was)};
    char name[64];
    int failed;

    for (size_t i = 0; i < count; i++) {
        tests[i].setup_func = begin_test;
        tests[i].teardown_func = end_test;
        tests[i].initial_state = (void *)(uintptr_t)tests[i].name;
    }
    failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    if (failed || !book.length)
        return failed;
    snprintf(name, sizeof name, "%s", strrchr(file, '/') + 1);
    *strrchr(name, '.') = '\0';
    golden_of = name;
    if (!IS_STRICT)
        play_all();
    return cmocka_run_group_tests_name("told", last, NULL, NULL);
}
