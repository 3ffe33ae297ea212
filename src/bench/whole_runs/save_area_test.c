/* What a driver keeps in local memory beside segments: through sleeps, and behind a reset. */
#include "bench/whole_runs/test_run.h"

#include <stdlib.h>

static struct {
    unsigned pins, unpins, maps, unmaps, refused;
    PMDL pinned;
    bool spoils; /* what was saved, before it is brought back */
    bool keeps;  /* a piece, from the sleep to the stop of the device */
    DXGKARGCB_MAPFRAMEBUFFERPOINTER piece;
} seen;

static struct miniport_host_layer host_layer;
static struct miniport_host_ops host_ops;

static NTSTATUS see_memory(struct miniport_host *host,
                           const struct miniport_memory_request *request)
{
    NTSTATUS status;

    if (seen.spoils && request->kind == MINIPORT_MEMORY_unpin_save_area && seen.unpins == 0)
        *(char *)MmGetSystemAddressForMdlSafe(seen.pinned, NormalPagePriority) ^= 1;
    status = miniport_host_forward_ops.memory(host, request);
    seen.refused += !NT_SUCCESS(status);
    switch ((unsigned)request->kind) {
    case MINIPORT_MEMORY_pin_save_area:
        seen.pins++;
        seen.pinned = request->pin_save_area->pMdl;
        break;
    case MINIPORT_MEMORY_unpin_save_area:
        seen.unpins++;
        break;
    case MINIPORT_MEMORY_map_save_area:
        seen.maps++;
        break;
    case MINIPORT_MEMORY_unmap_save_area:
        seen.unmaps++;
        break;
    default:
        break;
    }
    return status;
}

static void set_host(struct miniport *self, struct miniport_host *host)
{
    host_layer.upper = host;
    miniport_set_host(self->next, host ? &host_layer.host : NULL);
}

static NTSTATUS ask(enum miniport_memory_kind kind, const void *arg)
{
    const struct miniport_memory_request request = {.kind = kind, .any = arg};

    return host_layer.upper->ops->memory(host_layer.upper, &request);
}

static NTSTATUS sleep_or_wake(struct miniport *self, ULONG uid, DEVICE_POWER_STATE state,
                              POWER_ACTION action)
{
    NTSTATUS status = miniport_set_power_state(self->next, uid, state, action);

    if (seen.keeps && state != PowerDeviceD0 && !seen.piece.pBaseAddress) {
        seen.piece = (DXGKARGCB_MAPFRAMEBUFFERPOINTER){.Size = PAGE_SIZE, .Offset = PAGE_SIZE};
        assert_int_equal(ask(MINIPORT_MEMORY_map_save_area, &seen.piece), STATUS_SUCCESS);
        memset((char *)seen.piece.pBaseAddress + seen.piece.Offset, 0x5a, PAGE_SIZE);
    }
    return status;
}

static NTSTATUS stop(struct miniport *self)
{
    const DXGKARGCB_UNMAPFRAMEBUFFERPOINTER unmap = {.pBaseAddress = seen.piece.pBaseAddress};

    if (unmap.pBaseAddress) {
        assert_int_equal(((char *)unmap.pBaseAddress)[seen.piece.Offset + 100], 0x5a);
        assert_int_equal(ask(MINIPORT_MEMORY_unmap_save_area, &unmap), STATUS_SUCCESS);
        seen.piece.pBaseAddress = NULL;
        seen.keeps = false;
    }
    return miniport_stop_device(self->next);
}

static struct miniport *put_on_top(void *context, struct miniport *next)
{
    struct miniport *layer = NULL;
    struct miniport_ops *ops = test_put_layer(base_services_libc(), next, &layer);

    host_ops = miniport_host_forward_ops;
    host_ops.memory = see_memory;
    host_layer.host.ops = &host_ops;
    ops->set_host = set_host;
    ops->set_power_state = sleep_or_wake;
    ops->stop_device = stop;
    return layer;
}

#define LOOK(status) "escape c0 hardware=yes expect=" status " \"1:u32 2:u32 0:u64*2\"\n"

/* The driver's escape looks at its memory. */
static void play(const char *options, const char *lines)
{
    struct workload *workload;
    struct run_result *result;
    struct run_config config;
    char text[1024];

    snprintf(text, sizeof text,
             "drydock-case 1\noption own-memory 128K\n%s\ncontext c0\nalloc a size=1M\n"
             "submit c0 a:w\n%s",
             options, lines);
    workload = test_parse(text);
    config = test_config(workload);
    config.model = RUN_GPUMMU;
    config.add_layer = put_on_top;
    memset(&seen, 0, sizeof seen);
    seen.spoils = strstr(options, "name \"spoiled\"") != NULL;
    seen.keeps = strstr(options, "name \"kept\"") != NULL;
    result = test_execute(&config, workload);
    test_assert_clean(result);
    test_finish(result);
    assert_int_equal(seen.unmaps, seen.maps);
}

#define SLEEPS                                                                                     \
    LOOK("success")                                                                                \
    "power standby\npower on\n" LOOK("success") "power hibernate\npower on\n" LOOK("success")

static void it_is_saved_as_a_whole(void **state)
{
    play("option wddm 2.6", SLEEPS);
    assert_int_equal(seen.pins, 4); /* there and back, twice */
    assert_int_equal(seen.unpins, 4);
    assert_int_equal(seen.maps, 0);
    assert_int_equal(seen.refused, 0);
}

/* A driver whose device may be remapped has no use for an MDL. */
static void it_is_saved_in_pieces(void **state)
{
    play("option wddm 3.2", SLEEPS);
    assert_int_equal(seen.pins, 0);
    assert_int_equal(seen.maps, 4 * 8);
    play("option wddm 3.2\noption dma-remapping yes", SLEEPS);
    assert_int_equal(seen.maps, 4 * 8);
}

/*
 * Half of the pins fail, by seed, in a layer below the test's: what follows is saved, and brought
 * back, in pieces.
 */
static void it_is_saved_in_pieces_where_the_whole_cannot_be_had(void **state)
{
    unsigned pinned = 0;
    char options[96];

    for (unsigned seed = 1; seed <= 6; seed++) {
        snprintf(options, sizeof options,
                 "option wddm 2.6\noption faults save-area\noption seed %u", seed);
        play(options, SLEEPS);
        assert_int_equal(seen.pins, seen.unpins);
        assert_int_equal(seen.pins + seen.maps / 8, 4);
        pinned += seen.pins;
    }
    assert_in_range(pinned, 4, 6 * 4 - 4);
}

static void it_is_made_again_behind_a_reset(void **state)
{
    play("option wddm 2.6", LOOK("success") "wait all\nreset\n" LOOK("success"));
    assert_int_equal(seen.pins, 0);
}

/* One bit of what was saved is turned over: the look at it is a real one. */
static void a_lost_bit_is_noticed(void **state)
{
    play("name \"spoiled\"\noption wddm 2.6",
         LOOK("success") "power standby\npower on\n" LOOK("failure"));
}

/* The manager has gone by then. */
static void a_piece_may_be_unmapped_where_the_device_stops(void **state)
{
    play("name \"kept\"\noption wddm 2.6", "wait all\npower hibernate\npower on\n");
    assert_false(seen.keeps);
}

/* The CPU does not see it as a whole. */
static void boards_with_a_host_aperture_save_nothing(void **state)
{
    play("option wddm 2.6\noption host-aperture yes", SLEEPS);
    assert_int_equal(seen.pins + seen.maps, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_saved_as_a_whole),
        cmocka_unit_test(it_is_saved_in_pieces),
        cmocka_unit_test(it_is_saved_in_pieces_where_the_whole_cannot_be_had),
        cmocka_unit_test(it_is_made_again_behind_a_reset),
        cmocka_unit_test(a_lost_bit_is_noticed),
        cmocka_unit_test(a_piece_may_be_unmapped_where_the_device_stops),
        cmocka_unit_test(boards_with_a_host_aperture_save_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
