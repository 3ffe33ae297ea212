/* Generic tables of both kinds, against a sorted array. */
#include "nt/rig/test_threads.h"

#include "base/rng.h"

#include <string.h>
#include <wdm/generic_table.h>

#define KEYS 300

struct element {
    int key;
    unsigned payload;
};

static char context;
static unsigned allocations, most_allocations;

static RTL_GENERIC_COMPARE_RESULTS order(const void *first, const void *second)
{
    int a = ((const struct element *)first)->key, b = ((const struct element *)second)->key;

    return a < b ? GenericLessThan : a > b ? GenericGreaterThan : GenericEqual;
}

static void *take(CLONG bytes, CLONG header)
{
    assert_int_equal(bytes, header + sizeof(struct element));
    if (allocations >= most_allocations)
        return NULL;
    allocations++;
    return ExAllocatePool2(POOL_FLAG_PAGED, bytes, TEST_TAG);
}

static void give(void *memory)
{
    allocations--;
    ExFreePool(memory);
}

static RTL_GENERIC_COMPARE_RESULTS NTAPI compare_splay(PRTL_GENERIC_TABLE table, PVOID first,
                                                       PVOID second)
{
    assert_ptr_equal(table->TableContext, &context);
    return order(first, second);
}

static PVOID NTAPI allocate_splay(PRTL_GENERIC_TABLE table, CLONG bytes)
{
    return take(bytes, sizeof(RTL_SPLAY_LINKS) + sizeof(LIST_ENTRY));
}

static VOID NTAPI free_splay(PRTL_GENERIC_TABLE table, PVOID memory)
{
    give(memory);
}

static RTL_GENERIC_COMPARE_RESULTS NTAPI compare_avl(PRTL_AVL_TABLE table, PVOID first,
                                                     PVOID second)
{
    assert_ptr_equal(table->TableContext, &context);
    return order(first, second);
}

static PVOID NTAPI allocate_avl(PRTL_AVL_TABLE table, CLONG bytes)
{
    return take(bytes, sizeof(RTL_BALANCED_LINKS));
}

static VOID NTAPI free_avl(PRTL_AVL_TABLE table, PVOID memory)
{
    give(memory);
}

static RTL_GENERIC_TABLE splay;
static RTL_AVL_TABLE avl;

static void begin(void)
{
    allocations = 0;
    most_allocations = UINT32_MAX;
    RtlInitializeGenericTable(&splay, compare_splay, allocate_splay, free_splay, &context);
    RtlInitializeGenericTableAvl(&avl, compare_avl, allocate_avl, free_avl, &context);
}

/* What is there, in the array's terms. */
static bool is_there[KEYS];
static int inserted[KEYS];
static unsigned count;

static void check(void)
{
    struct element *a = RtlEnumerateGenericTableAvl(&avl, TRUE), *b;
    void *restart = NULL;
    unsigned at = 0;

    assert_int_equal(RtlNumberGenericTableElementsAvl(&avl), count);
    assert_int_equal(RtlNumberGenericTableElements(&splay), count);
    assert_int_equal(RtlIsGenericTableEmptyAvl(&avl), count == 0);
    assert_int_equal(RtlIsGenericTableEmpty(&splay), count == 0);
    for (int key = 0; key < KEYS; key++) {
        struct element wanted = {.key = key};

        assert_int_equal(RtlLookupElementGenericTable(&splay, &wanted) != NULL, is_there[key]);
        assert_int_equal(RtlLookupElementGenericTableAvl(&avl, &wanted) != NULL, is_there[key]);
        if (!is_there[key])
            continue;
        b = RtlEnumerateGenericTableWithoutSplaying(&splay, &restart);
        assert_int_equal(a->key, key);
        assert_int_equal(b->key, key);
        assert_int_equal(b->payload, ~(unsigned)key);
        assert_ptr_equal(RtlGetElementGenericTableAvl(&avl, at++), a);
        a = RtlEnumerateGenericTableAvl(&avl, FALSE);
    }
    assert_null(a);
    assert_null(RtlEnumerateGenericTableWithoutSplaying(&splay, &restart));
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(((struct element *)RtlGetElementGenericTable(&splay, i))->key,
                         inserted[i]);
    assert_null(RtlGetElementGenericTable(&splay, count));
    assert_null(RtlGetElementGenericTableAvl(&avl, count));
}

static void change(int key)
{
    struct element element = {key, ~(unsigned)key};
    BOOLEAN is_new = 7;
    unsigned at = 0;

    if (!is_there[key]) {
        assert_non_null(RtlInsertElementGenericTable(&splay, &element, sizeof element, &is_new));
        assert_int_equal(is_new, TRUE);
        assert_non_null(RtlInsertElementGenericTableAvl(&avl, &element, sizeof element, NULL));
        inserted[count++] = key;
    } else {
        assert_true(RtlDeleteElementGenericTable(&splay, &element));
        assert_true(RtlDeleteElementGenericTableAvl(&avl, &element));
        assert_false(RtlDeleteElementGenericTableAvl(&avl, &element));
        while (inserted[at] != key)
            at++;
        memmove(inserted + at, inserted + at + 1, (--count - at) * sizeof *inserted);
    }
    is_there[key] = !is_there[key];
    assert_int_equal(allocations, 2 * count);
}

static void tables_agree_with_a_sorted_array(void **state)
{
    struct rng rng;

    begin();
    memset(is_there, 0, sizeof is_there);
    count = 0;
    rng_init(&rng, 11);
    check();
    for (int key = 0; key < KEYS; key++) /* ascending: a plain tree would be a list */
        change(key);
    check();
    for (int i = 0; i < 1500; i++) {
        change((int)rng_below(&rng, KEYS));
        if (i % 100 == 0)
            check();
    }
    for (int key = 0; key < KEYS; key++) {
        if (is_there[key])
            change(key);
    }
    check();
    assert_int_equal(nt_pool_live_blocks(test.nt), 0);
}

static void inserting_what_is_there_gives_what_is_there(void **state)
{
    struct element element = {5, 1}, again = {5, 2};
    BOOLEAN is_new;
    struct element *first, *second;

    begin();
    first = RtlInsertElementGenericTableAvl(&avl, &element, sizeof element, &is_new);
    second = RtlInsertElementGenericTableAvl(&avl, &again, sizeof again, &is_new);
    assert_ptr_equal(first, second);
    assert_int_equal(is_new, FALSE);
    assert_int_equal(second->payload, 1);
    most_allocations = 1;
    again.key = 6;
    assert_null(RtlInsertElementGenericTableAvl(&avl, &again, sizeof again, &is_new));
    assert_int_equal(is_new, FALSE);
    assert_int_equal(RtlNumberGenericTableElementsAvl(&avl), 1);
    assert_true(RtlDeleteElementGenericTableAvl(&avl, &element));
}

static void a_search_tells_where_an_element_belongs(void **state)
{
    struct element element = {5, 1};
    TABLE_SEARCH_RESULT result;
    BOOLEAN is_new;
    void *node;

    begin();
    assert_null(RtlLookupElementGenericTableFull(&splay, &element, &node, &result));
    assert_int_equal(result, TableEmptyTree);
    assert_null(node);
    RtlInsertElementGenericTableFull(&splay, &element, sizeof element, &is_new, node, result);
    element.key = 3;
    assert_null(RtlLookupElementGenericTableFull(&splay, &element, &node, &result));
    assert_int_equal(result, TableInsertAsLeft);
    RtlInsertElementGenericTableFull(&splay, &element, sizeof element, &is_new, node, result);
    assert_int_equal(is_new, TRUE);
    assert_int_equal(((struct element *)RtlEnumerateGenericTable(&splay, TRUE))->key, 3);
    element.key = 7;
    assert_null(RtlLookupElementGenericTableFull(&splay, &element, &node, &result));
    assert_int_equal(result, TableInsertAsRight);
    element.key = 5;
    assert_non_null(RtlLookupElementGenericTableFull(&splay, &element, &node, &result));
    assert_int_equal(result, TableFoundNode);
    assert_true(RtlDeleteElementGenericTable(&splay, &element));
    element.key = 3;
    assert_true(RtlDeleteElementGenericTable(&splay, &element));
}

/* The way in which tables are emptied. */
static void an_enumeration_goes_on_behind_what_was_deleted(void **state)
{
    struct element *at;
    void *restart;
    int seen = 0;

    begin();
    for (int i = 0; i < 20; i++) {
        struct element element = {i, 0};

        RtlInsertElementGenericTableAvl(&avl, &element, sizeof element, NULL);
        RtlInsertElementGenericTable(&splay, &element, sizeof element, NULL);
    }
    at = RtlLookupFirstMatchingElementGenericTableAvl(&avl, &(struct element){.key = 4}, &restart);
    assert_int_equal(at->key, 4);
    at = RtlEnumerateGenericTableWithoutSplayingAvl(&avl, &restart);
    assert_int_equal(at->key, 5);
    for (at = RtlEnumerateGenericTableAvl(&avl, TRUE); at;
         at = RtlEnumerateGenericTableAvl(&avl, FALSE)) {
        assert_int_equal(at->key, seen++);
        if (at->key % 3 != 1)
            RtlDeleteElementGenericTableAvl(&avl, at);
    }
    assert_int_equal(seen, 20);
    assert_int_equal(RtlNumberGenericTableElementsAvl(&avl), 7);
    while ((at = RtlGetElementGenericTableAvl(&avl, 0)))
        RtlDeleteElementGenericTableAvl(&avl, at);
    while ((at = RtlEnumerateGenericTable(&splay, TRUE)))
        RtlDeleteElementGenericTable(&splay, at);
    assert_int_equal(allocations, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_threads, test_teardown)
        TEST(tables_agree_with_a_sorted_array),
        TEST(inserting_what_is_there_gives_what_is_there),
        TEST(a_search_tells_where_an_element_belongs),
        TEST(an_enumeration_goes_on_behind_what_was_deleted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
