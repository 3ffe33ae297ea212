/*
 * One word of one call of a run is another one than it should be, and nothing else is wrong: what
 * the bench then says, all of it, is what it said before.
 *
 * Each run is a seed's, which says where the word is: in what the manager hands to the driver, in
 * what the driver answers, or in an interrupt; of which DDI or operation, and which time that is
 * called; which member it is, and by how much it is wrong. Everybody goes on with the wrong word.
 * Some runs more are without a wrong word, and an allocation of the manager fails.
 * tests/golden/distorted.txt has a line for each run in which there was such a call: the member,
 * the rules that were broken, and a hash of all that was looked at and said. A run that the wrong
 * word ends has no hash: how a driver dies is the compiler's choice. Nor has one that goes by where
 * this process' memory lies.
 *
 * `scripts/golden.sh` updates the file. Sanitizers and assertions see first what a wrong word leads
 * to: with them the test plays some runs, and compares nothing.
 */
#include "bench/whole_runs/test_run.h"

#include "base/hash.h"
#include "base/list.h"
#include "base/rng.h"
#include "bench/campaign/campaign.h"
#include "bench/child/child_run.h"
#include "bench/drivers/drivers.h"
#include "check/rig/wrong_word.h"
#include "layers/layer.h"
#include "miniport/loans.h"
#include "miniport/operation.h"
#include "trace/trace.h"

#include <sys/mman.h>

#define RUNS_ANY    600u /* any call */
#define RUNS_REPORT 300u /* a report of the driver */
#define RUNS_MEMORY 100u
#define RUNS        (RUNS_ANY + RUNS_REPORT + RUNS_MEMORY)

#define RUN_SECONDS 20.0
#define NAME_BYTES  160
#define LINE_BYTES  512
#define FIRST_SEED  9001u

/* ---- Which word is wrong --------------------------------------------------------------------- */

/* Each DDI and each operation of BuildPagingBuffer, on the way down and on the way up. */
#define TARGETS (MINIPORT_DDI_COUNT + MINIPORT_OPERATION_COUNT)

static struct {
    unsigned turns[WRONG_SIDES][TARGETS]; /* until its call is the one; 0: it is not */
    bool is_done;
    struct wrong_words *words;
} plan;

/* Of the run, which is another process; "": there was no such call. */
static char *what_was_wrong;

static uint64_t draw(uint64_t below)
{
    return rng_below(wrong_words_rng(plan.words), below);
}

static struct wrong_word distort(enum wrong_side side, const struct loan_structure *structure,
                                 void *memory, size_t bytes)
{
    struct wrong_word word = wrong_words_distort(plan.words, side, structure, memory, bytes);

    if (word.size)
        snprintf(what_was_wrong, NAME_BYTES, "%s.%s%s", word.structure, word.member,
                 word.is_of_another ? " of another element" : "");
    return word;
}

static unsigned target_of(enum miniport_ddi ddi, const void *argument)
{
    const DXGKARG_BUILDPAGINGBUFFER *build = argument;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer || (unsigned)build->Operation >= TARGETS)
        return ddi;
    return min_u64(MINIPORT_DDI_COUNT + (unsigned)build->Operation, TARGETS - 1);
}

/* Whether this is the call of the run. */
static bool is_turn(enum wrong_side side, unsigned target)
{
    unsigned *turns = &plan.turns[side][target];

    if (plan.is_done || !*turns || --*turns)
        return false;
    plan.is_done = true;
    return true;
}

static bool is_due(enum wrong_side side, enum miniport_ddi ddi, const void *argument)
{
    const struct loan_structure *structure = loans_of(ddi);

    if (!structure || plan.is_done)
        return false;
    if (is_turn(side, target_of(ddi, argument)))
        return true;
    wrong_words_remember(plan.words, structure, argument, structure->bytes);
    return false;
}

/* ---- Nearest to the manager ------------------------------------------------------------------ */

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS hand_down_##function(struct miniport *self, HANDLE object, argument arg)       \
    {                                                                                              \
        struct wrong_word word = {0};                                                              \
        NTSTATUS status;                                                                           \
                                                                                                   \
        if (is_due(WRONG_BY_MANAGER, MINIPORT_DDI_##ddi, arg))                                     \
            word = distort(WRONG_BY_MANAGER, loans_of(MINIPORT_DDI_##ddi), (void *)(uintptr_t)arg, \
                           sizeof *arg);                                                           \
        status = miniport_forward_##function(self, object, arg);                                   \
        wrong_word_undo(&word);                                                                    \
        return status;                                                                             \
    }
MINIPORT_DDI_LIST(X)
#undef X

static struct miniport *add_upper(void *context, struct miniport *next)
{
    struct layer *layer = layer_create(context, sizeof *layer, "distortion", next);

    assert_non_null(layer);
#define X(function, ddi, argument) layer->ops.function = hand_down_##function;
    MINIPORT_DDI_LIST(X)
#undef X
    return &layer->miniport;
}

/* ---- Nearest to the driver ------------------------------------------------------------------- */

struct lower {
    struct layer layer;
    struct miniport_host_layer host;
    struct miniport_host_ops host_ops;
};

static NTSTATUS wrong_status(enum miniport_ddi ddi, NTSTATUS status)
{
    NTSTATUS wrong = wrong_words_status(plan.words, status);

    snprintf(what_was_wrong, NAME_BYTES, "%s returns 0x%x", miniport_ddi_name(ddi),
             (unsigned)wrong);
    return wrong;
}

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS hand_up_##function(struct miniport *self, HANDLE object, argument arg)         \
    {                                                                                              \
        NTSTATUS status = miniport_forward_##function(self, object, arg);                          \
                                                                                                   \
        if (!is_due(WRONG_BY_DRIVER, MINIPORT_DDI_##ddi, arg))                                     \
            return status;                                                                         \
        if (LOANS_IS_CONST(arg) || draw(4) == 0)                                                   \
            return wrong_status(MINIPORT_DDI_##ddi, status);                                       \
        distort(WRONG_BY_DRIVER, loans_of(MINIPORT_DDI_##ddi), (void *)(uintptr_t)arg,             \
                sizeof *arg);                                                                      \
        return status;                                                                             \
    }
MINIPORT_DDI_LIST(X)
#undef X

static void notify_interrupt(struct miniport_host *host,
                             const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct lower *lower = container_of(host, struct lower, host.host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA wrong = *data;

    if (is_turn(WRONG_BY_INTERRUPT, 0))
        distort(WRONG_BY_INTERRUPT, &wrong_word_interrupt, &wrong, sizeof wrong);
    else if (!plan.is_done)
        wrong_words_remember(plan.words, &wrong_word_interrupt, data, sizeof *data);
    lower->host.upper->ops->notify_interrupt(lower->host.upper, &wrong);
}

static void set_host(struct miniport *self, struct miniport_host *host)
{
    struct lower *lower = (struct lower *)self;

    lower->host.upper = host;
    miniport_set_host(self->next, &lower->host.host);
}

static NTSTATUS add_lower(const struct run_driver *driver, const struct base_services *services,
                          struct miniport *next, struct miniport **out_layer)
{
    struct lower *lower = layer_create(services, sizeof *lower, "distortion", next);

    *out_layer = &lower->layer.miniport;
    lower->layer.ops.set_host = set_host;
#define X(function, ddi, argument) lower->layer.ops.function = hand_up_##function;
    MINIPORT_DDI_LIST(X)
#undef X
    lower->host_ops = miniport_host_forward_ops;
    lower->host_ops.notify_interrupt = notify_interrupt;
    lower->host.host.ops = &lower->host_ops;
    return STATUS_SUCCESS;
}

static bool find_driver(const char *name, struct run_driver *out_driver)
{
    if (strcmp(name, "test:distorted") != 0)
        return false;
    *out_driver = (struct run_driver){.name = "test:distorted", .wrap = add_lower};
    return true;
}

/* ---- A run ----------------------------------------------------------------------------------- */

/* Of so many runs one looks for such a call: those with which every run begins come first anyway.
 */
static unsigned one_of(unsigned target)
{
    switch (target) {
    case MINIPORT_DDI_QueryAdapterInfo:
    case MINIPORT_DDI_CreateProcess:
    case MINIPORT_DDI_CreateDevice:
    case MINIPORT_DDI_CreateContext:
    case MINIPORT_DDI_OpenAllocation:
    case MINIPORT_DDI_SetRootPageTable:
        return 40;
    case MINIPORT_DDI_CreateAllocation:
        return 16;
    default:
        return 5;
    }
}

/* Something of a report by which the driver introduces itself or an allocation. */
static void plan_report(void)
{
    if (draw(3) == 0)
        plan.turns[WRONG_BY_DRIVER][MINIPORT_DDI_CreateAllocation] = 1 + (unsigned)draw(8);
    else
        plan.turns[WRONG_BY_DRIVER][MINIPORT_DDI_QueryAdapterInfo] = 1 + (unsigned)draw(24);
}

/* What comes first of all that may be the one is it. */
static void plan_any(void)
{
    for (unsigned i = 0; i < TARGETS; i++) {
        for (unsigned side = 0; side < ARRAY_COUNT(plan.turns); side++) {
            if (draw(one_of(i)) == 0)
                plan.turns[side][i] = 1 + (unsigned)draw(UINT64_C(1) << draw(7));
        }
    }
    if (draw(6) == 0)
        plan.turns[WRONG_BY_INTERRUPT][0] = 1 + (unsigned)draw(20);
}

/* Or all words are right, and the manager once gets no memory. */
static void make_plan(uint64_t seed, struct run_config *config)
{
    memset(plan.turns, 0, sizeof plan.turns);
    plan.is_done = false;
    wrong_words_begin(plan.words, seed);
    if (seed < FIRST_SEED + RUNS_ANY) {
        plan_any();
    } else if (seed < FIRST_SEED + RUNS_ANY + RUNS_REPORT) {
        plan_report();
    } else {
        config->fail_allocation = 1 + draw(UINT64_C(1) << draw(12));
        snprintf(what_was_wrong, NAME_BYTES, "allocation %llu of the manager fails",
                 (unsigned long long)config->fail_allocation);
    }
}

/* The parameters of a driver's bug check may be addresses of this process. */
static size_t told_bytes(const char *text)
{
    const char *check = strstr(text, ": bug check 0x");
    const char *parameters = check ? strchr(check, '(') : NULL;

    return parameters ? (size_t)(parameters - text) : strlen(text) + 1;
}

static uint64_t told_by(const struct run_result *result)
{
    /* By a wrong mode an address of this process is told as one of the GPU's. */
    const bool tells_addresses = strstr(what_was_wrong, "UpdateMode");
    struct hash told;

    hash_init(&told, 0);
    hash_update_u64(&told, result->digest);
    rule_counts_hash(&told, &result->rules);
    for (unsigned i = 0; i < RUN_FINDING_KIND_COUNT; i++)
        hash_update_u64(&told, result->finding_totals[i]);
    hash_update(&told, result->error, strlen(result->error));
    for (uint32_t i = 0; i < result->finding_count; i++) {
        const struct run_finding *finding = &result->findings[i];

        hash_update(&told, finding->rule, strlen(finding->rule) + 1);
        hash_update(&told, finding->text, told_bytes(finding->text));
        if (!tells_addresses)
            finding_detail_hash(&told, &finding->detail);
        hash_update_u64(&told, finding->line);
        hash_update_u64(&told, finding->consequence_of);
        hash_update_u64(&told, finding->seen);
    }
    return hash_final(&told);
}

/* With another kind of list the driver takes an address of this process for a page's, by chance. */
static bool goes_by_chance(void)
{
    return strstr(what_was_wrong, "Adl.Flags");
}

static bool has_ended(const struct run_result *result)
{
    return !result->finding_totals[RUN_FINDING_CRASHED] &&
           !result->finding_totals[RUN_FINDING_HUNG];
}

/* The line of the run; false: the run had no such call. */
static bool play(uint64_t seed, char line[LINE_BYTES])
{
    const struct campaign_options options = {.driver = "test:distorted",
                                             .model = CAMPAIGN_ALL_MODELS};
    struct run_result *result = calloc(1, sizeof *result);
    struct campaign_setup setup;
    struct workload_error error;
    struct workload *workload;
    int length;
    bool is_wrong;

    assert_non_null(result);
    assert_true(campaign_draw_workload(seed, NULL, &workload, &error));
    campaign_draw_setup(&options, seed, workload, &setup);
    setup.config.reference = RUN_REFERENCE_NEVER;
    setup.config.changes_user_memory = false; /* how often it is read is the compiler's choice */
    setup.config.add_layer = add_upper;
    setup.config.layer_context = (void *)(uintptr_t)base_services_libc();
    what_was_wrong[0] = '\0';
    make_plan(seed, &setup.config);
    assert_true(child_run_execute(&setup.config, workload, RUN_SECONDS, result));
    is_wrong = what_was_wrong[0];
    length = snprintf(line, LINE_BYTES, "%5llu %-8s %s:", (unsigned long long)seed,
                      run_model_name(setup.config.model), what_was_wrong);
    for (unsigned i = 1; i < RULE_COUNT && length < LINE_BYTES - 80; i++) {
        if (result->rules.broken[i])
            length += snprintf(line + length, (size_t)(LINE_BYTES - length), " %s",
                               rule_get((enum rule_id)i)->id);
    }
    if (has_ended(result) && goes_by_chance())
        snprintf(line + length, (size_t)(LINE_BYTES - length), " by chance\n");
    else if (has_ended(result))
        snprintf(line + length, (size_t)(LINE_BYTES - length), " %016llx\n",
                 (unsigned long long)told_by(result));
    else
        snprintf(line + length, (size_t)(LINE_BYTES - length), " ended\n");
    run_result_fini(result);
    free(result);
    workload_free(workload);
    return is_wrong;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* With assertions and sanitizers other runs end early. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
#define IS_STRICT true
#else
#define IS_STRICT false
#endif

static FILE *open_golden(const char *mode)
{
    return fopen(DRYDOCK_SOURCE_DIR "/tests/golden/distorted.txt", mode);
}

/* With DRYDOCK_UPDATE_GOLDEN the file is written anew. */
static void what_is_said_of_a_wrong_word_is_what_it_was(void **state)
{
    const bool updates = getenv("DRYDOCK_UPDATE_GOLDEN") && !IS_STRICT;
    FILE *file = open_golden(updates ? "w" : "r");
    unsigned others = 0, distorted = 0;
    char line[LINE_BYTES], expected[LINE_BYTES];

    assert_non_null(file);
    for (unsigned i = 0; i < RUNS / (IS_STRICT ? 20 : 1); i++) {
        if (!play(FIRST_SEED + i, line))
            continue;
        distorted++;
        if (updates) {
            fputs(line, file);
        } else if (!IS_STRICT &&
                   (!fgets(expected, sizeof expected, file) || strcmp(line, expected) != 0)) {
            if (others++ < 8)
                fprintf(stderr, "was: %sis:  %s", feof(file) ? "nothing\n" : expected, line);
        }
    }
    if (!updates && !IS_STRICT && fgets(expected, sizeof expected, file))
        others++;
    fclose(file);
    assert_true(IS_STRICT || distorted > RUNS / 2);
    if (others)
        fail_msg("%u lines of tests/golden/distorted.txt are others; if that is meant: "
                 "scripts/golden.sh DRYDOCK --update",
                 others);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_of_a_wrong_word_is_what_it_was),
    };

    run_add_drivers(find_driver);
    what_was_wrong =
        mmap(NULL, NAME_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    plan.words = wrong_words_create();
    if (what_was_wrong == MAP_FAILED || !plan.words)
        return 1;
    return cmocka_run_group_tests_name("bench/distortion", tests, NULL, NULL);
}
