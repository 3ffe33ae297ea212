/* The process and the machine that it runs on. */
#include "windows/own.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <io.h>
#define PSAPI_VERSION 2 /* its functions are those of kernel32.dll */
#include <windows.h>
#include <psapi.h>

static struct timeval time_of(FILETIME time)
{
    const uint64_t ticks = (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;

    return (struct timeval){(long)(ticks / 10000000), (long)(ticks % 10000000 / 10)};
}

int getrusage(int who, struct rusage *out)
{
    FILETIME begun, ended, kernel, user;
    PROCESS_MEMORY_COUNTERS memory;

    if (!GetProcessTimes(GetCurrentProcess(), &begun, &ended, &kernel, &user) ||
        !GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory))
        return posix_failed();
    out->ru_utime = time_of(user);
    out->ru_stime = time_of(kernel);
    out->ru_maxrss = (long)(memory.PeakWorkingSetSize >> 10);
    return 0;
}

int getrlimit(int resource, struct rlimit *out)
{
    out->rlim_cur = out->rlim_max = RLIM_INFINITY;
    return 0;
}

long sysconf(int name)
{
    SYSTEM_INFO system;
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};

    GetSystemInfo(&system);
    switch (name) {
    case _SC_PAGESIZE:
        return (long)system.dwPageSize;
    case _SC_NPROCESSORS_ONLN:
        return (long)system.dwNumberOfProcessors;
    case _SC_PHYS_PAGES:
        return GlobalMemoryStatusEx(&memory) ? (long)(memory.ullTotalPhys / system.dwPageSize) : -1;
    default:
        errno = EINVAL;
        return -1;
    }
}

int ioctl(int file, unsigned long request, struct winsize *out)
{
    CONSOLE_SCREEN_BUFFER_INFO screen;

    if (request != TIOCGWINSZ ||
        !GetConsoleScreenBufferInfo((HANDLE)_get_osfhandle(file), &screen)) {
        errno = ENOTTY;
        return -1;
    }
    out->ws_col = (unsigned short)(screen.srWindow.Right - screen.srWindow.Left + 1);
    out->ws_row = (unsigned short)(screen.srWindow.Bottom - screen.srWindow.Top + 1);
    return 0;
}
