/*
 * A folder of results that is whole or not there: it is written under another name and renamed.
 */
#define _GNU_SOURCE /* O_NOFOLLOW and the calls on folders */
#include "report/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files in a run folder; nothing else is ever removed. */
static const char *const own_files[] = {"run.json",    "record.ddr",   "events.txt", "summary.txt",
                                        "report.html", "compare.html", "run.pftrace"};

static bool fail(char error[512], const char *what, const char *path)
{
    snprintf(error, 512, "%s '%.300s': %s", what, path, strerror(errno));
    return false;
}

/* Makes every folder above the last part of the path, and notes the first that was not there. */
static bool make_parents(struct report_folder *folder, char error[512])
{
    char part[512];

    snprintf(part, sizeof part, "%s", folder->path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) == 0) {
            if (!folder->made)
                folder->made = (size_t)(slash - part);
        } else if (errno != EEXIST) {
            return fail(error, "cannot make folder", part);
        }
        *slash = '/';
    }
    return true;
}

/* Removes the folders that make_parents() made, as far as nobody else uses them. */
static void remove_parents(const struct report_folder *folder)
{
    char part[512];

    snprintf(part, sizeof part, "%s", folder->path);
    for (char *slash = strrchr(part, '/');
         folder->made && slash && (size_t)(slash - part) >= folder->made;
         slash = strrchr(part, '/')) {
        *slash = '\0';
        if (rmdir(part) != 0)
            return;
    }
}

static bool has_file(const char *folder, const char *name)
{
    char path[1100];
    struct stat status;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &status) == 0;
}

/* Not what a link of that name leads to: its files are somebody else's. */
static void remove_folder(const char *folder)
{
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    for (size_t i = 0; i < sizeof own_files / sizeof own_files[0] && file >= 0; i++)
        unlinkat(file, own_files[i], 0);
    if (file >= 0)
        close(file);
    rmdir(folder);
}

static bool is_link(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

static bool refuse_link(const char *path, char error[512])
{
    snprintf(error, 512, "'%.300s' is a symbolic link, which the folder of a run does not follow",
             path);
    return false;
}

static bool folder_is_empty(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    unsigned count = 0;

    if (!directory)
        return false;
    while ((entry = readdir(directory)))
        count++;
    closedir(directory);
    return count <= 2; /* . and .. */
}

/*
 * An interrupted run leaves nothing half written: on SIGINT and SIGTERM the files and the folder
 * go, by calls that a signal handler may make, and the signal does what it does to others.
 */
#define OWN_FILE_COUNT (sizeof own_files / sizeof own_files[0])
static char interrupted_files[OWN_FILE_COUNT][1100];
static char interrupted_folder[1100];
static volatile sig_atomic_t is_interruptible;

static void on_interrupt(int number)
{
    if (is_interruptible) {
        for (size_t i = 0; i < OWN_FILE_COUNT; i++)
            unlink(interrupted_files[i]);
        rmdir(interrupted_folder);
    }
    raise(number); /* SA_RESETHAND: what it does by default, when this returns */
}

static void watch_interrupts(const struct report_folder *folder)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    struct sigaction former;

    for (size_t i = 0; i < OWN_FILE_COUNT; i++)
        snprintf(interrupted_files[i], sizeof interrupted_files[i], "%s/%s", folder->partial,
                 own_files[i]);
    snprintf(interrupted_folder, sizeof interrupted_folder, "%s", folder->partial);
    is_interruptible = 1;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        /* A signal that the caller has us ignore stays ignored. */
        if (sigaction(signals[i], NULL, &former) == 0 && former.sa_handler == SIG_DFL)
            sigaction(signals[i], &action, NULL);
    }
}

bool report_folder_begin(struct report_folder *folder, const char *path, char error[512])
{
    struct stat status;
    size_t length;

    *folder = (struct report_folder){0};
    if (strlen(path) >= sizeof folder->path) {
        snprintf(error, 512, "the name of the output folder is too long");
        return false;
    }
    snprintf(folder->path, sizeof folder->path, "%s", path);
    for (length = strlen(folder->path); length > 1 && folder->path[length - 1] == '/'; length--)
        folder->path[length - 1] = '\0';
    if (is_link(folder->path))
        return refuse_link(folder->path, error);
    if (stat(folder->path, &status) == 0 && !has_file(folder->path, "run.json") &&
        !(S_ISDIR(status.st_mode) && folder_is_empty(folder->path))) {
        snprintf(error, 512, "'%.300s' exists and is not the folder of a run", folder->path);
        return false;
    }
    if (!make_parents(folder, error)) {
        remove_parents(folder);
        return false;
    }
    snprintf(folder->partial, sizeof folder->partial, "%s.partial-%ld", folder->path,
             (long)getpid());
    if (mkdir(folder->partial, 0777) != 0) {
        fail(error, "cannot make folder", folder->partial);
        remove_parents(folder);
        return false;
    }
    folder->is_open = true;
    watch_interrupts(folder);
    return true;
}

bool report_folder_write(struct report_folder *folder, const char *name, const char *text,
                         char error[512])
{
    char path[1100];
    FILE *file;
    bool is_written;

    snprintf(path, sizeof path, "%s/%s", folder->partial, name);
    file = fopen(path, "w");
    if (!file)
        return fail(error, "cannot write", path);
    is_written = fputs(text, file) >= 0;
    if (fclose(file) != 0 || !is_written)
        return fail(error, "cannot write", path);
    return true;
}

bool report_folder_end(struct report_folder *folder, char error[512])
{
    char old[576];
    bool has_old;

    if (is_link(folder->path)) { /* since the run began */
        refuse_link(folder->path, error);
        report_folder_abandon(folder);
        return false;
    }
    snprintf(old, sizeof old, "%s.old-%ld", folder->path, (long)getpid());
    is_interruptible = 0;
    has_old = rename(folder->path, old) == 0;
    if (rename(folder->partial, folder->path) != 0) {
        fail(error, "cannot make folder", folder->path);
        if (has_old)
            rename(old, folder->path);
        report_folder_abandon(folder);
        return false;
    }
    if (has_old)
        remove_folder(old);
    folder->is_open = false;
    return true;
}

void report_folder_abandon(struct report_folder *folder)
{
    if (!folder->is_open)
        return;
    is_interruptible = 0;
    remove_folder(folder->partial);
    remove_parents(folder);
    folder->is_open = false;
}
