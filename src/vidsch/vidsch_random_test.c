/*
 * vidsch: random operations against a plain model.
 *
 * The model has the same rules in the plainest form, arrays of numbers, and is asked at every
 * callback which packet must come now. What is random: contexts and their nodes, fences and what
 * waits for them, refused packets, how far each node got and when it says so, wrong reports,
 * page faults, aborts, and what the callbacks do in turn.
 *
 * A run is one seed. VIDSCH_SEED=n in the environment runs only that one.
 */
#include "vidsch/vidsch.h"

#include "vidsch/test_told.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/rng.h"
#include "tests/told.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODE_COUNT    3
#define CONTEXT_COUNT 6
#define FENCE_COUNT   3
#define PACKET_COUNT  40
#define STEP_COUNT    300
#define SEED_COUNT    150

static uint64_t current_seed;

#define CHECK(expression)                                                                          \
    do {                                                                                           \
        bool holds = (expression);                                                                 \
        if (!holds)                                                                                \
            print_error("repeat: VIDSCH_SEED=%" PRIu64 " vidsch_vidsch_random_test\n",             \
                        current_seed);                                                             \
        assert_true(holds);                                                                        \
    } while (0)

/* A list of indices, in order. */
struct order {
    unsigned items[PACKET_COUNT];
    unsigned count;
};

static void order_push(struct order *order, unsigned item)
{
    CHECK(order->count < ARRAY_COUNT(order->items));
    order->items[order->count++] = item;
}

static unsigned order_pop(struct order *order)
{
    unsigned item = order->items[0];

    CHECK(order->count > 0);
    order->count--;
    memmove(order->items, order->items + 1, order->count * sizeof *order->items);
    return item;
}

enum packet_state { PACKET_FREE, PACKET_QUEUED, PACKET_SUBMITTED, PACKET_ABORTED };

struct model;

struct model_packet {
    struct vidsch_packet base;
    struct model *model;
    enum packet_state state;
    unsigned context;
    NTSTATUS prepare_result;
    NTSTATUS submit_result;
    bool is_failed;
};

struct model_context {
    struct vidsch_context *real; /* NULL: this slot is free */
    unsigned node;
    bool is_paging;
    struct order queue; /* packets */
    unsigned outstanding;
    uint64_t submitted, retired;
};

struct model_node {
    struct order submitted; /* packets */
    struct order ready[2];  /* contexts */
    unsigned in_flight;
    uint32_t next_id, submitted_id, reported_id, completed_id;
    struct order faults; /* ids, as far as they fit an unsigned */
};

struct model {
    struct rng rng;
    struct vidsch *vidsch;
    unsigned depth;
    bool is_draining; /* callbacks do nothing more */
    struct model_packet packets[PACKET_COUNT];
    struct model_context contexts[CONTEXT_COUNT];
    struct order creation; /* contexts, oldest first */
    struct model_node nodes[NODE_COUNT];
    struct vidsch_fence fences[FENCE_COUNT];
    struct order waiting[FENCE_COUNT]; /* contexts */
    struct order aborted;              /* packets */
    NTSTATUS abort_status;
    uint64_t sequence;
    unsigned outstanding;
    unsigned recorded_errors; /* wrong reports since the last DPC */
    unsigned expected_errors, told_errors;
    uint64_t submitted_count, retired_count, fault_count, abort_count, refused_count;
};

static bool is_after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

static unsigned below(struct model *model, unsigned bound)
{
    return (unsigned)rng_below(&model->rng, bound);
}

static unsigned index_of(const struct model *model, const struct model_packet *packet)
{
    return (unsigned)(packet - model->packets);
}

/* ---- The model's rules ---- */

static void model_place(struct model *model, unsigned index)
{
    struct model_context *context = &model->contexts[index];
    const struct vidsch_packet *head;

    if (!context->queue.count)
        return;
    head = &model->packets[context->queue.items[0]].base;
    if (head->wait_fence && head->wait_fence->value < head->wait_value)
        order_push(&model->waiting[head->wait_fence - model->fences], index);
    else
        order_push(&model->nodes[context->node].ready[context->is_paging ? 0 : 1], index);
}

static void submit_packet(struct model *model, unsigned context_index);
static void random_reaction(struct model *model, unsigned context_index);

/* The packet goes to the driver: is it the one whose turn it is? */
static void model_take(struct model *model, struct model_packet *packet)
{
    struct model_context *context = &model->contexts[packet->context];
    struct model_node *node = &model->nodes[context->node];
    struct order *ready = &node->ready[node->ready[0].count ? 0 : 1];

    CHECK(packet->state == PACKET_QUEUED);
    CHECK(node->in_flight < model->depth);
    CHECK(order_pop(ready) == packet->context);
    CHECK(order_pop(&context->queue) == index_of(model, packet));
    CHECK(packet->base.fence_id == node->next_id);
    node->next_id++;
    node->in_flight++;
    order_push(&node->submitted, index_of(model, packet));
    packet->state = PACKET_SUBMITTED;
    model_place(model, packet->context);
}

static void model_refuse(struct model *model, struct model_packet *packet)
{
    model->nodes[model->contexts[packet->context].node].in_flight--;
    packet->is_failed = true;
    model->expected_errors++;
    model->refused_count++;
}

static void model_dpc(struct model *model)
{
    for (unsigned i = 0; i < NODE_COUNT; i++)
        model->nodes[i].completed_id = model->nodes[i].reported_id;
    /* Eight are kept; what is more is one line. */
    model->expected_errors += model->recorded_errors > 8 ? 9 : model->recorded_errors;
    model->recorded_errors = 0;
}

/*
 * The context's whose first packet was submitted before those of all others; NULL: nothing is
 * queued.
 */
static struct order *model_oldest_queue(struct model *model)
{
    struct order *oldest = NULL;

    for (unsigned i = 0; i < model->creation.count; i++) {
        struct order *queue = &model->contexts[model->creation.items[i]].queue;

        if (queue->count && (!oldest || model->packets[queue->items[0]].base.sequence <
                                            model->packets[oldest->items[0]].base.sequence))
            oldest = queue;
    }
    return oldest;
}

static void model_abort(struct model *model, NTSTATUS status)
{
    model->abort_status = status;
    model->abort_count++;
    for (unsigned i = 0; i < NODE_COUNT; i++) {
        struct model_node *node = &model->nodes[i];

        while (node->submitted.count)
            order_push(&model->aborted, order_pop(&node->submitted));
        node->ready[0].count = 0;
        node->ready[1].count = 0;
        node->in_flight = 0;
        node->reported_id = node->submitted_id;
        node->completed_id = node->submitted_id;
        node->faults.count = 0;
    }
    for (unsigned i = 0; i < FENCE_COUNT; i++)
        model->waiting[i].count = 0;
    for (struct order *queue; (queue = model_oldest_queue(model)) != NULL;)
        order_push(&model->aborted, order_pop(queue));
    for (unsigned i = 0; i < model->aborted.count; i++)
        model->packets[model->aborted.items[i]].state = PACKET_ABORTED;
}

static void model_retire(struct model *model, struct model_packet *packet, NTSTATUS status)
{
    struct model_context *context = &model->contexts[packet->context];
    struct model_node *node = &model->nodes[context->node];
    NTSTATUS failure =
        NT_SUCCESS(packet->prepare_result) ? packet->submit_result : packet->prepare_result;

    if (packet->state == PACKET_ABORTED) {
        CHECK(order_pop(&model->aborted) == index_of(model, packet));
        CHECK(status == (packet->is_failed ? failure : model->abort_status));
    } else {
        CHECK(packet->state == PACKET_SUBMITTED);
        CHECK(!model->aborted.count);
        CHECK(order_pop(&node->submitted) == index_of(model, packet));
        if (packet->is_failed) {
            CHECK(status == failure);
        } else {
            CHECK(status == STATUS_SUCCESS);
            CHECK(!is_after(packet->base.fence_id, node->completed_id));
            node->in_flight--;
        }
    }
    context->outstanding--;
    model->outstanding--;
    CHECK(packet->base.sequence > context->retired);
    context->retired = packet->base.sequence;
    packet->state = PACKET_FREE;
    model->retired_count++;
}

/* ---- Callbacks ---- */

static void report(struct model *model, unsigned node, uint32_t id)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {0};

    data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
    data.DmaCompleted.NodeOrdinal = node;
    data.DmaCompleted.SubmissionFenceId = id;
    vidsch_notify_interrupt(model->vidsch, &data);
}

static void dpc(struct model *model)
{
    model_dpc(model);
    vidsch_notify_dpc(model->vidsch);
}

static NTSTATUS packet_prepare(struct vidsch_packet *base, struct miniport *miniport)
{
    struct model_packet *packet = container_of(base, struct model_packet, base);

    model_take(packet->model, packet);
    if (!NT_SUCCESS(packet->prepare_result))
        model_refuse(packet->model, packet);
    return packet->prepare_result;
}

static NTSTATUS packet_submit(struct vidsch_packet *base, struct miniport *miniport)
{
    struct model_packet *packet = container_of(base, struct model_packet, base);
    struct model *model = packet->model;
    unsigned node_index = model->contexts[packet->context].node;

    if (!base->ops->prepare)
        model_take(model, packet);
    model->nodes[node_index].submitted_id = base->fence_id;
    if (!NT_SUCCESS(packet->submit_result)) {
        model_refuse(model, packet);
        return packet->submit_result;
    }
    if (below(model, 8) == 0) {
        model->nodes[node_index].reported_id = base->fence_id;
        report(model, node_index, base->fence_id);
        if (below(model, 2))
            dpc(model);
    }
    if (below(model, 8) == 0 && !model->is_draining)
        submit_packet(model, packet->context);
    return STATUS_SUCCESS;
}

static void packet_retired(struct vidsch_packet *base, NTSTATUS status)
{
    struct model_packet *packet = container_of(base, struct model_packet, base);
    struct model *model = packet->model;
    struct model_context *context = &model->contexts[packet->context];

    model_retire(model, packet, status);
    CHECK(vidsch_context_retired(context->real) == context->retired);
    CHECK(vidsch_context_is_idle(context->real) == (context->outstanding == 0));
    memset(base, 0xdd, sizeof *base);
    if (!model->is_draining)
        random_reaction(model, packet->context);
}

static const struct vidsch_packet_ops prepared_ops = {packet_prepare, packet_submit, packet_retired,
                                                      0};
static const struct vidsch_packet_ops plain_ops = {NULL, packet_submit, packet_retired, 0};

static void driver_error(void *context, const char *rule, const char *text)
{
    struct model *model = context;

    CHECK(strlen(rule) >= 7 && *text);
    told_text(text);
    model->told_errors++;
}

static void do_abort(struct model *model)
{
    NTSTATUS status = below(model, 2) ? STATUS_DEVICE_REMOVED : STATUS_GRAPHICS_ADAPTER_WAS_RESET;

    model_abort(model, status);
    vidsch_abort(model->vidsch, status);
}

static void page_fault(void *context, unsigned node, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data,
                       const struct vidsch_packet *packet)
{
    struct model *model = context;

    CHECK(order_pop(&model->nodes[node].faults) == data->DmaPageFaulted.FaultedFenceId);
    model->fault_count++;
    if (!model->is_draining && below(model, 3) == 0)
        do_abort(model);
}

/* ---- Operations ---- */

static void submit_packet(struct model *model, unsigned context_index)
{
    struct model_context *context = &model->contexts[context_index];
    struct model_packet *packet = NULL;

    for (unsigned i = 0; i < PACKET_COUNT && !packet; i++) {
        if (model->packets[i].state == PACKET_FREE)
            packet = &model->packets[i];
    }
    if (!packet || !context->real)
        return;

    memset(packet, 0, sizeof *packet);
    packet->model = model;
    packet->state = PACKET_QUEUED;
    packet->context = context_index;
    packet->base.ops = below(model, 2) ? &prepared_ops : &plain_ops;
    packet->base.is_paging = context->is_paging;
    if (below(model, 3) == 0) {
        packet->base.wait_fence = &model->fences[below(model, FENCE_COUNT)];
        packet->base.wait_value = packet->base.wait_fence->value + below(model, 3);
    }
    if (packet->base.ops->prepare && below(model, 16) == 0)
        packet->prepare_result = STATUS_INVALID_PARAMETER;
    if (below(model, 16) == 0)
        packet->submit_result = STATUS_UNSUCCESSFUL;

    context->outstanding++;
    context->submitted = ++model->sequence;
    model->outstanding++;
    model->submitted_count++;
    order_push(&context->queue, index_of(model, packet));
    if (context->queue.count == 1)
        model_place(model, context_index);
    vidsch_submit(context->real, &packet->base);
}

static void signal_fence(struct model *model, unsigned index, uint64_t value)
{
    struct order waiting = model->waiting[index];
    uint64_t before = model->fences[index].value;

    if (value > before) {
        /* The model goes by the fence's value, which is still the old one. */
        model->fences[index].value = value;
        model->waiting[index].count = 0;
        for (unsigned i = 0; i < waiting.count; i++)
            model_place(model, waiting.items[i]);
        model->fences[index].value = before;
    }
    vidsch_fence_signal(model->vidsch, &model->fences[index], value);
    CHECK(model->fences[index].value >= max_u64(before, value));
}

static void create_context(struct model *model)
{
    for (unsigned i = 0; i < CONTEXT_COUNT; i++) {
        struct model_context *context = &model->contexts[i];

        if (context->real)
            continue;
        memset(context, 0, sizeof *context);
        context->node = below(model, NODE_COUNT);
        context->is_paging = below(model, 3) == 0;
        CHECK(vidsch_context_create(model->vidsch, context->node, context->is_paging,
                                    &context->real) == STATUS_SUCCESS);
        order_push(&model->creation, i);
        return;
    }
}

static void destroy_context_if_idle(struct model *model, unsigned index)
{
    struct model_context *context = &model->contexts[index];
    struct order kept = {.count = 0};

    if (!context->real || context->outstanding)
        return;
    CHECK(vidsch_context_is_idle(context->real));
    vidsch_context_destroy(context->real);
    context->real = NULL;
    for (unsigned i = 0; i < model->creation.count; i++) {
        if (model->creation.items[i] != index)
            order_push(&kept, model->creation.items[i]);
    }
    model->creation = kept;
}

/* A node gets some way through its packets and says so. */
static void complete_some(struct model *model, unsigned index, bool completes_all)
{
    struct model_node *node = &model->nodes[index];
    unsigned chosen = below(model, PACKET_COUNT);
    const struct model_packet *packet = NULL;

    for (unsigned i = 0; i < node->submitted.count && (completes_all || i <= chosen); i++) {
        const struct model_packet *candidate = &model->packets[node->submitted.items[i]];

        if (!candidate->is_failed && is_after(candidate->base.fence_id, node->reported_id))
            packet = candidate;
        if (packet && !completes_all && below(model, 2))
            break;
    }
    if (!packet)
        return;
    node->reported_id = packet->base.fence_id;
    report(model, index, packet->base.fence_id);
}

static void report_wrongly(struct model *model)
{
    unsigned index = below(model, NODE_COUNT + 1);
    uint32_t id = 1;

    if (index < NODE_COUNT)
        id = below(model, 2) ? model->nodes[index].reported_id - below(model, 3)
                             : model->nodes[index].submitted_id + 1 + below(model, 3);
    model->recorded_errors++;
    report(model, index, id);
}

static void fault(struct model *model)
{
    unsigned index = below(model, NODE_COUNT);
    struct model_node *node = &model->nodes[index];
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {0};

    data.InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED;
    data.DmaPageFaulted.NodeOrdinal = index;
    data.DmaPageFaulted.FaultedFenceId = node->submitted_id;
    data.DmaPageFaulted.PageFaultFlags = DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED;
    if (node->faults.count < model->depth && is_after(node->submitted_id, node->reported_id)) {
        order_push(&node->faults, node->submitted_id);
        node->reported_id = node->submitted_id - 1;
    } else {
        model->recorded_errors++;
    }
    vidsch_notify_interrupt(model->vidsch, &data);
}

/* What a retired function does in turn. */
static void random_reaction(struct model *model, unsigned context_index)
{
    switch (below(model, 40)) {
    case 0:
    case 1:
    case 2:
    case 3:
        submit_packet(model, below(model, CONTEXT_COUNT));
        break;
    case 4:
    case 5:
        submit_packet(model, context_index);
        break;
    case 6:
        destroy_context_if_idle(model, context_index);
        break;
    case 7: {
        unsigned i = below(model, FENCE_COUNT);

        signal_fence(model, i, model->fences[i].value + 1);
        break;
    }
    case 8:
        complete_some(model, below(model, NODE_COUNT), false);
        break;
    case 9:
        dpc(model);
        break;
    case 10:
        if (below(model, 4) == 0)
            do_abort(model);
        break;
    default:
        break;
    }
}

static void random_step(struct model *model)
{
    unsigned choice = below(model, 100);

    if (choice < 35) {
        submit_packet(model, below(model, CONTEXT_COUNT));
    } else if (choice < 55) {
        complete_some(model, below(model, NODE_COUNT), false);
    } else if (choice < 72) {
        dpc(model);
    } else if (choice < 84) {
        unsigned i = below(model, FENCE_COUNT);

        signal_fence(model, i, model->fences[i].value + below(model, 3));
    } else if (choice < 89) {
        create_context(model);
    } else if (choice < 93) {
        destroy_context_if_idle(model, below(model, CONTEXT_COUNT));
    } else if (choice < 96) {
        report_wrongly(model);
    } else if (choice < 98) {
        fault(model);
    } else if (choice < 99) {
        do_abort(model);
    }
}

/* Between operations everything that could happen has happened. */
static void check_quiet(struct model *model)
{
    vidsch_check(model->vidsch);
    vidsch_told_state(model->vidsch);
    CHECK(vidsch_is_idle(model->vidsch) == (model->outstanding == 0));
    CHECK(model->aborted.count == 0);
    CHECK(model->told_errors == model->expected_errors);
    for (unsigned i = 0; i < NODE_COUNT; i++) {
        const struct model_node *node = &model->nodes[i];
        const struct model_packet *head;

        CHECK(node->in_flight == model->depth || (!node->ready[0].count && !node->ready[1].count));
        if (!node->submitted.count)
            continue;
        head = &model->packets[node->submitted.items[0]];
        CHECK(!head->is_failed && is_after(head->base.fence_id, node->completed_id));
    }
    for (unsigned i = 0; i < CONTEXT_COUNT; i++) {
        const struct model_context *context = &model->contexts[i];

        if (!context->real)
            continue;
        CHECK(vidsch_context_submitted(context->real) == context->submitted);
        CHECK(vidsch_context_retired(context->real) == context->retired);
        CHECK(vidsch_context_is_idle(context->real) == (context->outstanding == 0));
    }
}

static void drain(struct model *model)
{
    model->is_draining = true;
    for (unsigned i = 0; i < FENCE_COUNT; i++)
        signal_fence(model, i, UINT64_MAX);
    for (unsigned round = 0; model->outstanding; round++) {
        CHECK(round < PACKET_COUNT * 2);
        for (unsigned i = 0; i < NODE_COUNT; i++)
            complete_some(model, i, true);
        dpc(model);
        check_quiet(model);
    }
    dpc(model);
    check_quiet(model);
    for (unsigned i = 0; i < CONTEXT_COUNT; i++)
        destroy_context_if_idle(model, i);
    CHECK(model->creation.count == 0);
    CHECK(model->submitted_count == model->retired_count);
}

struct totals {
    uint64_t retired, faults, aborts, refused, errors;
};

static void run_seed(uint64_t seed, struct totals *totals)
{
    static struct model model;
    struct failing_services memory;
    struct vidsch_events events = {
        .context = &model, .driver_error = driver_error, .page_fault = page_fault};
    struct vidsch_config config = {.node_count = NODE_COUNT};
    uint32_t first_id;

    current_seed = seed;
    memset(&model, 0, sizeof model);
    failing_services_init(&memory);
    rng_init(&model.rng, seed);
    model.depth = 1 + below(&model, 4);
    first_id = below(&model, 2) ? 1 : UINT32_MAX - below(&model, 40);
    config.hardware_queue_depth = model.depth;
    config.first_fence_id = first_id;
    for (unsigned i = 0; i < NODE_COUNT; i++) {
        struct model_node *node = &model.nodes[i];

        node->next_id = first_id;
        node->submitted_id = node->reported_id = node->completed_id = first_id - 1;
    }
    for (unsigned i = 0; i < FENCE_COUNT; i++)
        vidsch_fence_init(&model.fences[i]);
    CHECK(vidsch_create(&memory.services, NULL, &config, &events, &model.vidsch) == STATUS_SUCCESS);
    for (unsigned i = 0; i < 3; i++)
        create_context(&model);

    for (unsigned step = 0; step < STEP_COUNT; step++) {
        random_step(&model);
        check_quiet(&model);
    }
    drain(&model);
    vidsch_destroy(model.vidsch);
    CHECK(memory.live_blocks == 0);
    totals->retired += model.retired_count;
    totals->faults += model.fault_count;
    totals->aborts += model.abort_count;
    totals->refused += model.refused_count;
    totals->errors += model.told_errors;
}

static void random_operations_agree_with_the_model(void **state)
{
    const char *only = getenv("VIDSCH_SEED");
    struct totals totals = {0};

    if (only) {
        run_seed(strtoull(only, NULL, 10), &totals);
        return;
    }
    for (uint64_t seed = 1; seed <= SEED_COUNT; seed++)
        run_seed(seed, &totals);

    /* The operations were not all in vain. */
    assert_true(totals.retired > 10000);
    assert_true(totals.faults > 100);
    assert_true(totals.aborts > 100);
    assert_true(totals.refused > 100);
    assert_true(totals.errors > totals.refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_agree_with_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
