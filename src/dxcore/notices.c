#define _GNU_SOURCE
#include "dxcore/notices.h"

#include "thunk/lane.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

struct registration {
    PFND3DKMT_TRIMNOTIFICATIONCALLBACK callback; /* NULL: free */
    void *context;
    uint32_t seen;
};

static struct {
    pthread_mutex_t lock; /* of what follows; not held while a callback runs */
    pthread_cond_t has_returned;
    struct registration registrations[LANE_NOTICES];
    unsigned running; /* number of the registration whose callback runs, from 1; 0: none */
    struct lane_board *board;
    bool has_thread; /* a child of fork() has none */
    pthread_t thread;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .has_returned = PTHREAD_COND_INITIALIZER};

static void call_back(unsigned number)
{
    struct registration *registration = &self.registrations[number];
    const struct lane_notice *notice = &self.board->notices[number];
    const uint32_t count = atomic_load(&notice->count);
    D3DKMT_TRIMNOTIFICATION notification = {.Context = registration->context,
                                            .Flags = {{.Value = notice->flags}},
                                            .NumBytesToTrim = notice->bytes};
    const PFND3DKMT_TRIMNOTIFICATIONCALLBACK callback = registration->callback;

    if (!callback || count == registration->seen)
        return;
    registration->seen = count;
    self.running = number + 1;
    pthread_mutex_unlock(&self.lock);
    callback(&notification);
    pthread_mutex_lock(&self.lock);
    self.running = 0;
    pthread_cond_broadcast(&self.has_returned);
}

static void *hear(void *context)
{
    static const struct timespec second = {.tv_sec = 1};

    for (;;) {
        const uint32_t bell = atomic_load(&self.board->notice_bell);

        pthread_mutex_lock(&self.lock);
        for (unsigned i = 0; i < LANE_NOTICES; i++)
            call_back(i);
        pthread_mutex_unlock(&self.lock);
        lane_wait(&self.board->notice_bell, bell, &second);
    }
    return NULL;
}

/* The child has registered nothing, whatever the parent's thread was amid. */
static void forget_registrations(void)
{
    memset(self.registrations, 0, sizeof self.registrations);
    self.running = 0;
    self.has_thread = false;
    pthread_mutex_init(&self.lock, NULL);
    pthread_cond_init(&self.has_returned, NULL);
}

static void expect_forks(void)
{
    pthread_atfork(NULL, NULL, forget_registrations);
}

/* With all signals blocked: they are the program's. */
static bool start_thread(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigset_t all, before;

    if (self.has_thread)
        return true;
    pthread_once(&once, expect_forks);
    self.board = connection_lanes();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    self.has_thread = !pthread_create(&self.thread, NULL, hear, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return self.has_thread;
}

NTSTATUS notices_begin(D3DKMT_REGISTERTRIMNOTIFICATION *arguments)
{
    /* The server has no use for the program's addresses. */
    D3DKMT_REGISTERTRIMNOTIFICATION asked = {.AdapterLuid = arguments->AdapterLuid,
                                             .hDevice = arguments->hDevice};
    struct registration *registration;
    NTSTATUS status;

    arguments->Handle = NULL;
    if (!arguments->Callback)
        return STATUS_INVALID_PARAMETER;
    if (!connection_lanes())
        return STATUS_NOT_SUPPORTED;
    status = connection_call(D3DKMT_FN_RegisterTrimNotification, &asked, NULL);
    if (status < 0 || !asked.Handle || (uintptr_t)asked.Handle > LANE_NOTICES)
        return status < 0 ? status : STATUS_DEVICE_REMOVED;
    pthread_mutex_lock(&self.lock);
    registration = &self.registrations[(uintptr_t)asked.Handle - 1];
    *registration =
        (struct registration){.callback = arguments->Callback, .context = arguments->Context};
    status = start_thread() ? STATUS_SUCCESS : STATUS_NO_MEMORY;
    if (status == STATUS_SUCCESS)
        registration->seen = atomic_load(&self.board->notices[(uintptr_t)asked.Handle - 1].count);
    else
        registration->callback = NULL;
    pthread_mutex_unlock(&self.lock);
    if (status == STATUS_SUCCESS)
        arguments->Handle = asked.Handle;
    else
        connection_call(D3DKMT_FN_UnregisterTrimNotification,
                        &(D3DKMT_UNREGISTERTRIMNOTIFICATION){.Handle = asked.Handle}, NULL);
    return status;
}

NTSTATUS notices_end(D3DKMT_UNREGISTERTRIMNOTIFICATION *arguments)
{
    D3DKMT_UNREGISTERTRIMNOTIFICATION asked = {.Handle = arguments->Handle};
    const uintptr_t number = (uintptr_t)arguments->Handle;

    if (!number || number > LANE_NOTICES)
        return STATUS_INVALID_PARAMETER;
    pthread_mutex_lock(&self.lock);
    if (!self.registrations[number - 1].callback) {
        pthread_mutex_unlock(&self.lock);
        return STATUS_INVALID_PARAMETER;
    }
    self.registrations[number - 1].callback = NULL;
    while (self.running == number && !pthread_equal(self.thread, pthread_self()))
        pthread_cond_wait(&self.has_returned, &self.lock);
    pthread_mutex_unlock(&self.lock);
    return connection_call(D3DKMT_FN_UnregisterTrimNotification, &asked, NULL);
}
