/*
 * Writes a story that no run told, packed, for those who work on the page:
 *
 *     story_synthetic EVENTS FILE [base64]        base64: as the page has it, else the deflated
 * bytes
 */
#include "story/test_synthetic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const struct story_pack_limits limits = {.base64_bytes = STORY_PACK_BASE64_BYTES};
    bool is_base64 = argc == 4 && strcmp(argv[3], "base64") == 0;
    struct story *story;
    unsigned char *bytes;
    char error[512], *text = NULL;
    size_t size, written;
    FILE *file;

    if (argc < 3 || argc > 4 || (argc == 4 && !is_base64)) {
        fprintf(stderr, "usage: story_synthetic EVENTS FILE [base64]\n");
        return 2;
    }
    story = synthetic_story(base_services_libc(), strtoul(argv[1], NULL, 10));
    if (!story || !story_pack(story, &limits, &bytes, &size, error)) {
        fprintf(stderr, "story_synthetic: %s\n", story ? error : "no memory");
        return 3;
    }
    for (unsigned i = 0; i < STORY_TABLE_COUNT; i++)
        printf("%-12s %9zu rows\n", story_tables[i].name, story_rows(story, (enum story_table)i));
    for (size_t i = 0; i < story_rows(story, STORY_FACTS); i++)
        printf("%s: %s\n", story_text_of(story, story_get(story, STORY_FACTS_KEY, i)),
               story_text_of(story, story_get(story, STORY_FACTS_VALUE, i)));
    printf("%zu bytes, %zu as base64\n", size, story_base64_size(size));
    file = fopen(argv[2], "wb");
    if (is_base64)
        text = story_base64(base_services_libc(), bytes, size);
    if (!file || (is_base64 && !text)) {
        perror(argv[2]);
        return 3;
    }
    written =
        is_base64 ? fwrite(text, 1, story_base64_size(size), file) : fwrite(bytes, 1, size, file);
    if (fclose(file) != 0 || written != (is_base64 ? story_base64_size(size) : size)) {
        perror(argv[2]);
        return 3;
    }
    if (text)
        base_free(base_services_libc(), text, story_base64_size(size) + 1);
    story_pack_free(story, bytes, size);
    story_destroy(story);
    return 0;
}
