/*
 * Plays the files of folders through a fuzz target, without a fuzzer: each of them once, and once
 * cut in half. A target that is not content aborts. A folder without files is an error: nothing was
 * tested.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In a block of exactly its size, so that sanitizers see each byte too many. */
static void play_bytes(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int play_file(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (!file) {
        perror(path);
        return 0;
    }
    size = fread(data, 1, sizeof data, file);
    fclose(file);
    play_bytes(data, size);
    play_bytes(data, size / 2);
    return 1;
}

static int play_folder(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    unsigned count = 0;
    char name[1024];

    if (!folder) {
        perror(path);
        return 0;
    }
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (!play_file(name))
            break;
        count++;
    }
    closedir(folder);
    printf("%s: %u files\n", path, count);
    return count != 0 && !entry;
}

int main(int count, char **arguments)
{
    int is_fine = count > 1;

    for (int i = 1; i < count; i++)
        is_fine &= play_folder(arguments[i]);
    return is_fine ? 0 : 1;
}
