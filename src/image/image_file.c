#include "image/image_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool image_file_map(const char *path, struct image_file *out, const char **out_error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is refused */
    struct stat state;
    void *bytes;

    *out = (struct image_file){0};
    *out_error = NULL;
    if (file < 0 || fstat(file, &state) != 0)
        *out_error = strerror(errno);
    else if (!S_ISREG(state.st_mode))
        *out_error = "not a file";
    else if (state.st_size <= 0)
        *out_error = "the file is empty";
    if (!*out_error) {
        bytes = mmap(NULL, (size_t)state.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes == MAP_FAILED)
            *out_error = strerror(errno);
        else
            *out = (struct image_file){bytes, (size_t)state.st_size};
    }
    if (file >= 0)
        close(file);
    return !*out_error;
}

void image_file_unmap(struct image_file *file)
{
    if (file->bytes)
        munmap((void *)(uintptr_t)file->bytes, file->size);
    *file = (struct image_file){0};
}
