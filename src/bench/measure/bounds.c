#include "bench/measure/bounds.h"

#include "workload/named_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add(struct bounds *bounds, const char *key, size_t length, double bound)
{
    struct bound *grown = realloc(bounds->list, (bounds->count + 1) * sizeof *grown);
    char *copy = calloc(1, length + 1);

    if (grown)
        bounds->list = grown;
    if (!grown || !copy) {
        free(copy);
        return false;
    }
    memcpy(copy, key, length);
    grown[bounds->count++] = (struct bound){.key = copy, .bound = bound};
    return true;
}

bool bounds_read(struct bounds *bounds, const char *path, char message[BOUNDS_MESSAGE_BYTES])
{
    FILE *file = named_file_open(path, "r");
    char line[256];
    unsigned number = 0;
    bool is_fine = true;

    memset(bounds, 0, sizeof *bounds);
    if (!file) {
        snprintf(message, BOUNDS_MESSAGE_BYTES, "%s: cannot be read", path);
        return false;
    }
    while (is_fine && fgets(line, sizeof line, file)) {
        const char *tab = strchr(line, '\t');
        char *end = NULL;
        double bound = tab ? strtod(tab + 1, &end) : 0;

        number++;
        if (line[0] == '#' || line[0] == '\n')
            continue;
        is_fine = tab && tab > line && end != tab + 1 && *end == '\n' && bound > 0 &&
                  add(bounds, line, (size_t)(tab - line), bound);
    }
    fclose(file);
    if (!is_fine)
        snprintf(message, BOUNDS_MESSAGE_BYTES, "%s:%u: no bound (expected KEY, tab, number)", path,
                 number);
    return is_fine;
}

void bounds_free(struct bounds *bounds)
{
    for (unsigned i = 0; i < bounds->count; i++)
        free(bounds->list[i].key);
    free(bounds->list);
    memset(bounds, 0, sizeof *bounds);
}

static bool is_of(const struct bound *bound, const char *bench)
{
    const size_t length = strlen(bench);

    return strncmp(bound->key, bench, length) == 0 && bound->key[length] == '/';
}

bool bounds_have(const struct bounds *bounds, const char *bench)
{
    for (unsigned i = 0; i < bounds->count; i++) {
        if (is_of(&bounds->list[i], bench))
            return true;
    }
    return false;
}

void bounds_expect(struct bounds *bounds, const char *bench)
{
    for (unsigned i = 0; i < bounds->count; i++)
        bounds->list[i].is_due |= !bench || is_of(&bounds->list[i], bench);
}

static double bound_of(struct bounds *bounds, const char *key)
{
    for (unsigned i = 0; i < bounds->count; i++) {
        if (strcmp(bounds->list[i].key, key) == 0) {
            bounds->list[i].is_met = true;
            return bounds->list[i].bound;
        }
    }
    return 0;
}

bool bounds_judge(struct bounds *bounds, const char *key, double figure, double spread,
                  double *out_bound)
{
    double bound = *out_bound = bound_of(bounds, key);
    bool is_worse = bound > 0 && figure > bound * (1 + spread);

    bounds->judged += bound > 0;
    bounds->worse += is_worse;
    return is_worse;
}

void bounds_skip(struct bounds *bounds, const char *key)
{
    bounds->unsteady += bound_of(bounds, key) > 0;
}
