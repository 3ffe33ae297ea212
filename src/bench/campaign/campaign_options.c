/*
 * What a seed draws for each option, by the column "drawn" of workload/case/run_options.inc.
 *
 * Half of the time a choice is what a plain run has: a mistake that needs two unusual settings and
 * no third is found that way too.
 */
#include "bench/campaign/campaign_private.h"

#include "base/bits.h"
#include "base/hash.h"
#include "bench/config/run_options.h"
#include "workload/summary.h"

#include <drydock/sgpu.h>

#include <string.h>

#define LEAST_PAGING_BUFFER   64u  /* room for the largest command of the reference GPU */
#define LEAST_DMA_BUFFER      128u /* room for a rectangle of a present */
#define MOST_REFS_LOOKED_AT   64u
#define FIRST_REMAPPING_LEVEL 30u
#define OWN_STREAMS           (UINT64_C(1) << 63) /* numbers that no stream of the list has */

enum reach {
    WHERE_IT_COUNTS, /* elsewhere the row draws nothing */
    ANYWHERE,        /* in every model and level; kept where the option counts */
};

enum amount {
    YES_AMOUNT,
    BELOW_AMOUNT,
    ONE_TO_AMOUNT,
    ANY_AMOUNT,
    SHIFTED_AMOUNT,
    MAGNITUDE_AMOUNT
};

/* What the seed has drawn so far. */
struct drawing {
    const struct campaign_draw *draw;
    struct run_config *config;
    struct rng streams[STREAM_COUNT];
    bool has_ended[STREAM_COUNT]; /* no later row of the stream draws */
};

/*
 * A row that needs more than a chance and an amount. *number is the member's, as it is and as it
 * will be. False: no later row of the stream draws.
 */
typedef bool row_function(struct drawing *drawing, struct rng *rng, uint64_t *number);

struct row {
    enum campaign_stream stream;
    enum reach reach;
    bool is_or_ends; /* where the chance is missed, no later row of the stream draws */
    row_function *by;
    unsigned chance, of; /* of = 0: no chance is drawn */
    enum amount amount;
    uint64_t unit, low, high;
};

/* ---- Rows that need more --------------------------------------------------------------------- */

/* An image that works with the CPU gets the paging buffers that it asked for, or loses count. */
static bool is_bare(const struct campaign_draw *draw)
{
    const char *gpu = campaign_setting(draw->options, "gpu");

    if (!gpu)
        gpu = workload_option(draw->workload, "gpu");
    return draw->driver.image_path &&
           strcmp(gpu ? gpu : run_driver_gpu(&draw->driver), RUN_GPU_NONE) == 0;
}

/*
 * A level of the driver that has the model, in the profile; 0: none. The newest, which has most of
 * what there is, is one of four, whatever the others. What else is drawn is for the level that will
 * be played, so the case's word goes before.
 */
static bool draw_level(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    const struct campaign_draw *draw = drawing->draw;
    const enum run_model model = drawing->config->model;
    struct run_config of_case = {0};
    unsigned found[32], count = 0, newest = 0, wddm;
    enum run_model has;

    for (unsigned i = 0;
         run_driver_level(&draw->driver, i, &has, &wddm) && count < ARRAY_COUNT(found); i++) {
        if (has != model || !run_profile_has_level(draw->profile, wddm))
            continue;
        found[count++] = wddm;
        newest = wddm > newest ? wddm : newest;
    }
    if (count)
        *number = rng_chance(rng, 1, 4) ? newest : found[rng_below(rng, count)];
    run_config_from_workload(&of_case, draw->workload);
    if (campaign_driver_has_level(&draw->driver, model, of_case.wddm))
        *number = of_case.wddm;
    return true;
}

/* From the first level on that a reference driver has with it; below, a case may say it. */
static bool draw_remapping(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    *number = drawing->config->wddm >= FIRST_REMAPPING_LEVEL && rng_chance(rng, 1, 2);
    return true;
}

/* The boards of the reference driver have such a segment in front of the aperture segment. */
static bool draw_host_aperture(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    *number = rng_chance(rng, 1, 4) && !drawing->draw->profile->check.wants_host_aperture_last;
    return true;
}

/*
 * One of eight machines has gigabytes, where pages have numbers that bytes need more than 32 bits
 * for. A machine of its own has what the case needs.
 */
static bool draw_system_memory(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    const uint64_t bytes = 16 * GiB << rng_below(rng, 3);
    struct workload_summary summary;

    if (!rng_chance(rng, 1, 8))
        return true;
    workload_summarise(drawing->draw->workload, &summary);
    if (summary.peak_live_bytes < GiB)
        *number = bytes;
    return true;
}

/*
 * One of sixteen boards has gigabytes: of half of these the manager uses what lies on both sides of
 * a multiple of 4 GiB, of the others what lies behind it.
 */
static bool draw_far_memory(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    if (!rng_chance(rng, 1, 16))
        return true;
    *number = 4 * GiB * (1 + rng_below(rng, 2));
    if (rng_chance(rng, 1, 2))
        *number -= campaign_magnitude(rng, 64 * KiB, 2 * MiB) & ~(64 * KiB - 1);
    return true;
}

/* Half of them by GPU addresses: most that is done with tables needs those. */
static bool draw_update_mode(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    *number = rng_below(rng, 2 * RUN_UPDATE_MODE_COUNT - 2);
    if (*number >= RUN_UPDATE_MODE_COUNT)
        *number = RUN_UPDATE_GPU_VIRTUAL;
    return true;
}

static bool is_in(uint64_t va, uint64_t bytes, uint64_t low, uint64_t high)
{
    return va != WORKLOAD_VA_AUTO && va < high && bytes > (va < low ? low - va : 0);
}

/* The case chooses addresses in [low, high). */
static bool chooses_addresses(const struct workload *workload, uint64_t low, uint64_t high)
{
    for (uint32_t i = 0; i < workload->allocation_count; i++) {
        if (is_in(workload->allocations[i].va, workload->allocations[i].size, low, high))
            return true;
    }
    for (uint32_t i = 0; i < workload->op_count; i++) {
        const struct workload_op *op = &workload->ops[i];

        switch (op->kind) {
        case WORKLOAD_OP_MAP:
            if (is_in(op->value, op->size, low, high))
                return true;
            break;
        case WORKLOAD_OP_PTE_MAP:
        case WORKLOAD_OP_TILE_MAP:
        case WORKLOAD_OP_TILE_UNMAP:
        case WORKLOAD_OP_TILE_COPY:
            if (is_in(op->offset, op->size, low, high))
                return true;
            break;
        default:
            break;
        }
    }
    return false;
}

/* ... that the board does not translate. */
static bool chooses_addresses_beyond(const struct workload *workload, const struct run_mmu *mmu)
{
    return chooses_addresses(workload, UINT64_C(1) << run_mmu_va_bits(mmu), UINT64_MAX);
}

/*
 * One of three boards has ordinary tables. Tables of more than a page, which 2 and 3 levels have,
 * are in local memory (PT-006), where the processor does not write them. Addresses that the case
 * chooses are within the board's: 2 and 3 levels translate fewer bits.
 */
static bool draw_table_levels(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    static const unsigned levels[] = {0, 2, 3, 4, 5, 6};
    const struct run_config *config = drawing->config;
    struct run_mmu mmu = {0};

    if (!rng_chance(rng, 2, 3))
        return false;
    mmu.levels = levels[rng_below(rng, ARRAY_COUNT(levels))];
    *number = mmu.levels;
    if (((config->has_tables_in_system_memory || config->update_mode == RUN_UPDATE_CPU) &&
         (*number == 2 || *number == 3)) ||
        chooses_addresses_beyond(drawing->draw->workload, &mmu))
        *number = 0;
    return true;
}

/* The case writes entries of its own: of any page size, protected, or zero. */
static bool has_raw_entries(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->op_count; i++) {
        if (workload->ops[i].kind == WORKLOAD_OP_PTE_MAP)
            return true;
    }
    return false;
}

static bool draw_plain_entries(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    *number = rng_chance(rng, 1, 8) && !has_raw_entries(drawing->draw->workload);
    return true;
}

/*
 * Where a leaf table has entries of one size, a case that writes entries of its own would ask for
 * two in one table. The root of 2 levels grows, which one of two words to an entry does not. With
 * two words a level translates a bit less.
 */
static bool draw_pages_64k(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    const struct workload *workload = drawing->draw->workload;
    const struct run_mmu dual = {.levels = drawing->config->mmu.levels,
                                 .pages_64k = RUN_PAGES_64K_DUAL};

    *number = rng_below(rng, 3);
    if ((*number == RUN_PAGES_64K_SINGLE && has_raw_entries(workload)) ||
        (*number == RUN_PAGES_64K_DUAL &&
         (dual.levels == 2 || chooses_addresses_beyond(workload, &dual))))
        *number = RUN_PAGES_64K_NONE;
    return true;
}

/* The case states an address that is not a multiple of that. */
static bool states_addresses_within(const struct workload *workload, uint64_t bytes)
{
    uint64_t stated = 0;

    for (uint32_t i = 0; i < workload->allocation_count; i++)
        stated |= workload->allocations[i].va == WORKLOAD_VA_AUTO ? 0 : workload->allocations[i].va;
    for (uint32_t i = 0; i < workload->op_count; i++) {
        if (workload->ops[i].kind == WORKLOAD_OP_MAP && workload->ops[i].value != WORKLOAD_VA_AUTO)
            stated |= workload->ops[i].value;
    }
    return stated % bytes != 0;
}

static bool draw_gpu_page(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    const struct workload *workload = drawing->draw->workload;
    struct run_mmu mmu = {.gpu_page = (enum run_gpu_page)rng_below(rng, 3)};

    *number = drawing->config->mmu.pages_64k == RUN_PAGES_64K_NONE && !has_raw_entries(workload) &&
                      !states_addresses_within(workload, run_mmu_gpu_page_bytes(&mmu))
                  ? mmu.gpu_page
                  : RUN_GPU_PAGE_4K;
    return true;
}

static bool draw_reserved_range(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    uint64_t start, end;

    run_mmu_reserved(&drawing->config->mmu, &start, &end);
    *number = rng_chance(rng, 1, 4) && !chooses_addresses(drawing->draw->workload, start, end);
    return true;
}

/*
 * What a driver declares is what it needs, unless it says that less will do, as the reference
 * driver does; a profile draws less for all.
 */
static bool may_be_small(const struct campaign_draw *draw)
{
    return !is_bare(draw) && (draw->driver.is_tolerant || draw->profile->draws_small_buffers);
}

/* Half of the small ones for a few commands, so that most operations come in parts. */
static bool draw_paging_buffer(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    uint64_t most;

    if (!may_be_small(drawing->draw))
        return false;
    most = rng_chance(rng, 1, 2) ? PAGE_BYTES : 6 * LEAST_PAGING_BUFFER;
    if (rng_chance(rng, 2, 3))
        *number = campaign_magnitude(rng, LEAST_PAGING_BUFFER, most) & ~UINT64_C(7);
    return true;
}

/*
 * None, which is half of them, for progress must be in MultipassOffset then; too little for a
 * record of the reference driver, one record, three.
 */
static bool draw_private_data(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    static const uint32_t bytes[] = {0, 0, 0, 4, 24, 72};

    if (may_be_small(drawing->draw) && rng_chance(rng, 2, 3))
        *number = bytes[rng_below(rng, ARRAY_COUNT(bytes))];
    return true;
}

/*
 * References of the largest piece of a submission that no cut can make smaller: an allocation is
 * not referred to on both sides of one. One with many references is not looked into.
 */
static uint32_t largest_piece(const struct workload *workload)
{
    uint32_t largest = 1;

    for (uint32_t n = 0; n < workload->op_count; n++) {
        const struct workload_op *op = &workload->ops[n];
        const struct workload_ref *refs = workload->refs + op->first_ref;
        uint32_t first = 0, end = 0;

        if (op->kind != WORKLOAD_OP_SUBMIT || op->ref_count <= largest)
            continue;
        for (uint32_t i = 0; i < op->ref_count; i++) {
            if (op->ref_count > MOST_REFS_LOOKED_AT) {
                end = op->ref_count;
                continue;
            }
            if (i == end)
                first = i;
            for (uint32_t j = op->ref_count; j-- > i && end <= j;) {
                if (refs[j].allocation == refs[i].allocation)
                    end = j + 1;
            }
            largest = end - first > largest ? end - first : largest;
        }
        largest = end - first > largest ? end - first : largest;
    }
    return largest;
}

/*
 * Of some boards of the reference driver: as small as its client's largest piece, or twice that, so
 * that one command buffer or present becomes several DMA buffers (PATCH-014).
 */
static bool draw_dma_buffer(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    const uint64_t pieces = 1 + rng_below(rng, 2);

    if (drawing->draw->driver.is_tolerant && rng_chance(rng, 1, 4))
        *number =
            max_u64(LEAST_DMA_BUFFER, pieces * align_up(sizeof(struct sgpu_packet_render) +
                                                            largest_piece(drawing->draw->workload) *
                                                                sizeof(struct sgpu_render_ref),
                                                        SGPU_SUBMIT_ALIGN));
    return true;
}

/* Which of two readings the driver follows, where the profile accepts both (U1). */
static bool draw_dma_size(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    const struct check_profile *check = &drawing->draw->profile->check;

    *number = (check->wants_dma_size_lowered || rng_chance(rng, 1, 4)) &&
              !check->wants_dma_size_unchanged;
    return true;
}

bool campaign_has_hardware_queues(const struct campaign_options *options,
                                  const struct workload *workload)
{
    const char *queues = campaign_setting(options, "hardware-queues");
    const char *focus = options->focus;
    struct campaign_focus_word word;
    bool has_queues;

    if (!queues && workload)
        queues = workload_option(workload, "hardware-queues");
    has_queues = queues && strcmp(queues, "yes") == 0;
    while (campaign_focus_next(&focus, &word)) {
        if (word.place == workload_option_place("hardware-queues"))
            has_queues = strcmp(word.value, "yes") == 0;
    }
    return has_queues;
}

static bool has_hardware_queues(const struct campaign_draw *draw)
{
    return campaign_has_hardware_queues(draw->options, draw->workload);
}

static bool draw_queues(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    if (has_hardware_queues(drawing->draw) && rng_chance(rng, 1, 2))
        *number = 2 + rng_below(rng, 3);
    return true;
}

/* Without hardware queues no band is told to anybody. */
static bool draw_bands(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    if (has_hardware_queues(drawing->draw) && rng_chance(rng, 1, 2))
        *number = VIDMM_BANDS_MIXED;
    return true;
}

static bool draw_suspends(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    if (has_hardware_queues(drawing->draw) && rng_chance(rng, 3, 4))
        *number = rng_chance(rng, 1, 2) ? VIDMM_SUSPENDS_BUSY : VIDMM_SUSPENDS_ALL;
    return true;
}

static bool draw_lists(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    if (has_hardware_queues(drawing->draw) && rng_chance(rng, 1, 2))
        *number = rng_chance(rng, 1, 2) ? VIDMM_LISTS_OLDEST : VIDMM_LISTS_NEWEST;
    return true;
}

/* None, or a few, so that one is given after the other. */
static bool draw_log(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    if (has_hardware_queues(drawing->draw) && rng_chance(rng, 3, 4))
        *number = rng_chance(rng, 1, 4) ? 0 : campaign_magnitude(rng, 1, 127);
    return true;
}

/* Each fault in half of the runs, whatever the others. */
static bool draw_faults(struct drawing *drawing, struct rng *rng, uint64_t *number)
{
    for (unsigned bit = 1; bit <= RUN_FAULT_ALL; bit <<= 1)
        *number |= rng_chance(rng, 1, 2) ? bit : 0;
    *number &= drawing->draw->profile->faults;
    return true;
}

/* ---- The rows -------------------------------------------------------------------------------- */

#define NOT_DRAWN                  .stream = STREAM_NONE
#define DRAWN(from, ...)           .stream = STREAM_##from, WHERE_IT_COUNTS, false, NULL, __VA_ARGS__
#define DRAWN_ANYWHERE(from, ...)  .stream = STREAM_##from, ANYWHERE, false, NULL, __VA_ARGS__
#define DRAWN_OR_ENDS(from, ...)   .stream = STREAM_##from, WHERE_IT_COUNTS, true, NULL, __VA_ARGS__
#define DRAWN_BY(from, function)   .stream = STREAM_##from, WHERE_IT_COUNTS, false, function
#define ALWAYS                     0, 0
#define YES                        YES_AMOUNT
#define BELOW(n)                   BELOW_AMOUNT, .high = n
#define ONE_TO(n)                  ONE_TO_AMOUNT, .high = n
#define ANY                        ANY_AMOUNT
#define SHIFTED(unit, n)           SHIFTED_AMOUNT, unit, 0, n
#define MAGNITUDE(unit, low, high) MAGNITUDE_AMOUNT, unit, low, high

#define RUN_OPTION(type, member, key, values, initial, where, drawn, ...) {drawn},
#define RUN_MMU_OPTION                                                    RUN_OPTION
#define CASE_OPTION(...)                                                  {NOT_DRAWN},

static const struct row rows[WORKLOAD_OPTION_COUNT] = {
#include "workload/case/run_options.inc"
};

static uint64_t draw_amount(const struct row *row, struct rng *rng)
{
    switch (row->amount) {
    case YES_AMOUNT:
        return true;
    case BELOW_AMOUNT:
        return rng_below(rng, row->high);
    case ONE_TO_AMOUNT:
        return 1 + rng_below(rng, row->high);
    case ANY_AMOUNT:
        return rng_next(rng);
    case SHIFTED_AMOUNT:
        return row->unit << rng_below(rng, row->high);
    case MAGNITUDE_AMOUNT:
        return row->unit * campaign_magnitude(rng, row->low, row->high);
    }
    return 0;
}

/* False: no later row of the stream draws. */
static bool draw_number(struct drawing *drawing, const struct row *row, struct rng *rng,
                        uint64_t *number)
{
    if (row->by)
        return row->by(drawing, rng, number);
    if (row->of && !rng_chance(rng, row->chance, row->of))
        return !row->is_or_ends;
    *number = draw_amount(row, rng);
    return true;
}

static void draw_row(struct drawing *drawing, size_t place)
{
    const struct row *row = &rows[place];
    const struct workload_option_info *info = &workload_options[place];
    struct run_config *config = drawing->config;
    bool counts = config->wddm >= info->where.wddm && (info->where.models >> config->model & 1);
    uint64_t number;
    struct rng own;

    if (row->stream == STREAM_NONE || (!counts && row->reach == WHERE_IT_COUNTS))
        return;
    number = run_option_number(place, config);
    if (row->stream == STREAM_OWN) {
        campaign_stream_of(drawing->draw->seed, hash_string(info->key) | OWN_STREAMS, &own);
        draw_number(drawing, row, &own, &number);
    } else if (drawing->has_ended[row->stream]) {
        return;
    } else {
        drawing->has_ended[row->stream] =
            !draw_number(drawing, row, &drawing->streams[row->stream], &number);
    }
    if (counts)
        run_option_set_number(place, config, number);
}

void campaign_draw_options(const struct campaign_draw *draw, struct run_config *config)
{
    struct drawing drawing = {.draw = draw, .config = config};

    for (unsigned i = 0; i < STREAM_COUNT; i++)
        campaign_stream_of(draw->seed, i, &drawing.streams[i]);
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++)
        draw_row(&drawing, i);
}
