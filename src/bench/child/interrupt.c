#define _GNU_SOURCE /* sigaction() */
#include "bench/child/interrupt.h"

#include <signal.h>
#include <time.h>

#define AGAIN_SECONDS 0.3

static volatile sig_atomic_t has_come, is_caught;
static struct sigaction former;
static double came_at;

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void on_interrupt(int number)
{
    if (!has_come) {
        came_at = seconds_now();
        has_come = 1;
    } else if (seconds_now() - came_at > AGAIN_SECONDS) {
        sigaction(number, &former, NULL);
        raise(number); /* when this returns */
    }
}

void interrupt_catch(void)
{
    const struct sigaction action = {.sa_handler = on_interrupt}; /* no SA_RESTART: poll() ends */
    struct sigaction now;

    if (sigaction(SIGINT, NULL, &now) != 0 || now.sa_handler == SIG_IGN ||
        now.sa_handler == on_interrupt)
        return;
    former = now;
    is_caught = sigaction(SIGINT, &action, NULL) == 0;
}

bool interrupt_came(void)
{
    return has_come;
}

void interrupt_leave_to_parent(void)
{
    if (is_caught)
        signal(SIGINT, SIG_IGN);
}
