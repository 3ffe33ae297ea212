/*
 * The calendar: system time (100 ns since the beginning of 1601) in fields and in seconds.
 */
#include "nt/nt_private.h"

#include <wdm/clock.h>

#define UNITS_A_MS        10000
#define UNITS_A_SECOND    10000000
#define SECONDS_A_DAY     86400
#define DAYS_UNTIL_1970   134774 /* from the beginning of 1601, a Monday */
#define DAYS_UNTIL_1980   138426
#define DAYS_IN_400_YEARS 146097

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_in(int year, int month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

VOID NTAPI RtlTimeToTimeFields(PLARGE_INTEGER Time, PTIME_FIELDS TimeFields)
{
    int64_t seconds = Time->QuadPart / UNITS_A_SECOND, days = seconds / SECONDS_A_DAY;
    int in_day = (int)(seconds % SECONDS_A_DAY), year, month = 1;

    TimeFields->Milliseconds = (CSHORT)(Time->QuadPart % UNITS_A_SECOND / UNITS_A_MS);
    TimeFields->Second = (CSHORT)(in_day % 60);
    TimeFields->Minute = (CSHORT)(in_day / 60 % 60);
    TimeFields->Hour = (CSHORT)(in_day / 3600);
    TimeFields->Weekday = (CSHORT)((days + 1) % 7); /* 0: Sunday */
    year = 1601 + (int)(days / DAYS_IN_400_YEARS) * 400;
    days %= DAYS_IN_400_YEARS;
    while (days >= 365 + is_leap(year))
        days -= 365 + is_leap(year++);
    while (days >= days_in(year, month))
        days -= days_in(year, month++);
    TimeFields->Year = (CSHORT)year;
    TimeFields->Month = (CSHORT)month;
    TimeFields->Day = (CSHORT)(days + 1);
}

BOOLEAN NTAPI RtlTimeFieldsToTime(PTIME_FIELDS TimeFields, PLARGE_INTEGER Time)
{
    int year = TimeFields->Year, month = TimeFields->Month;
    int64_t days = TimeFields->Day - 1, since = year - 1601;

    if (year < 1601 || month < 1 || month > 12 || TimeFields->Day < 1 ||
        TimeFields->Day > days_in(year, month) || TimeFields->Hour < 0 || TimeFields->Hour > 23 ||
        TimeFields->Minute < 0 || TimeFields->Minute > 59 || TimeFields->Second < 0 ||
        TimeFields->Second > 59 || TimeFields->Milliseconds < 0 || TimeFields->Milliseconds > 999)
        return FALSE;
    days += since * 365 + since / 4 - since / 100 + since / 400;
    for (int before = 1; before < month; before++)
        days += days_in(year, before);
    Time->QuadPart =
        (((days * 24 + TimeFields->Hour) * 60 + TimeFields->Minute) * 60 + TimeFields->Second) *
            UNITS_A_SECOND +
        (int64_t)TimeFields->Milliseconds * UNITS_A_MS;
    return TRUE;
}

static BOOLEAN seconds_since(const char *service, const LARGE_INTEGER *time, int64_t days,
                             ULONG *out)
{
    int64_t seconds = time->QuadPart / UNITS_A_SECOND - days * SECONDS_A_DAY;

    nt_require_irql(nt_current(), service, APC_LEVEL);
    if (seconds < 0 || seconds > MAXULONG)
        return FALSE;
    *out = (ULONG)seconds;
    return TRUE;
}

BOOLEAN NTAPI RtlTimeToSecondsSince1970(PLARGE_INTEGER Time, PULONG ElapsedSeconds)
{
    return seconds_since("RtlTimeToSecondsSince1970", Time, DAYS_UNTIL_1970, ElapsedSeconds);
}

BOOLEAN NTAPI RtlTimeToSecondsSince1980(PLARGE_INTEGER Time, PULONG ElapsedSeconds)
{
    return seconds_since("RtlTimeToSecondsSince1980", Time, DAYS_UNTIL_1980, ElapsedSeconds);
}

VOID NTAPI RtlSecondsSince1970ToTime(ULONG ElapsedSeconds, PLARGE_INTEGER Time)
{
    nt_require_irql(nt_current(), "RtlSecondsSince1970ToTime", APC_LEVEL);
    Time->QuadPart = ((int64_t)DAYS_UNTIL_1970 * SECONDS_A_DAY + ElapsedSeconds) * UNITS_A_SECOND;
}

static const struct nt_export services[] = {
    NT_SERVICE(RtlTimeToTimeFields),       NT_SERVICE(RtlTimeFieldsToTime),
    NT_SERVICE(RtlTimeToSecondsSince1970), NT_SERVICE(RtlTimeToSecondsSince1980),
    NT_SERVICE(RtlSecondsSince1970ToTime), {0},
};

const struct nt_area nt_calendar_area = {.exports = services};
