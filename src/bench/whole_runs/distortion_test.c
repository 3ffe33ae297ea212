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
 * word ends has no hash: how a driver dies is the compiler's choice.
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
#include "check/report/ddi_fields.h"
#include "layers/layer.h"
#include "miniport/loans.h"
#include "miniport/operation.h"
#include "trace/trace.h"

#include <sys/mman.h>

#define RUNS_ANY    600u /* any call */
#define RUNS_REPORT 300u /* a report of the driver */
#define RUNS_MEMORY 100u
#define RUNS        (RUNS_ANY + RUNS_REPORT + RUNS_MEMORY)

#define RUN_SECONDS   20.0
#define NAME_BYTES    160
#define LINE_BYTES    512
#define ELEMENTS_MOST 3u /* of a list, of which one word may be wrong */
#define FIRST_SEED    9001u

/* ---- The members of structures (data/ddi) ---------------------------------------------------- */

static const struct decode_field fields[] = {
#define ENUMERATOR(...)
#define FIELD(...) {__VA_ARGS__},
#include "ddi_fields.inc"
#undef FIELD
#undef ENUMERATOR
};

/* ---- Which word is wrong --------------------------------------------------------------------- */

enum side { BY_MANAGER, BY_DRIVER, BY_INTERRUPT };

/* Each DDI and each operation of BuildPagingBuffer, on the way down and on the way up. */
#define TARGETS (MINIPORT_DDI_COUNT + MINIPORT_OPERATION_COUNT)

static struct {
    unsigned turns[3][TARGETS]; /* until its call is the one; 0: it is not */
    bool is_done;
    struct rng rng;
    uint64_t before[ARRAY_COUNT(fields)]; /* each field as it was in the call before */
} plan;

/* Of the run, which is another process; "": there was no such call. */
static char *what_was_wrong;

struct word {
    char *at;
    const struct decode_field *field; /* NULL: a number */
    unsigned size;
    const char *structure;
    uint64_t element; /* of a list, from 1; 0: none */
};

/* The words that could be wrong are counted first; then the one is looked for. */
struct choice {
    enum side side;
    unsigned count, wanted; /* wanted: from 1; 0: they are counted */
    struct word word;
};

static uint64_t load(const char *at, unsigned size)
{
    uint64_t value = 0;

    memcpy(&value, at, size);
    return value;
}

static void offer_word(struct choice *choice, struct word word)
{
    if (++choice->count == choice->wanted)
        choice->word = word;
}

static bool is_count(struct loan_rows rows, unsigned offset)
{
    for (uint16_t i = 0; i < rows.count; i++) {
        const struct loan_member *member = &rows.members[i];

        if ((member->count.bytes && member->count.offset == offset) ||
            (member->stride.bytes && member->stride.offset == offset))
            return true;
    }
    return false;
}

/* Pointers, lengths of lists and what tells the members of a union stay: they are no values. */
static bool may_be_wrong(const struct choice *choice, const struct loan_structure *structure,
                         const char *memory, const struct decode_field *field)
{
    const enum loan_direction way = choice->side == BY_DRIVER ? LOAN_OUT : LOAN_IN;
    const struct loan_rows all[] = {structure->rows, loan_variant(structure, memory)};

    if (structure->choice.bytes && structure->choice.offset == field->offset)
        return false;
    for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
        if (is_count(all[i], field->offset))
            return false;
        for (uint16_t j = 0; j < all[i].count; j++) {
            const struct loan_member *member = &all[i].members[j];

            if (member->offset == field->offset && loan_is_there(member, memory))
                return member->kind == LOAN_VALUE && member->direction & way;
        }
    }
    return strncmp(field->name, "Num", 3) != 0 && !strstr(field->name, ".Num") &&
           !strstr(field->name, "Count");
}

static bool is_of(const struct decode_field *field, const char *name, size_t length,
                  const char *memory, const struct loan_structure *structure)
{
    if (strncmp(field->structure, name, length) != 0)
        return false;
    if (field->structure[length] == '/')
        return structure->choice.bytes && strtoull(field->structure + length + 1, NULL, 10) ==
                                              loan_integer(structure->choice, memory);
    return !field->structure[length];
}

static void offer_structure(struct choice *choice, const struct loan_structure *structure,
                            char *memory, size_t bytes, uint64_t element);

static void offer_lists(struct choice *choice, char *memory, struct loan_rows rows)
{
    for (uint16_t i = 0; i < rows.count; i++) {
        const struct loan_member *member = &rows.members[i];
        uint64_t count, stride;
        char *list;

        if (member->kind != LOAN_ARRAY || !loan_is_there(member, memory) ||
            !(member->direction & (choice->side == BY_DRIVER ? LOAN_OUT : LOAN_IN)))
            continue;
        memcpy(&list, memory + member->offset, sizeof list);
        count = member->count.bytes ? loan_integer(member->count, memory) : 1;
        stride = member->stride.bytes ? loan_integer(member->stride, memory) : 0;
        if (!stride)
            stride = member->element_bytes;
        for (uint64_t j = 0; list && j < min_u64(count, ELEMENTS_MOST); j++) {
            if (member->element)
                offer_structure(choice, member->element, list + j * stride, stride, j + 1);
            else if (stride <= sizeof(uint64_t) && !strstr(member->name, "List"))
                offer_word(choice, (struct word){list + j * stride, NULL, (unsigned)stride,
                                                 member->name, j + 1});
        }
    }
}

static void offer_structure(struct choice *choice, const struct loan_structure *structure,
                            char *memory, size_t bytes, uint64_t element)
{
    const size_t length = strlen(structure->name);

    for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
        const struct decode_field *field = &fields[i];

        if (field->kind == DECODE_POINTER || field->kind == DECODE_BIT ||
            field->size > sizeof(uint64_t) || field->offset + field->size > bytes ||
            !is_of(field, structure->name, length, memory, structure) ||
            (field->when_size &&
             (load(memory + field->when, field->when_size) == field->value) != field->is_equal) ||
            !may_be_wrong(choice, structure, memory, field))
            continue;
        offer_word(choice, (struct word){memory + field->offset, field, field->size,
                                         structure->name, element});
    }
    offer_lists(choice, memory, structure->rows);
    offer_lists(choice, memory, loan_variant(structure, memory));
}

/* ---- How it is wrong ------------------------------------------------------------------------- */

static uint64_t draw(uint64_t below)
{
    return rng_below(&plan.rng, below);
}

/* One of the bits that the word has. */
static uint64_t wrong_flags(const struct decode_field *word, uint64_t value)
{
    unsigned bits = 0;

    while (word + bits + 1 < fields + ARRAY_COUNT(fields) && word[bits + 1].kind == DECODE_BIT)
        bits++;
    return value ^ UINT64_C(1) << (bits ? word[1 + draw(bits)].bit : draw(4));
}

static uint64_t wrong_value(const struct word *word, uint64_t value)
{
    const uint64_t before = word->field ? plan.before[word->field - fields] : 0;

    if (word->field && word->field->kind == DECODE_FLAGS)
        return wrong_flags(word->field, value);
    if (word->field && word->field->kind == DECODE_HANDLE)
        return before != value && draw(2) ? before : 0;
    switch (draw(8)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return value + PAGE_BYTES;
    case 3:
        return value - PAGE_BYTES;
    case 4:
        return value ^ UINT64_C(1) << draw(18);
    case 5:
        return value ? 0 : 2;
    case 6:
        return 2 * value + 4;
    default:
        return before != value ? before : value + 2;
    }
}

/* What is wrong is made right behind the call, if it is still the same: it was the call's. */
struct change {
    char *at;
    unsigned size;
    uint64_t right, wrong;
};

static void remember(const struct loan_structure *structure, const char *memory, size_t bytes)
{
    const size_t length = strlen(structure->name);

    for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
        if (fields[i].size <= sizeof(uint64_t) && fields[i].offset + fields[i].size <= bytes &&
            is_of(&fields[i], structure->name, length, memory, structure))
            plan.before[i] = load(memory + fields[i].offset, fields[i].size);
    }
}

static struct change distort(enum side side, const struct loan_structure *structure, void *memory,
                             size_t bytes)
{
    struct choice choice = {.side = side};
    struct change change = {0};

    offer_structure(&choice, structure, memory, bytes, 0);
    if (!choice.count)
        return change;
    choice.wanted = 1 + (unsigned)draw(choice.count);
    choice.count = 0;
    offer_structure(&choice, structure, memory, bytes, 0);
    change.at = choice.word.at;
    change.size = choice.word.size;
    change.right = load(change.at, change.size);
    change.wrong = wrong_value(&choice.word, change.right);
    memcpy(change.at, &change.wrong, change.size);
    snprintf(what_was_wrong, NAME_BYTES, "%s.%s%s", choice.word.structure,
             choice.word.field ? choice.word.field->name : "",
             choice.word.element > 1 ? " of another element" : "");
    return change;
}

static void undo(const struct change *change)
{
    if (change->at && memcmp(change->at, &change->wrong, change->size) == 0)
        memcpy(change->at, &change->right, change->size);
}

static unsigned target_of(enum miniport_ddi ddi, const void *argument)
{
    const DXGKARG_BUILDPAGINGBUFFER *build = argument;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer || (unsigned)build->Operation >= TARGETS)
        return ddi;
    return min_u64(MINIPORT_DDI_COUNT + (unsigned)build->Operation, TARGETS - 1);
}

/* Whether this is the call of the run. */
static bool is_turn(enum side side, unsigned target)
{
    unsigned *turns = &plan.turns[side][target];

    if (plan.is_done || !*turns || --*turns)
        return false;
    plan.is_done = true;
    return true;
}

static bool is_due(enum side side, enum miniport_ddi ddi, const void *argument)
{
    const struct loan_structure *structure = loans_of(ddi);

    if (!structure || plan.is_done)
        return false;
    if (is_turn(side, target_of(ddi, argument)))
        return true;
    remember(structure, argument, structure->bytes);
    return false;
}

/* ---- Nearest to the manager ------------------------------------------------------------------ */

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS hand_down_##function(struct miniport *self, HANDLE object, argument arg)       \
    {                                                                                              \
        struct change change = {0};                                                                \
        NTSTATUS status;                                                                           \
                                                                                                   \
        if (is_due(BY_MANAGER, MINIPORT_DDI_##ddi, arg))                                           \
            change = distort(BY_MANAGER, loans_of(MINIPORT_DDI_##ddi), (void *)(uintptr_t)arg,     \
                             sizeof *arg);                                                         \
        status = miniport_forward_##function(self, object, arg);                                   \
        undo(&change);                                                                             \
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
    static const NTSTATUS statuses[] = {
        STATUS_SUCCESS,
        STATUS_NO_MEMORY,
        STATUS_INVALID_PARAMETER,
        STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER,
        STATUS_GRAPHICS_ALLOCATION_BUSY,
        STATUS_UNSUCCESSFUL,
    };
    NTSTATUS wrong = statuses[draw(ARRAY_COUNT(statuses))];

    snprintf(what_was_wrong, NAME_BYTES, "%s returns 0x%x", miniport_ddi_name(ddi),
             (unsigned)wrong);
    return wrong == status ? STATUS_NOT_SUPPORTED : wrong;
}

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS hand_up_##function(struct miniport *self, HANDLE object, argument arg)         \
    {                                                                                              \
        NTSTATUS status = miniport_forward_##function(self, object, arg);                          \
                                                                                                   \
        if (!is_due(BY_DRIVER, MINIPORT_DDI_##ddi, arg))                                           \
            return status;                                                                         \
        if (LOANS_IS_CONST(arg) || draw(4) == 0)                                                   \
            return wrong_status(MINIPORT_DDI_##ddi, status);                                       \
        distort(BY_DRIVER, loans_of(MINIPORT_DDI_##ddi), (void *)(uintptr_t)arg, sizeof *arg);     \
        return status;                                                                             \
    }
MINIPORT_DDI_LIST(X)
#undef X

static void notify_interrupt(struct miniport_host *host,
                             const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    static const struct loan_structure structure = {
        .name = "DXGKARGCB_NOTIFY_INTERRUPT_DATA",
        .bytes = sizeof *data,
        .choice = {offsetof(DXGKARGCB_NOTIFY_INTERRUPT_DATA, InterruptType),
                   sizeof data->InterruptType},
    };
    struct lower *lower = container_of(host, struct lower, host.host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA wrong = *data;

    if (is_turn(BY_INTERRUPT, 0))
        distort(BY_INTERRUPT, &structure, &wrong, sizeof wrong);
    else if (!plan.is_done)
        remember(&structure, (const char *)data, sizeof *data);
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
        plan.turns[BY_DRIVER][MINIPORT_DDI_CreateAllocation] = 1 + (unsigned)draw(8);
    else
        plan.turns[BY_DRIVER][MINIPORT_DDI_QueryAdapterInfo] = 1 + (unsigned)draw(24);
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
        plan.turns[BY_INTERRUPT][0] = 1 + (unsigned)draw(20);
}

/* Or all words are right, and the manager once gets no memory. */
static void make_plan(uint64_t seed, struct run_config *config)
{
    memset(&plan, 0, sizeof plan);
    rng_init(&plan.rng, seed);
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

static uint64_t told_by(const struct run_result *result)
{
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
        hash_update(&told, finding->text, strlen(finding->text) + 1);
        finding_detail_hash(&told, &finding->detail);
        hash_update_u64(&told, finding->line);
        hash_update_u64(&told, finding->consequence_of);
        hash_update_u64(&told, finding->seen);
    }
    return hash_final(&told);
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
    if (has_ended(result))
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
    if (what_was_wrong == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests_name("bench/distortion", tests, NULL, NULL);
}
