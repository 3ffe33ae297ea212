/*
 * The calendar, against days that are counted one after the other; the first entry of an
 * SLIST.
 */
#include "nt/rig/test_kernel.h"

#include <wdm.h>

#define DAY INT64_C(864000000000)

static TIME_FIELDS fields_of(int64_t time)
{
    TIME_FIELDS fields;

    RtlTimeToTimeFields(&(LARGE_INTEGER){.QuadPart = time}, &fields);
    return fields;
}

static void days_follow_each_other(void **state)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = 1601, month = 1, day = 1;

    for (int64_t n = 0; year < 2402; n++) { /* twice the calendar's 400 years */
        TIME_FIELDS fields = fields_of(n * DAY + DAY - 10000);
        bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        LARGE_INTEGER back;

        if (fields.Year != year || fields.Month != month || fields.Day != day ||
            fields.Weekday != (n + 1) % 7 || fields.Hour != 23 || fields.Milliseconds != 999)
            fail_msg("day %lld is %d-%d-%d, a %d", (long long)n, fields.Year, fields.Month,
                     fields.Day, fields.Weekday);
        fields.Weekday = 77; /* is ignored */
        assert_true(RtlTimeFieldsToTime(&fields, &back));
        assert_int_equal(back.QuadPart, n * DAY + DAY - 10000);
        if (++day > days[month - 1] + (month == 2 && is_leap)) {
            day = 1;
            if (++month > 12) {
                month = 1;
                year++;
            }
        }
    }
}

static void what_is_no_time_is_refused(void **state)
{
    static const TIME_FIELDS wrong[] = {
        {1600, 12, 31, 0, 0, 0, 0, 0}, {2023, 2, 29, 0, 0, 0, 0, 0},  {2024, 13, 1, 0, 0, 0, 0, 0},
        {2024, 1, 0, 0, 0, 0, 0, 0},   {2024, 1, 1, 24, 0, 0, 0, 0},  {2024, 1, 1, 0, 60, 0, 0, 0},
        {2024, 1, 1, 0, 0, 60, 0, 0},  {2024, 1, 1, 0, 0, 0, 1000, 0}};
    LARGE_INTEGER time;
    ULONG seconds;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(RtlTimeFieldsToTime((PTIME_FIELDS)&wrong[i], &time));
    assert_true(RtlTimeFieldsToTime(&(TIME_FIELDS){2001, 9, 9, 1, 46, 40, 0, 0}, &time));
    assert_true(RtlTimeToSecondsSince1970(&time, &seconds));
    assert_int_equal(seconds, 1000000000);
    assert_true(RtlTimeToSecondsSince1980(&time, &seconds));
    assert_int_equal(seconds, 1000000000 - 315532800);
    RtlSecondsSince1970ToTime(1000000000, &time);
    assert_int_equal(fields_of(time.QuadPart).Hour, 1);
    assert_int_equal(fields_of(time.QuadPart).Weekday, 0);
    time.QuadPart = 0;
    assert_false(RtlTimeToSecondsSince1970(&time, &seconds));
}

static void an_slist_shows_its_first_entry(void **state)
{
    SLIST_HEADER head;
    SLIST_ENTRY first, second;

    InitializeSListHead(&head);
    assert_null(RtlFirstEntrySList(&head));
    InterlockedPushEntrySList(&head, &first);
    InterlockedPushEntrySList(&head, &second);
    assert_ptr_equal(RtlFirstEntrySList(&head), &second);
    assert_ptr_equal(second.Next, &first);
    assert_int_equal(ExQueryDepthSList(&head), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(days_follow_each_other),
        KERNEL_TEST(what_is_no_time_is_refused),
        KERNEL_TEST(an_slist_shows_its_first_entry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
