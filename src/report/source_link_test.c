#include "report/source_link.h"

#include "check/rules/rules.h"
#include "report/client_catalogue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SITE "https://learn.microsoft.com/windows-hardware/drivers"

static void expect(const char *name, const char *address)
{
    char link[SOURCE_LINK_BYTES];

    assert_int_equal(source_link(name, strlen(name), link), address[0] != '\0');
    assert_string_equal(link, address);
}

static void a_page_of_the_reference_is_below_its_header(void **state)
{
    expect("nc-dxgkddi_patch", SITE "/ddi/d3dkmddi/nc-d3dkmddi-dxgkddi_patch");
    expect("nc-dxgkddi_interrupt_routine",
           SITE "/ddi/dispmprt/nc-dispmprt-dxgkddi_interrupt_routine");
    expect("ns-_dxgk_allocationinfo", SITE "/ddi/d3dkmddi/ns-d3dkmddi-_dxgk_allocationinfo");
    expect("ne-_d3dddi_offer_priority", SITE "/ddi/d3dukmdt/ne-d3dukmdt-_d3dddi_offer_priority");
    expect("ns-d3dddi_makeresident_flags",
           SITE "/ddi/d3dukmdt/ns-d3dukmdt-d3dddi_makeresident_flags");
    expect("nc-pfnd3dddi_evictcb", SITE "/ddi/d3dumddi/nc-d3dumddi-pfnd3dddi_evictcb");
    expect("nf-wdm-mmallocatepagesformdlex", SITE "/ddi/wdm/nf-wdm-mmallocatepagesformdlex");
    expect("nf-d3dkmthk-d3dkmtevict", SITE "/ddi/d3dkmthk/nf-d3dkmthk-d3dkmtevict");
    expect(
        "nf-dxgi-idxgikeyedmutex-acquiresync",
        "https://learn.microsoft.com/windows/win32/api/dxgi/nf-dxgi-idxgikeyedmutex-acquiresync");
}

static void other_pages_are_of_the_guide_or_of_bug_checks(void **state)
{
    expect("gpu-segments", SITE "/display/gpu-segments");
    expect("graphics-driver-samples (compute-only)", SITE "/display/graphics-driver-samples");
    expect("bug-check-0x10e", SITE "/debugger/bug-check-0x10e---video-memory-management-internal");
    expect("bug-check-0x1", SITE "/display/bug-check-0x1"); /* no beginning of another one */
}

static void what_names_no_page_has_no_address(void **state)
{
    char name[300];

    expect("", "");
    expect("word", "");
    expect("public header-derived struct shapes", "");
    expect("third-party driver notes (measured)", "");
    expect("nc-\033]8;;x", "");
    expect("a--b", "");
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    name[3] = '-';
    expect(name, "");
}

/* The two sources of the catalogue that are no pages. */
static bool is_no_page(const char *name, size_t length)
{
    static const char *const names[] = {"public header-derived struct shapes",
                                        "third-party driver notes (measured)"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    }
    return false;
}

static void expect_all(const char *id, const char *sources)
{
    char link[SOURCE_LINK_BYTES];

    for (const char *at = sources; *at; at += strspn(at, ", ")) {
        const size_t length = strcspn(at, ",");

        if (source_link(at, length, link) == is_no_page(at, length))
            fail_msg("%s: source '%.*s' has '%s'", id, (int)length, at, link);
        at += length;
    }
}

static void every_source_of_the_catalogues_has_its_page(void **state)
{
    const struct client_rule_row *row;

    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++)
        expect_all(rule_get((enum rule_id)i)->id, rule_get((enum rule_id)i)->source);
    for (unsigned i = 0; (row = client_catalogue_at(i)) != NULL; i++)
        expect_all(row->id, row->source);
}

static void the_object_has_those_that_have_an_address(void **state)
{
    json_t *links = source_links_json("gpu-segments (1), third-party driver notes (measured), "
                                      "nc-dxgkddi_patch");

    assert_int_equal(json_object_size(links), 2);
    assert_string_equal(json_string_value(json_object_get(links, "gpu-segments (1)")),
                        SITE "/display/gpu-segments");
    assert_string_equal(json_string_value(json_object_get(links, "nc-dxgkddi_patch")),
                        SITE "/ddi/d3dkmddi/nc-d3dkmddi-dxgkddi_patch");
    json_decref(links);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_of_the_reference_is_below_its_header),
        cmocka_unit_test(other_pages_are_of_the_guide_or_of_bug_checks),
        cmocka_unit_test(what_names_no_page_has_no_address),
        cmocka_unit_test(every_source_of_the_catalogues_has_its_page),
        cmocka_unit_test(the_object_has_those_that_have_an_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
