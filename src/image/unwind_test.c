/*
 * Unwinding by data that is made for it: each code, each kind of epilog, chains, and what goes
 * wrong. The function under test begins at RVA_MADE; its stack is an array, seen at STACK.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "image/rig/test_image.h"
#include "image/unwind.h"

#include <string.h>

#define STACK UINT64_C(0x7000000)

enum {
    RVA_MADE = RVA_TEXT + 0x200,
    RVA_PART = RVA_TEXT + 0x300, /* a part of it that lies elsewhere, chained to it */
    RVA_OTHER = RVA_TEXT + 0x380,
    MADE_BYTES = 0x80,
    RVA_INFO = RVA_UNWIND + 0x40,
    RVA_PART_INFO = RVA_UNWIND + 0x80,
    RVA_OTHER_INFO = RVA_UNWIND + 0xc0,
    STACK_WORDS = 0x40000,
};

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

struct rig {
    struct test_image file;
    struct image *image;
    uint64_t stack[STACK_WORDS];
    uint64_t readable_bytes;
    struct image_context context;
    struct image_frame frame;
    struct image_error error;
};

static struct rig rig;

static uint64_t any_address(void *context, const struct image_import *import)
{
    return 0x123456789;
}

static bool read_stack(void *context, uint64_t address, void *out, size_t size)
{
    if (address < STACK || size > rig.readable_bytes || address - STACK > rig.readable_bytes - size)
        return false;
    memcpy(out, (const uint8_t *)rig.stack + (address - STACK), size);
    return true;
}

static int set_up(void **state)
{
    memset(&rig, 0, sizeof rig);
    test_image_build(&rig.file);
    test_image_put(&rig.file, AT_DIRECTORIES + 8 * 3 + 4, 4, 36);
    for (unsigned i = 0; i < 3; i++) {
        uint32_t begin =
            RVA_MADE + (RVA_PART - RVA_MADE) * (i > 0) + (RVA_OTHER - RVA_PART) * (i > 1);

        test_image_put_rva(&rig.file, RVA_FUNCTIONS + 12 * i, 4, begin);
        test_image_put_rva(&rig.file, RVA_FUNCTIONS + 12 * i + 4, 4,
                           begin + (i ? 0x40 : MADE_BYTES));
        test_image_put_rva(&rig.file, RVA_FUNCTIONS + 12 * i + 8, 4, RVA_INFO + 0x40 * i);
        test_image_put_rva(&rig.file, RVA_INFO + 0x40 * i, 4, 1);
    }
    for (uint64_t i = 0; i < STACK_WORDS; i++)
        rig.stack[i] = 0x5000000000 + i; /* each word says where it was */
    rig.readable_bytes = sizeof rig.stack;
    rig.context.general[RSP] = STACK;
    for (unsigned i = 0; i < 16; i++)
        if (i != RSP)
            rig.context.general[i] = 0x9000 + i;
    return 0;
}

static int tear_down(void **state)
{
    image_close(rig.image);
    return 0;
}

/* Bytes of unwind information. */
#define INFO(rva, ...)                                                                             \
    memcpy(rig.file.bytes + test_image_at(rva), (const uint8_t[]){__VA_ARGS__},                    \
           sizeof((const uint8_t[]){__VA_ARGS__}))

static void load(void)
{
    struct image_load_options options = {any_address, NULL, 0x1234};

    image_close(rig.image);
    if (!image_open(base_services_libc(), rig.file.bytes, sizeof rig.file.bytes, &rig.image,
                    &rig.error) ||
        !image_load(rig.image, &options, &rig.error))
        fail_msg("%s", rig.error.text);
}

static bool try_step(uint32_t rva)
{
    struct image_memory memory = {read_stack, NULL};

    if (!rig.image)
        load();
    rig.context.rip = image_base(rig.image) + rva;
    return image_unwind_step(rig.image, &rig.context, &memory, &rig.frame, &rig.error);
}

static void step(uint32_t rva, enum image_frame_place place)
{
    if (!try_step(rva))
        fail_msg("%s", rig.error.text);
    assert_int_equal(rig.frame.place, place);
}

/* A value that was read at an offset of the stack. */
#define WORD_AT(offset) (UINT64_C(0x5000000000) + (offset) / 8)

/* The return address was at an offset of the stack. */
static void assert_returned(uint64_t offset)
{
    assert_int_equal(rig.context.rip, WORD_AT(offset));
    assert_int_equal(rig.context.general[RSP], STACK + offset + 8);
}

/* ---- Codes ----------------------------------------------------------------------------------- */

static void a_leaf_returns_by_its_stack(void **state)
{
    step(RVA_SQUARE, IMAGE_IN_LEAF);
    assert_returned(0);
    assert_int_equal(rig.frame.function.begin_rva, 0);
    assert_int_equal(rig.frame.establisher, STACK);
}

static void pushes_and_small_allocations_are_undone(void **state)
{
    /* push r14 (2 bytes); push rbx; sub rsp, 32 */
    INFO(RVA_INFO, 1, 7, 3, 0, 7, 0x32, 3, 0x30, 2, 0xe0);
    step(RVA_MADE + 16, IMAGE_IN_BODY);
    assert_int_equal(rig.context.general[RBX], WORD_AT(32));
    assert_int_equal(rig.context.general[R14], WORD_AT(40));
    assert_int_equal(rig.context.general[RSI], 0x9000 + RSI);
    assert_returned(48);
    assert_int_equal(rig.frame.establisher, STACK);
    assert_int_equal(rig.frame.function.begin_rva, RVA_MADE);
}

static void a_prolog_is_undone_as_far_as_it_came(void **state)
{
    static const struct {
        uint32_t at;
        uint64_t returned;
    } places[] = {{0, 0}, {1, 0}, {2, 8}, {3, 16}, {6, 16}, {7, 48}};

    INFO(RVA_INFO, 1, 8, 3, 0, 7, 0x32, 3, 0x30, 2, 0xe0);
    for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
        rig.context.general[RSP] = STACK;
        step(RVA_MADE + places[i].at, IMAGE_IN_PROLOG);
        assert_returned(places[i].returned);
    }
}

static void large_allocations_are_undone(void **state)
{
    INFO(RVA_INFO, 1, 7, 2, 0, 7, 0x01, 0x34, 0x12); /* 0x1234 * 8 */
    step(RVA_MADE + 16, IMAGE_IN_BODY);
    assert_returned(0x1234 * 8);
    INFO(RVA_INFO, 1, 7, 3, 0, 7, 0x11, 0x08, 0x00, 0x10, 0x00); /* 0x100008 */
    load();
    rig.context.general[RSP] = STACK;
    step(RVA_MADE + 16, IMAGE_IN_BODY);
    assert_returned(0x100008);
}

static void saved_registers_are_read(void **state)
{
    /* sub rsp, 128; mov [rsp + 64], rsi; mov [rsp + 0x10020], r15 */
    INFO(RVA_INFO, 1, 20, 6, 0, 20, 0xf5, 0x20, 0, 1, 0, 12, 0x64, 8, 0, 4, 0xf2);
    step(RVA_MADE + 24, IMAGE_IN_BODY);
    assert_int_equal(rig.context.general[R15], WORD_AT(0x10020));
    assert_int_equal(rig.context.general[RSI], WORD_AT(64));
    assert_returned(128);
}

static void saved_vectors_are_read(void **state)
{
    /* sub rsp, 128; movaps [rsp + 96], xmm6; movaps [rsp + 0x20010], xmm15 */
    INFO(RVA_INFO, 1, 20, 6, 0, 20, 0xf9, 0x10, 0, 2, 0, 12, 0x68, 6, 0, 4, 0xf2);
    step(RVA_MADE + 24, IMAGE_IN_BODY);
    assert_int_equal(rig.context.vector[6].low, WORD_AT(96));
    assert_int_equal(rig.context.vector[6].high, WORD_AT(104));
    assert_int_equal(rig.context.vector[15].low, WORD_AT(0x20010));
    assert_int_equal(rig.context.vector[7].low, 0);
    assert_returned(128);
}

static void a_frame_register_says_where_the_frame_is(void **state)
{
    /* push rbp; sub rsp, 64; lea rbp, [rsp + 32]; mov [rbp + 16], rsi: offset 48 of the frame */
    INFO(RVA_INFO, 1, 14, 5, 0x25, 14, 0x64, 6, 0, 10, 0x03, 5, 0x72, 1, 0x50);
    rig.context.general[RBP] = STACK + 1000 + 32;
    step(RVA_MADE + 20, IMAGE_IN_BODY);
    assert_int_equal(rig.frame.establisher, STACK + 1000);
    assert_int_equal(rig.context.general[RSI], WORD_AT(1000 + 48));
    assert_int_equal(rig.context.general[RBP], WORD_AT(1000 + 64));
    assert_returned(1000 + 72);
    /* Before it is set, rsp counts. */
    rig.context.general[RSP] = STACK;
    step(RVA_MADE + 9, IMAGE_IN_PROLOG);
    assert_int_equal(rig.frame.establisher, STACK);
    assert_returned(72);
    /* And from then on in the prolog, the register. */
    rig.context.general[RSP] = STACK;
    rig.context.general[RBP] = STACK + 2000 + 32;
    step(RVA_MADE + 10, IMAGE_IN_PROLOG);
    assert_int_equal(rig.frame.establisher, STACK + 2000);
    assert_returned(2000 + 72);
}

static void machine_frames_give_rip_and_rsp(void **state)
{
    for (unsigned has_error_code = 0; has_error_code < 2; has_error_code++) {
        INFO(RVA_INFO, 1, 4, 2, 0, 4, 0x22, 0, (uint8_t)(0x0a | has_error_code << 4));
        load();
        rig.context.general[RSP] = STACK;
        rig.stack[3 + has_error_code] = WORD_AT((3 + has_error_code) * 8);
        step(RVA_MADE + 8, IMAGE_IN_BODY);
        assert_true(rig.frame.is_machine_frame);
        assert_int_equal(rig.context.rip, WORD_AT(24 + 8 * has_error_code));
        assert_int_equal(rig.context.general[RSP], WORD_AT(48 + 8 * has_error_code));
    }
}

/* ---- Chains and handlers --------------------------------------------------------------------- */

/* The function pushes rbx and allocates 48 bytes; its part saves rsi at 40. */
static void make_chain(uint8_t flags)
{
    INFO(RVA_INFO, (uint8_t)(1 | flags << 3), 5, 2, 0, 5, 0x52, 1, 0x30);
    test_image_put_rva(&rig.file, RVA_INFO + 8, 4, RVA_SQUARE);
    INFO(RVA_PART_INFO, 0x21, 5, 2, 0, 5, 0x64, 5, 0);
    test_image_put_rva(&rig.file, RVA_PART_INFO + 8, 4, RVA_MADE);
    test_image_put_rva(&rig.file, RVA_PART_INFO + 12, 4, RVA_MADE + MADE_BYTES);
    test_image_put_rva(&rig.file, RVA_PART_INFO + 16, 4, RVA_INFO);
}

static void a_chain_is_followed(void **state)
{
    make_chain(0);
    step(RVA_PART + 5, IMAGE_IN_BODY);
    assert_int_equal(rig.context.general[RSI], WORD_AT(40));
    assert_int_equal(rig.context.general[RBX], WORD_AT(48));
    assert_returned(56);
    assert_int_equal(rig.frame.function.begin_rva, RVA_PART);
    /* In the prolog of the part nothing is saved there yet, but all of the function is done. */
    rig.context.general[RSP] = STACK;
    rig.context.general[RSI] = 77;
    step(RVA_PART + 4, IMAGE_IN_PROLOG);
    assert_int_equal(rig.context.general[RSI], 77);
    assert_returned(56);
}

static void handlers_count_in_the_body_only(void **state)
{
    make_chain(1);
    test_image_put_rva(&rig.file, RVA_MADE + 0x20, 1, 0xc3);
    step(RVA_MADE + 16, IMAGE_IN_BODY);
    assert_int_equal(rig.frame.handler_rva, RVA_SQUARE);
    assert_int_equal(rig.frame.handler_data_rva, RVA_INFO + 12);
    assert_true(rig.frame.handles_exceptions);
    assert_false(rig.frame.handles_unwinding);
    rig.context.general[RSP] = STACK;
    step(RVA_MADE + 4, IMAGE_IN_PROLOG);
    assert_int_equal(rig.frame.handler_rva, 0);
    rig.context.general[RSP] = STACK;
    step(RVA_MADE + 0x20, IMAGE_IN_EPILOG);
    assert_int_equal(rig.frame.handler_rva, 0);
    rig.context.general[RSP] = STACK;
    step(RVA_PART + 16, IMAGE_IN_BODY);
    assert_int_equal(rig.frame.handler_rva, RVA_SQUARE);
}

/* ---- Epilogs --------------------------------------------------------------------------------- */

struct epilog_case {
    const char *code;
    unsigned bytes;
    bool is_epilog;
    uint64_t returned; /* offset of the return address, when it is one */
    unsigned dropped;
};

#define EPILOG(code, returned, dropped)                                                            \
    {                                                                                              \
        code, sizeof(code) - 1, true, returned, dropped                                            \
    }
#define BODY(code)                                                                                 \
    {                                                                                              \
        code, sizeof(code) - 1, false, 0, 0                                                        \
    }

/* Rsp is STACK; the frame register of the function is STACK + 400. */
static void play_epilogs(const struct epilog_case *cases, size_t count, unsigned frame_register)
{
    /* Allocates 4000 bytes, so that an epilog and the body differ. */
    INFO(RVA_INFO, 1, 8, 3, (uint8_t)frame_register, 8, frame_register ? 0x03 : 0x02, 7, 0x01, 244,
         1);
    for (size_t i = 0; i < count; i++) {
        uint32_t at = RVA_MADE + MADE_BYTES / 2;

        memset(rig.file.bytes + test_image_at(RVA_MADE), 0xcc, MADE_BYTES);
        memcpy(rig.file.bytes + test_image_at(at), cases[i].code, cases[i].bytes);
        load();
        rig.context.general[RSP] = STACK;
        rig.context.general[frame_register ? frame_register : RAX] = STACK + 400;
        step(at, cases[i].is_epilog ? IMAGE_IN_EPILOG : IMAGE_IN_BODY);
        if (!cases[i].is_epilog)
            continue;
        assert_int_equal(rig.context.rip, WORD_AT(cases[i].returned));
        assert_int_equal(rig.context.general[RSP],
                         STACK + cases[i].returned + 8 + cases[i].dropped);
    }
}

static void epilogs_are_known_by_their_instructions(void **state)
{
    static const struct epilog_case cases[] = {
        EPILOG("\xc3", 0, 0),
        EPILOG("\xf3\xc3", 0, 0),
        EPILOG("\xc2\x10\x00", 0, 16),
        EPILOG("\x5b\xc3", 8, 0), /* pop rbx */
        EPILOG("\x41\x5f\x41\x5e\x5d\x5f\x5e\x5b\xc3", 48, 0),
        EPILOG("\x48\x83\xc4\x28\xc3", 40, 0), /* add rsp, 40 */
        EPILOG("\x48\x81\xc4\x00\x10\x00\x00\x5b\xc3", 4104, 0),
        EPILOG("\x48\x83\xc4\x28\xe9\x00\x10\x00\x00", 40, 0), /* jmp elsewhere */
        EPILOG("\xeb\xbe", 0, 0),                              /* jmp to the beginning */
        EPILOG("\xe9\xbb\xff\xff\xff", 0, 0),
        EPILOG("\x5b\xff\x25\x00\x10\x00\x00", 8, 0), /* jmp [rip + n] */
        EPILOG("\x5b\x48\xff\x25\x00\x10\x00\x00", 8, 0),
        EPILOG("\x5b\xff\x20", 8, 0),     /* jmp [rax] */
        EPILOG("\x5b\x48\xff\xe0", 8, 0), /* rex.w jmp rax */
        EPILOG("\x5b\x49\xff\xe3", 8, 0), /* rex.w jmp r11 */
        BODY("\x5b\xff\xe0"),             /* jmp rax: a table of cases */
        BODY("\x5b\x41\xff\xe3"),
        BODY("\x5b\xff\x60\x08"), /* jmp [rax + 8] */
        BODY("\xff\xd0\xc3"),     /* call rax */
        BODY("\xeb\x10"),         /* jmp within the function */
        BODY("\xe9\xe0\xff\xff\xff"),
        BODY("\x90\xc3"),
        BODY("\x5c\xc3"),                             /* pop rsp */
        BODY("\x48\x83\xc4\x28\x48\x83\xc4\x28\xc3"), /* two adds */
        BODY("\x5b\x48\x83\xc4\x28\xc3"),             /* pop before add */
        BODY("\x48\x8d\x64\x24\x28\xc3"),             /* lea rsp, [rsp + 40] */
        BODY("\x48\x8d\x65\x28\xc3"),                 /* no frame register here */
        BODY("\x48\x83\xec\x28\xc3"),                 /* sub rsp, 40 */
        BODY("\x89\xc8\xc3"),
        BODY("\xcc"),
    };

    play_epilogs(cases, ARRAY_COUNT(cases), 0);
}

static void epilogs_release_by_the_frame_register(void **state)
{
    static const struct epilog_case rbp_cases[] = {
        EPILOG("\x48\x8d\x65\x28\x5d\xc3", 448, 0), /* lea rsp, [rbp + 40] */
        EPILOG("\x48\x8d\x65\x00\x5d\xc3", 408, 0),
        EPILOG("\x48\x8d\x65\xf8\x5d\xc3", 400, 0),         /* lea rsp, [rbp - 8] */
        EPILOG("\x48\x8d\xa5\x00\x01\x00\x00\xc3", 656, 0), /* lea rsp, [rbp + 256] */
        BODY("\x48\x8d\x63\x28\xc3"),                       /* lea rsp, [rbx + 40] */
        BODY("\x8d\x65\x28\xc3"),                           /* lea esp, [rbp + 40] */
        BODY("\x48\x8d\x6d\x28\xc3"),                       /* lea rbp, [rbp + 40] */
    };
    static const struct epilog_case r12_cases[] = {
        EPILOG("\x49\x8d\x64\x24\x28\xc3", 440, 0), /* lea rsp, [r12 + 40] */
        EPILOG("\x49\x8d\xa4\x24\x00\x01\x00\x00\xc3", 656, 0),
        BODY("\x48\x8d\x64\x24\x28\xc3"), /* lea rsp, [rsp + 40] */
        BODY("\x49\x8d\x64\x0c\x28\xc3"), /* lea rsp, [r12 + rcx + 40] */
    };
    static const struct epilog_case r13_cases[] = {
        EPILOG("\x49\x8d\x65\x28\xc3", 440, 0), /* lea rsp, [r13 + 40] */
        BODY("\x48\x8d\x65\x28\xc3"),
    };

    play_epilogs(rbp_cases, ARRAY_COUNT(rbp_cases), RBP);
    play_epilogs(r12_cases, ARRAY_COUNT(r12_cases), R12);
    play_epilogs(r13_cases, ARRAY_COUNT(r13_cases), R13);
}

static void an_epilog_that_the_end_of_the_function_cuts_is_none(void **state)
{
    static const char code[] = "\x48\x83\xc4\x28\x5b\xe9\x00\x10\x00\x00";

    INFO(RVA_INFO, 1, 8, 2, 0, 7, 0x01, 244, 1);
    for (unsigned bytes = 1; bytes < sizeof code; bytes++) {
        bool is_whole = bytes == sizeof code - 1;

        memcpy(rig.file.bytes + test_image_at(RVA_MADE + 0x20), code, sizeof code - 1);
        test_image_put_rva(&rig.file, RVA_FUNCTIONS + 4, 4, RVA_MADE + 0x20 + bytes);
        load();
        rig.context.general[RSP] = STACK;
        step(RVA_MADE + 0x20, is_whole ? IMAGE_IN_EPILOG : IMAGE_IN_BODY);
    }
}

static void a_jump_between_parts_of_a_function_is_no_epilog(void **state)
{
    uint32_t at = RVA_MADE + 0x20;

    make_chain(0);
    test_image_put_rva(&rig.file, at, 1, 0xe9);
    test_image_put_rva(&rig.file, at + 1, 4, RVA_PART + 8 - (at + 5));
    step(at, IMAGE_IN_BODY);
    test_image_put_rva(&rig.file, at + 1, 4, RVA_OTHER + 8 - (at + 5));
    load();
    rig.context.general[RSP] = STACK;
    step(at, IMAGE_IN_EPILOG);
}

/* ---- Version 2 ------------------------------------------------------------------------------- */

static void version_2_says_where_epilogs_are(void **state)
{
    static const struct {
        uint32_t before_end;
        bool is_epilog;
    } places[] = {{2, true},    {1, true},     {3, false},   {0x32, true},
                  {0x31, true}, {0x30, false}, {0x33, false}};

    /* Two bytes each, one at the end, one 0x32 before it, one padding; push rbx */
    INFO(RVA_INFO, 2, 1, 4, 0, 2, 0x16, 0x32, 0x06, 0, 0x06, 1, 0x30);
    memset(rig.file.bytes + test_image_at(RVA_MADE), 0x5b, MADE_BYTES);
    for (uint32_t i = 0; i < MADE_BYTES; i += 2)
        test_image_put_rva(&rig.file, RVA_MADE + i + 1, 1, 0xc3); /* pop rbx; ret everywhere */
    for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
        rig.context.general[RSP] = STACK;
        step(RVA_MADE + MADE_BYTES - places[i].before_end,
             places[i].is_epilog ? IMAGE_IN_EPILOG : IMAGE_IN_BODY);
        if (places[i].before_end & 1 && places[i].is_epilog)
            assert_returned(0);
        else
            assert_returned(8);
    }
}

static void version_2_without_one_at_the_end_has_none_there(void **state)
{
    INFO(RVA_INFO, 2, 1, 3, 0, 2, 0x06, 0x32, 0x06, 1, 0x30);
    test_image_put_rva(&rig.file, RVA_MADE + MADE_BYTES - 1, 1, 0xc3);
    step(RVA_MADE + MADE_BYTES - 1, IMAGE_IN_BODY);
}

static void a_marked_epilog_that_is_none_is_refused(void **state)
{
    INFO(RVA_INFO, 2, 1, 2, 0, 2, 0x16, 1, 0x30);
    test_image_put_rva(&rig.file, RVA_MADE + MADE_BYTES - 2, 2, 0xccf4);
    assert_false(try_step(RVA_MADE + MADE_BYTES - 2));
    assert_non_null(strstr(rig.error.text, "what it says is an epilog"));
}

/* ---- What goes wrong ------------------------------------------------------------------------- */

static void a_stack_that_ends_leaves_the_context_as_it_was(void **state)
{
    struct image_context before;
    struct image_memory memory = {read_stack, NULL};

    INFO(RVA_INFO, 1, 7, 3, 0, 7, 0x32, 3, 0x30, 2, 0xe0);
    load();
    rig.context.rip = image_base(rig.image) + RVA_MADE + 16;
    before = rig.context;
    for (rig.readable_bytes = 0; rig.readable_bytes < 56; rig.readable_bytes++) {
        assert_false(image_unwind_step(rig.image, &rig.context, &memory, &rig.frame, &rig.error));
        assert_non_null(strstr(rig.error.text, "stack: no 8 bytes at 0x70000"));
        assert_memory_equal(&rig.context, &before, sizeof before);
        assert_int_equal(rig.frame.function.begin_rva, 0);
        assert_false(image_unwind_step(rig.image, &rig.context, &memory, &rig.frame, NULL));
    }
    assert_true(image_unwind_step(rig.image, &rig.context, &memory, &rig.frame, &rig.error));
}

static void a_place_outside_of_the_image_is_refused(void **state)
{
    assert_false(try_step(TEST_IMAGE_BYTES));
    assert_non_null(strstr(rig.error.text, "does not lie in the image"));
    image_unload(rig.image);
    assert_false(try_step(RVA_MADE));
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_leaf_returns_by_its_stack),
        TEST(pushes_and_small_allocations_are_undone),
        TEST(a_prolog_is_undone_as_far_as_it_came),
        TEST(large_allocations_are_undone),
        TEST(saved_registers_are_read),
        TEST(saved_vectors_are_read),
        TEST(a_frame_register_says_where_the_frame_is),
        TEST(machine_frames_give_rip_and_rsp),
        TEST(a_chain_is_followed),
        TEST(handlers_count_in_the_body_only),
        TEST(epilogs_are_known_by_their_instructions),
        TEST(epilogs_release_by_the_frame_register),
        TEST(an_epilog_that_the_end_of_the_function_cuts_is_none),
        TEST(a_jump_between_parts_of_a_function_is_no_epilog),
        TEST(version_2_says_where_epilogs_are),
        TEST(version_2_without_one_at_the_end_has_none_there),
        TEST(a_marked_epilog_that_is_none_is_refused),
        TEST(a_stack_that_ends_leaves_the_context_as_it_was),
        TEST(a_place_outside_of_the_image_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
