/*
 * Image file: a driver's file, as bytes to be read.
 *
 * Place      image. Uses the C library and the system only.
 * Ownership  image_file_map() gives the bytes until image_file_unmap().
 * Errors     False and a few words, without the file's name.
 */
#ifndef DRYDOCK_IMAGE_IMAGE_FILE_H
#define DRYDOCK_IMAGE_IMAGE_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct image_file {
    const void *bytes; /* NULL: none */
    size_t size;
};

bool image_file_map(const char *path, struct image_file *out, const char **out_error);
/* One that has none is fine. */
void image_file_unmap(struct image_file *file);

#endif
