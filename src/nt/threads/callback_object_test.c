#include "nt/rig/test_threads.h"

#include <string.h>

static char order[16];

static VOID NTAPI note(PVOID context, PVOID first, PVOID second)
{
    size_t length = strlen(order);

    assert_ptr_equal(first, order);
    assert_null(second);
    order[length] = *(const char *)context;
    order[length + 1] = '\0';
}

static PVOID own_registration;

static VOID NTAPI note_once(PVOID context, PVOID first, PVOID second)
{
    note(context, first, second);
    ExUnregisterCallback(own_registration);
}

static OBJECT_ATTRIBUTES named(UNICODE_STRING *name, const WCHAR *text, ULONG attributes)
{
    OBJECT_ATTRIBUTES result;

    RtlInitUnicodeString(name, text);
    InitializeObjectAttributes(&result, name, attributes, NULL, NULL);
    return result;
}

static const WCHAR small[] = {'\\', 'C', 'a', 'l', 'l', 'b', 'a', 'c', 'k', '\\', 'x', 0};
static const WCHAR large[] = {'\\', 'C', 'A', 'L', 'L', 'B', 'A', 'C', 'K', '\\', 'X', 0};

static void functions_are_called_in_their_order(void **state)
{
    UNICODE_STRING name;
    OBJECT_ATTRIBUTES attributes = named(&name, small, 0);
    PCALLBACK_OBJECT callback;
    PVOID a, b;

    order[0] = '\0';
    assert_int_equal(ExCreateCallback(&callback, &attributes, TRUE, TRUE), STATUS_SUCCESS);
    a = ExRegisterCallback(callback, note, "a");
    own_registration = ExRegisterCallback(callback, note_once, "1");
    b = ExRegisterCallback(callback, note, "b");
    ExNotifyCallback(callback, order, NULL);
    assert_string_equal(order, "a1b");
    ExNotifyCallback(callback, order, NULL);
    assert_string_equal(order, "a1bab");
    ExUnregisterCallback(a);
    ExUnregisterCallback(b);
    ExNotifyCallback(callback, order, NULL);
    assert_string_equal(order, "a1bab");
    assert_int_equal(ObDereferenceObject(callback), 0);
    assert_no_misuse();
    ExUnregisterCallback(b);
    assert_misuse("ExUnregisterCallback: this is no registration (any more)");
    ExNotifyCallback(callback, NULL, NULL);
    assert_misuse("ExNotifyCallback: there is no callback object here");
}

static void an_object_is_found_by_its_name(void **state)
{
    UNICODE_STRING name;
    OBJECT_ATTRIBUTES attributes = named(&name, small, 0);
    OBJECT_ATTRIBUTES other = named(&name, large, 0);
    PCALLBACK_OBJECT first, second;
    UNICODE_STRING small_name;

    attributes = named(&small_name, small, 0);
    assert_int_equal(ExCreateCallback(&first, &attributes, FALSE, TRUE),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_null(first);
    assert_int_equal(ExCreateCallback(&first, &attributes, TRUE, FALSE), STATUS_SUCCESS);
    assert_int_equal(ExCreateCallback(&second, &other, FALSE, FALSE), STATUS_OBJECT_NAME_NOT_FOUND);
    other.Attributes = OBJ_CASE_INSENSITIVE;
    assert_int_equal(ExCreateCallback(&second, &other, FALSE, FALSE), STATUS_SUCCESS);
    assert_ptr_equal(first, second);
    assert_int_equal(ObDereferenceObject(second), 1);
    assert_int_equal(ObDereferenceObject(first), 0);
    assert_no_misuse();
}

static void an_object_for_one_takes_one(void **state)
{
    PCALLBACK_OBJECT callback;
    PVOID registration;

    assert_int_equal(ExCreateCallback(&callback, NULL, TRUE, FALSE), STATUS_SUCCESS);
    registration = ExRegisterCallback(callback, note, "a");
    assert_non_null(registration);
    assert_null(ExRegisterCallback(callback, note, "b"));
    ExUnregisterCallback(registration);
    registration = ExRegisterCallback(callback, note, "b");
    assert_non_null(registration);
    /* The registration keeps the object. */
    assert_int_equal(ObDereferenceObject(callback), 1);
    ExUnregisterCallback(registration);
    assert_no_misuse();
}

static void expect_left(const char *text)
{
    test_find_leftovers();
    assert_string_equal(test.left, text);
}

static void it_is_told_what_is_left(void **state)
{
    UNICODE_STRING name;
    OBJECT_ATTRIBUTES attributes = named(&name, small, OBJ_PERMANENT);
    PCALLBACK_OBJECT callback;
    PVOID registration;

    assert_int_equal(ExCreateCallback(&callback, &attributes, TRUE, TRUE), STATUS_SUCCESS);
    registration = ExRegisterCallback(callback, note, "a");
    expect_left("a callback of ExRegisterCallback is still registered");
    ExUnregisterCallback(registration);
    expect_left("a callback object of ExCreateCallback has references left");
    assert_int_equal(ObDereferenceObject(callback), 1);
    expect_left("");
    assert_no_misuse();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_threads, test_teardown)
        TEST(functions_are_called_in_their_order),
        TEST(an_object_is_found_by_its_name),
        TEST(an_object_for_one_takes_one),
        TEST(it_is_told_what_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
