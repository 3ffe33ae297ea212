/*
 * The structures of d3dkmthk.h are laid out as those of the public headers were measured to be, and
 * as an unmodified user-mode driver uses them.
 */
#include <d3dkmthk.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct row {
    const char *type, *member;
    size_t offset, bytes;
    size_t expected_offset, expected_bytes;
};

static const struct row rows[] = {
#define SIZE(type, bytes) {#type, "", 0, sizeof(type), 0, bytes},
#define FIELD(type, member, offset, bytes)                                                         \
    {#type, #member, offsetof(type, member), sizeof(((type *)0)->member), offset, bytes},
#include "layout_rows.inc"
};

static void structures_are_laid_out_as_measured(void **state)
{
    assert_true(sizeof rows / sizeof rows[0] > 400);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];

        if (row->offset != row->expected_offset || row->bytes != row->expected_bytes)
            print_error("%s.%s: %zu bytes at %zu, expected %zu at %zu\n", row->type, row->member,
                        row->bytes, row->offset, row->expected_bytes, row->expected_offset);
        assert_int_equal(row->offset, row->expected_offset);
        assert_int_equal(row->bytes, row->expected_bytes);
    }
}

/* What an unmodified driver was seen to write: CreateResource, CreateShared, NtSecuritySharing. */
static void flags_have_the_bits_that_a_driver_sets(void **state)
{
    const D3DKMT_CREATEALLOCATIONFLAGS create = {
        {{.CreateResource = 1, .CreateShared = 1, .NtSecuritySharing = 1}}};
    const D3DDDICB_DESTROYALLOCATION2FLAGS destroy = {{{.AssumeNotInUse = 1}}};
    const D3DDDI_MAKERESIDENT_FLAGS resident = {{{.CantTrimFurther = 1}}};
    const D3DDDI_EVICT_FLAGS evict = {{{.EvictOnlyIfNecessary = 1}}};
    const D3DKMT_ADAPTERTYPE adapter = {{{.RenderSupported = 1}}};
    const D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE protection = {{{.Write = 1}}};

    assert_int_equal(create.Value, 0x43);
    assert_int_equal(destroy.Value, 1);
    assert_int_equal(resident.Value, 1);
    assert_int_equal(evict.Value, 1);
    assert_int_equal(adapter.Value, 1);
    assert_int_equal(protection.Value, 1);
    assert_int_equal(D3DDDI_MONITORED_FENCE, 5);
    assert_int_equal(D3DDDI_QUERYREGISTRY_DRIVERSTOREPATH, 2);
    assert_int_equal(offsetof(D3DDDI_QUERYREGISTRY_INFO, OutputValueSize), 1056);
    assert_int_equal(offsetof(D3DDDI_QUERYREGISTRY_INFO, Status), 1060);
    assert_int_equal(offsetof(D3DDDI_QUERYREGISTRY_INFO, OutputString), 1064);
    assert_int_equal(sizeof(D3DDDI_QUERYREGISTRY_INFO), 1072);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structures_are_laid_out_as_measured),
        cmocka_unit_test(flags_have_the_bits_that_a_driver_sets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
