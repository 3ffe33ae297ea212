#define _GNU_SOURCE
#include "bench/drivers/source_places.h"

#include "bench/drivers/drivers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_PLACES 256u
#define MARK        " (+0x"

/* For the program: a large driver's debug information takes a second and a gibibyte. */
#define PROGRAM_SECONDS 20
#define PROGRAM_BYTES   (UINT64_C(8) << 30)

struct place {
    uint64_t address;
    char function[128], line[256]; /* empty: not known */
};

struct places {
    struct place of[MOST_PLACES];
    size_t count;
};

/* The next mark: its address, and where it ends. NULL: there is none. */
static char *next_mark(char *text, uint64_t *address, char **end)
{
    for (char *at = text; (at = strstr(at, MARK)); at++) {
        *address = strtoull(at + strlen(MARK) - 2, end, 16);
        if (**end == ')' && *end > at + strlen(MARK)) {
            ++*end;
            return at;
        }
    }
    return NULL;
}

static struct place *find(struct places *places, uint64_t address)
{
    for (size_t i = 0; i < places->count; i++) {
        if (places->of[i].address == address)
            return &places->of[i];
    }
    return NULL;
}

static void collect(struct places *places, char *text)
{
    uint64_t address;
    char *end;

    for (char *at = text; (at = next_mark(at, &address, &end)); at = end) {
        if (!find(places, address) && places->count < MOST_PLACES)
            places->of[places->count++].address = address;
    }
}

/* ---- The program ----------------------------------------------------------------------------- */

/*
 * The program reads a file that somebody else made: it has no secrets of the environment, asks no
 * server for what the file names, and ends.
 */
_Noreturn static void become_program(char *const words[], int output)
{
    const struct rlimit seconds = {PROGRAM_SECONDS, PROGRAM_SECONDS};
    const struct rlimit bytes = {PROGRAM_BYTES, PROGRAM_BYTES};
    const char *path = getenv("PATH");
    char of_path[4200];
    char *environment[] = {of_path, NULL};
    int nothing = open("/dev/null", O_RDWR);

    snprintf(of_path, sizeof of_path, "PATH=%s", path ? path : "/usr/bin:/bin");
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_AS, &bytes);
    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDERR_FILENO) >= 0 &&
        dup2(output, STDOUT_FILENO) >= 0)
        execvpe(words[0], words, environment);
    _exit(127);
}

/* Runs it with its output to a pipe; NULL: it does not run. */
static FILE *ask(const char *image_path, const struct places *places, pid_t *pid)
{
    char object[4200], numbers[MOST_PLACES][24];
    char *words[MOST_PLACES + 5] = {"llvm-symbolizer", object, "--relative-address",
                                    "--output-style=LLVM"};
    int ends[2];
    FILE *file;

    if (snprintf(object, sizeof object, "--obj=%s", image_path) >= (int)sizeof object ||
        pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    for (size_t i = 0; i < places->count; i++) {
        snprintf(numbers[i], sizeof numbers[i], "0x%" PRIx64, places->of[i].address);
        words[4 + i] = numbers[i];
    }
    fflush(NULL);
    *pid = fork();
    if (*pid == 0)
        become_program(words, ends[1]);
    close(ends[1]);
    file = *pid < 0 ? NULL : fdopen(ends[0], "r");
    if (!file)
        close(ends[0]);
    if (!file && *pid > 0)
        waitpid(*pid, NULL, 0);
    return file;
}

/*
 * "/home/me/mygpu/src/mygpu.c:123:9" to "src/mygpu.c:123" in /home/me/mygpu, "mygpu.c:123"
 * elsewhere.
 */
static void shorten(const char *from, char *line, size_t size)
{
    const char *name = from, *number = strrchr(from, ':');
    char *folder = get_current_dir_name();
    size_t length = folder ? strlen(folder) : 0;

    if (length > 1 && strncmp(from, folder, length) == 0 && from[length] == '/') {
        name = from + length + 1;
    } else {
        for (const char *at = from; *at; at++) {
            if (*at == '/' || *at == '\\')
                name = at + 1;
        }
    }
    free(folder);
    if (number && number > name)
        snprintf(line, size, "%.*s", (int)(number - name), name);
    number = strrchr(line, ':');
    if (line[0] == '?' || !number || strcmp(number, ":0") == 0)
        line[0] = '\0';
}

/*
 * Of each address two lines for each function that is inlined there, the innermost first, and an
 * empty one.
 */
static void read_answers(struct places *places, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    unsigned number = 0; /* of the line of an address */

    for (size_t i = 0; i < places->count && getline(&line, &room, file) >= 0; number++) {
        struct place *place = &places->of[i];

        line[strcspn(line, "\n")] = '\0';
        if (!line[0]) {
            i++;
            number = UINT32_MAX;
        } else if (number == 0 && line[0] != '?') {
            snprintf(place->function, sizeof place->function, "%.127s", line);
        } else if (number == 1) {
            shorten(line, place->line, sizeof place->line);
        }
    }
    free(line);
}

/* ---- The text -------------------------------------------------------------------------------- */

/*
 * Whether the text before a mark names the function: "mygpu.sys!CopyPage+0x12",
 * "mygpu.sys!CopyPage".
 */
static bool is_named(const char *text, const char *mark, const char *function)
{
    const char *from = mark, *plus;

    while (from > text && from[-1] != '!' && from[-1] != '\n')
        from--;
    plus = memchr(from, '+', (size_t)(mark - from));
    if (!plus)
        plus = mark;
    return (size_t)(plus - from) == strlen(function) &&
           memcmp(from, function, (size_t)(plus - from)) == 0;
}

static void describe(const struct place *place, bool is_named, char *out, size_t size)
{
    const char *function = is_named ? "" : place->function;

    if (function[0] || place->line[0])
        snprintf(out, size, " (%.127s%s%.255s)", function,
                 function[0] && place->line[0] ? ", " : "", place->line);
    else
        out[0] = '\0';
}

static void replace(struct places *places, char *text, size_t size)
{
    uint64_t address;
    char *end;

    for (char *at = text; (at = next_mark(at, &address, &end));) {
        const struct place *place = find(places, address);
        size_t length, rest = strlen(end) + 1;
        char words[400] = "";

        if (place)
            describe(place, is_named(text, at, place->function), words, sizeof words);
        length = strlen(words);
        if (!length || (size_t)(at - text) + length + rest > size) {
            at = end;
            continue;
        }
        memmove(at + length, end, rest);
        memcpy(at, words, length);
        at += length;
    }
}

void source_places_add(const char *image_path, const struct source_text *texts, size_t count)
{
    struct places places = {.count = 0};
    FILE *file;
    pid_t pid;

    for (size_t i = 0; i < count; i++)
        collect(&places, texts[i].text);
    if (!places.count)
        return;
    file = ask(image_path, &places, &pid);
    if (!file)
        return;
    read_answers(&places, file);
    fclose(file);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    for (size_t i = 0; i < count; i++)
        replace(&places, texts[i].text, texts[i].size);
}

/* ---- Rows of one place ----------------------------------------------------------------------- */

/* "0x0 to 0x4 and more  mygpu.sys!Fill (mygpu.c:12)": the range, and what stands behind it. */
struct row {
    uint32_t first, end;
    const char *rest; /* NULL: the line is no row */
};

static struct row read_row(const char *line)
{
    struct row row = {0};
    int length = 0;

    if (sscanf(line, "0x%" SCNx32 " to 0x%" SCNx32 "%n", &row.first, &row.end, &length) == 2)
        row.rest = line + length;
    return row;
}

/* Instructions of one line of the source wrote bytes that follow each other: one row has them. */
static void join_rows(char *text)
{
    char *last = NULL; /* the row before */

    for (char *line = text; line; line = strchr(line, '\n')) {
        struct row before, row;
        char range[64];
        size_t length;

        line += *line == '\n';
        row = read_row(line);
        before = last ? read_row(last) : (struct row){0};
        if (row.rest && before.rest && before.end == row.first &&
            strcspn(row.rest, "\n") == strcspn(before.rest, "\n") &&
            memcmp(row.rest, before.rest, strcspn(row.rest, "\n")) == 0) {
            length = (size_t)snprintf(range, sizeof range, "0x%x to 0x%x", before.first, row.end);
            memmove(last + length, row.rest, strlen(row.rest) + 1);
            memcpy(last, range, length);
            line = last;
        }
        last = line;
    }
}

/* ---- Texts to add to ------------------------------------------------------------------------- */

#define TEXTS 3u

static size_t list_detail(struct finding_detail *detail, struct source_text texts[TEXTS])
{
    texts[0] = (struct source_text){detail->function, sizeof detail->function};
    texts[1] = (struct source_text){detail->objects, sizeof detail->objects};
    texts[2] = (struct source_text){detail->writers, sizeof detail->writers};
    return TEXTS;
}

/* Drivers that are linked in are code of this program. */
static bool find_program(char path[4096])
{
    ssize_t length = readlink("/proc/self/exe", path, 4095);

    if (length > 0)
        path[length] = '\0';
    return length > 0;
}

static void add_for_driver(const char *name, const struct source_text *texts, size_t count)
{
    struct run_driver driver;
    char program[4096];
    bool has_mark = false;

    for (size_t i = 0; i < count; i++)
        has_mark |= strstr(texts[i].text, MARK) != NULL;
    if (!has_mark || !run_find_driver(name, &driver))
        return;
    if (driver.image_path)
        source_places_add(driver.image_path, texts, count);
    else if (find_program(program))
        source_places_add(program, texts, count);
    for (size_t i = 0; i < count; i++)
        join_rows(texts[i].text);
}

void source_places_add_to_result(struct run_result *result)
{
    struct source_text texts[TEXTS * RUN_MAX_FINDINGS + 1];
    size_t count = 0;

    for (unsigned i = 0; i < result->finding_count; i++)
        count += list_detail(&result->findings[i].detail, &texts[count]);
    texts[count++] = (struct source_text){result->ending, sizeof result->ending};
    add_for_driver(result->config.driver, texts, count);
}

void source_places_add_to_record(struct campaign_record *record)
{
    struct source_text texts[TEXTS * CAMPAIGN_MAX_FINDINGS + 1];
    size_t count = 0;

    for (unsigned i = 0; i < record->finding_count; i++)
        count += list_detail(&record->findings[i].detail, &texts[count]);
    texts[count++] = (struct source_text){record->detail, sizeof record->detail};
    add_for_driver(record->driver, texts, count);
}
