/* What a process has used, and its limits (../process.c). */
#ifndef DRYDOCK_POSIX_SYS_RESOURCE_H
#define DRYDOCK_POSIX_SYS_RESOURCE_H

#include <sys/time.h>

typedef unsigned long long rlim_t;
#define RLIM_INFINITY ((rlim_t)-1)

#define RUSAGE_SELF 0
struct rusage {
    struct timeval ru_utime, ru_stime;
    long ru_maxrss; /* KiB */
};
int getrusage(int who, struct rusage *out);

#define RLIMIT_STACK 3
#define RLIMIT_FSIZE 1
struct rlimit {
    rlim_t rlim_cur, rlim_max;
};
/* No limit is known. */
int getrlimit(int resource, struct rlimit *out);

#endif
