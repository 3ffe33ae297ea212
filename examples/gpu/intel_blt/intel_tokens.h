/*
 * Private data of Intel's user-mode drivers as their WSL back end sends it: a stream of tokens, of
 * words of 32 bits. The helper library that turns structures into tokens is the kernel side's own
 * choice; ours keeps them as they are, so that the miniport reads tokens.
 *
 * Format     A header has an identifier (bits 0 to 15), how many value words follow (16 to 23) and
 *            flags (24 to 31). With TOKEN_NESTED there follow the element's number, the length in
 *            bytes and in words, and tokens. Who does not know a token steps over it; words of 0
 *            are tokens of no length.
 * Source     The MIT-licensed sources of Intel's compute runtime, release 22.43.24595: names, and
 *            what was seen to be sent. No code of theirs is here.
 */
#ifndef EXAMPLES_INTEL_TOKENS_H
#define EXAMPLES_INTEL_TOKENS_H

#define TOKEN_NESTED       (1u << 28)
#define TOKEN_NESTED_WORDS 4u /* header included */

/* Structures. */
#define TOKEN_ADAPTER  1u
#define TOKEN_RESOURCE 7u
#define TOKEN_CONTEXT  33u
#define TOKEN_COMMANDS 48u

/* Of a resource: 3962, and in it ... */
#define TOKEN_RESOURCE_BODY   3962u
#define TOKEN_SURFACE         3951u
#define TOKEN_SIZE            3919u /* qword */
#define TOKEN_ALIGNMENTS      3914u
#define TOKEN_ALIGNMENT       3855u
#define TOKEN_FLAGS           3905u
#define TOKEN_INFO_FLAGS      3850u /* dwords, not 0: the flag is set */
#define TOKEN_CACHEABLE       3788u
#define TOKEN_EXISTING        3791u
#define TOKEN_LOCAL_ONLY      3800u
#define TOKEN_NOT_LOCKABLE    3806u
#define TOKEN_NON_LOCAL_ONLY  3807u
#define TOKEN_NEVER_DEMOTED   0xd0ccu /* none of Intel's: the bench's client wants nothing else */
#define TOKEN_EXISTING_MEMORY 3955u
#define TOKEN_EXISTING_SIZE   3948u

/* Of a submission. */
#define TOKEN_FENCE_ADDRESS 3730u /* qword: monitored fence of the context, GPU address ... */
#define TOKEN_FENCE_VALUE   3731u /* qword: ... that has this value when the batch has ended */

/*
 * Up to two words of the first token on this path: its value, if there is one. Looks at no word
 * beyond count, whatever the stream says. Lengths that go too far end the search.
 */
static inline int token_find(const unsigned *words, unsigned long long count,
                             const unsigned short *path, unsigned depth, unsigned long long *value)
{
    unsigned long long i = 0;

    while (i < count && depth) {
        const unsigned header = words[i], values = header >> 16 & 0xff;
        const int is_ours = (header & 0xffff) == *path;

        if (header & TOKEN_NESTED) {
            const unsigned long long room = count - i;
            unsigned long long length;

            if (room < TOKEN_NESTED_WORDS)
                return 0;
            length = words[i + 3];
            if (length > room - TOKEN_NESTED_WORDS)
                return 0;
            if (is_ours && depth > 1) {
                words += i + TOKEN_NESTED_WORDS;
                count = length;
                path++;
                depth--;
                i = 0;
                continue;
            }
            i += TOKEN_NESTED_WORDS + length;
            continue;
        }
        if (values >= count - i)
            return 0;
        if (is_ours && depth == 1 && values) {
            *value = words[i + 1];
            if (values > 1)
                *value |= (unsigned long long)words[i + 2] << 32;
            return 1;
        }
        i += 1 + values;
    }
    return 0;
}

#endif
