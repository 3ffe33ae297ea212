/*
 * The case format: what is read, what is refused and with which words, and that writing a
 * workload and reading it again changes nothing.
 */
#include "workload/case/options.h"
#include "workload/case/template.h"
#include "workload/workload.h"
#include "workload/file.h"
#include "workload/generate/generate.h"
#include "workload/build/builder_private.h"

#include "base/bits.h"
#include "base/rng.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct workload *parse(const char *text)
{
    struct workload_error error;
    struct workload *workload;

    if (!workload_parse(text, strlen(text), "t.case", &workload, &error))
        fail_msg("%s", error.text);
    return workload;
}

static void check_round_trip(const struct workload *workload)
{
    struct workload_error error;
    struct workload *again;
    char *text;
    size_t size;

    assert_true(workload_print(workload, &text, &size, &error));
    if (!workload_parse(text, size, "again", &again, &error))
        fail_msg("%s", error.text);
    assert_true(workload_equal(workload, again));
    workload_free(again);
    free(text);
}

/* Every directive once, with every attribute. */
static const char everything[] =
    "drydock-case 1\n"
    "# a comment\n"
    "name \"all of it: \\\"quotes\\\" and \\\\\"   # behind a line\n"
    "option model gpummu\n"
    "option local-memory 256M\n"
    "option seed 0xffffffffffffffff\n"
    "\n"
    "process game\n"
    "process shell\n"
    "device d process=game\n"
    "device e process=shell\n"
    "context draw device=d node=0\n"
    "context copy device=e node=1\n"
    "step load\r\n"
    "alloc tex size=1M device=d align=64K priority=high segments=local,aperture "
    "flags=cpu-visible,shared va=0x100000000\n"
    "alloc buf size=0x1001 device=e priority=0x123\n"
    "\talloc late size=3 flags=nomap\n"
    "write tex offset=4K size=100 key=7\n"
    "write tex\n"
    "read tex offset=4096 size=4K\n"
    "submit draw duration=1000 tex:r tex@0+4K:w tex@4096+1:rw=0x99 late:w=5\n"
    "submit copy tex:r\n"
    "submit draw\n"
    "wait draw\n"
    "wait all\n"
    "resident device=e tex buf\n"
    "evict tex late\n"
    "step \"two words\"\n"
    "map late va=auto\n"
    "map tex va=0x200000000 offset=64K size=128K protect=ro,nx\n"
    "unmap tex va=0x200000000\n"
    "unmap late\n"
    "tile draw map pool=tex va=0x300000000 page=16 pages=32\n"
    "tile draw copy from=0x300000000 to=0x300100000 pages=32\n"
    "tile draw unmap va=0x300010000 pages=16\n"
    "pte shell map va=0x600000000000 segment=local-invisible page=0x10 pages=16 "
    "page-size=64K protect=ro\n"
    "pte shell unmap va=0x1000 pages=2\n"
    "escape draw \"size:u32 1:u8*3\"\n"
    "escape copy by=adapter hardware=yes expect=failure \"0x10:u64\"\n"
    "vm-reserve game va=0x700000000000 size=1G\n"
    "vm-release game va=0x700000000000 size=1G\n"
    "note \"\"\n"
    "note \"a note\"\n"
    "label game va=0x700000000010 size=33 \"image 7\"\n"
    "free tex\n"
    "alloc tex size=2G\n"
    "fence 3 create process=shell value=0x10\n"
    "submit copy signal=3 value=17\n"
    "submit draw null=yes tex:w\n"
    "submit draw present=1 tex@0+4K:w=5\n"
    "write tex offset=0x1000 size=64K discard=yes\n"
    "fence 3 expect value=17\n"
    "pack-fences\n"
    "fence 3 destroy\n"
    "alloc common size=64K flags=shared device=d\n"
    "resident device=e ask=can-trim common\n"
    "resident device=d ask=must-succeed common\n"
    "wait-paging draw by=gpu\n"
    "wait-paging copy\n"
    "close common device=e\n"
    "submit draw common:w\n";

static void every_directive_is_read_and_written(void **state)
{
    struct workload *w = parse(everything);

    (void)state;
    assert_string_equal(w->name, "all of it: \"quotes\" and \\");
    assert_int_equal(w->option_count, 3);
    assert_int_equal(workload_option_number(w, "local-memory", 0), 256 * MiB);
    assert_true(workload_option_number(w, "seed", 0) == UINT64_MAX);
    assert_string_equal(workload_option(w, "model"), "gpummu");
    assert_null(workload_option(w, "wddm"));
    assert_int_equal(w->process_count, 2);
    assert_int_equal(w->device_count, 2);
    assert_int_equal(w->context_count, 2);
    assert_int_equal(w->contexts[1].node, 1);
    assert_int_equal(w->allocation_count, 5);

    const struct workload_allocation *tex = &w->allocations[0];
    assert_int_equal(tex->size, MiB);
    assert_int_equal(tex->align, 64 * KiB);
    assert_int_equal(tex->priority, WORKLOAD_PRIORITY_HIGH);
    assert_int_equal(tex->flags, WORKLOAD_ALLOCATION_CPU_VISIBLE | WORKLOAD_ALLOCATION_SHARED);
    assert_int_equal(tex->segment_count, 2);
    assert_int_equal(tex->segments[1], WORKLOAD_SEGMENT_APERTURE);
    assert_int_equal(tex->va, 0x100000000);
    assert_int_equal(w->ops[tex->free_op].kind, WORKLOAD_OP_FREE);
    assert_int_equal(w->ops[tex->free_op].object, 0);
    assert_true(w->allocations[1].va == WORKLOAD_VA_AUTO);
    assert_int_equal(w->allocations[1].priority, 0x123);
    assert_int_equal(w->allocations[3].name, tex->name);
    assert_int_equal(w->allocations[3].free_op, WORKLOAD_NONE);

    const struct workload_op *write = &w->ops[4];
    assert_int_equal(write->kind, WORKLOAD_OP_WRITE);
    assert_int_equal(write->offset, 4096);
    assert_int_equal(write->size, 100);
    assert_int_equal(write->value, 7);
    assert_int_equal(write->line, 18);
    assert_int_equal(w->ops[5].size, MiB);

    const struct workload_op *submit = &w->ops[7];
    assert_int_equal(submit->kind, WORKLOAD_OP_SUBMIT);
    assert_int_equal(submit->value, 1000);
    assert_int_equal(submit->ref_count, 4);
    const struct workload_ref *refs = &w->refs[submit->first_ref];
    assert_int_equal(refs[0].access, WORKLOAD_ACCESS_READ);
    assert_int_equal(refs[0].size, MiB);
    assert_int_equal(refs[1].size, 4096);
    assert_int_equal(refs[2].offset, 4096);
    assert_int_equal(refs[2].key, 0x99);
    assert_int_equal(refs[2].access, WORKLOAD_ACCESS_READ | WORKLOAD_ACCESS_WRITE);

    const struct workload_op *tile = &w->ops[19];
    assert_int_equal(tile->kind, WORKLOAD_OP_TILE_MAP);
    assert_int_equal(tile->offset, 0x300000000);
    assert_int_equal(tile->value, 16);
    assert_int_equal(tile->size, 128 * KiB);
    assert_int_equal(w->refs[tile->first_ref].allocation, 0);
    assert_int_equal(tile[1].kind, WORKLOAD_OP_TILE_COPY);
    assert_int_equal(tile[1].value, 0x300000000);
    assert_int_equal(tile[1].offset, 0x300100000);
    assert_int_equal(tile[2].kind, WORKLOAD_OP_TILE_UNMAP);

    const struct workload_op *pte = &w->ops[22];
    assert_int_equal(pte->kind, WORKLOAD_OP_PTE_MAP);
    assert_int_equal(pte->segment, WORKLOAD_SEGMENT_LOCAL_INVISIBLE);
    assert_int_equal(pte->page_shift, 16);
    assert_int_equal(pte->flags, WORKLOAD_PROTECT_READ_ONLY);
    assert_int_equal(pte->value, 0x10);
    assert_int_equal(pte->size, 64 * KiB);
    check_round_trip(w);
    workload_free(w);
}

static void without_declarations_there_is_one_of_each(void **state)
{
    struct workload *w = parse("drydock-case 1\nalloc a size=1\nsubmit c0 a:w\n");

    (void)state;
    assert_int_equal(w->process_count, 1);
    assert_string_equal(workload_string(w, w->processes[0].name), "p0");
    assert_string_equal(workload_string(w, w->devices[0].name), "d0");
    assert_string_equal(workload_string(w, w->contexts[0].name), "c0");
    check_round_trip(w);
    workload_free(w);
    w = parse("drydock-case 1");
    assert_int_equal(w->op_count, 0);
    assert_int_equal(w->context_count, 1);
    check_round_trip(w);
    workload_free(w);
    w = parse("drydock-case 1\ndevice x process=p0\ncontext c1 device=x node=3\n");
    assert_int_equal(w->process_count, 1);
    assert_int_equal(w->contexts[0].node, 3);
    check_round_trip(w);
    workload_free(w);
    w = parse("drydock-case 1\ncontext c1 device=d0\n");
    assert_int_equal(w->device_count, 1);
    check_round_trip(w);
    workload_free(w);
}

static void the_last_line_needs_no_newline(void **state)
{
    struct workload *w = parse("drydock-case 1\n  # nothing\n\nalloc a size=4K # why\nfree a");

    (void)state;
    assert_int_equal(w->op_count, 2);
    assert_int_equal(w->ops[1].line, 5);
    workload_free(w);
}

/* Cases that differ in one thing only, each from the first one. */
static void no_difference_is_overlooked(void **state)
{
#define HEAD "drydock-case 1\n"
#define TAIL "alloc a size=8K\npte p0 map va=0x10000 segment=local page=16 pages=16\n"
    static const char *const texts[] = {
        HEAD TAIL "write a\nsubmit c0 a:w\n",
        HEAD "name \"x\"\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "option seed 1\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "option seed 2\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "process q\n",
        HEAD,
        HEAD "device p0\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "context c0 node=1\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "context c0\ncontext c1\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "context c0\ncontext c1\n" TAIL "write a\nsubmit c1 a:w\n",
        HEAD TAIL "write a size=1\nsubmit c0 a:w\n",
        HEAD TAIL "write a offset=1 size=1\nsubmit c0 a:w\n",
        HEAD TAIL "read a\nsubmit c0 a:w\n",
        HEAD TAIL "write a key=1\nsubmit c0 a:w\n",
        HEAD TAIL "write a\nsubmit c0 a:r\n",
        HEAD TAIL "write a\nsubmit c0 a@0+1:w\n",
        HEAD TAIL "write a\nsubmit c0 a@1+1:w\n",
        HEAD TAIL "write a\nsubmit c0 a:w=1\n",
        HEAD TAIL "write a\nsubmit c0 a:w a:w\n",
        HEAD TAIL "write a\nsubmit c0 duration=1 a:w\n",
        HEAD TAIL "write a\nsubmit c0 a:w\nwait all\n",
        HEAD TAIL "write a\nsubmit c0 a:w\nwait c0\n",
        HEAD TAIL "write a\nsubmit c0 a:w\nstep x\n",
        HEAD TAIL "write a\nsubmit c0 a:w\nstep y\n",
        HEAD TAIL "write a\nsubmit c0 a:w\nfree a\n",
        HEAD "alloc b size=8K\n" TAIL "write b\nsubmit c0 a:w\n",
        HEAD "alloc b size=8K\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "alloc b size=9K\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "alloc b size=8K align=4K\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "alloc b size=8K priority=low\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "alloc b size=8K flags=cached\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "alloc b size=8K segments=local\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "alloc b size=8K segments=system\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "alloc b size=8K va=4K\n" TAIL "write a\nsubmit c0 a:w\n",
        HEAD "alloc a size=8K\npte p0 map va=0x10000 segment=local page=16 pages=16 "
             "page-size=64K\n",
        HEAD "alloc a size=8K\npte p0 map va=0x10000 segment=local page=16 pages=16 protect=ro\n",
        HEAD "alloc a size=8K\npte p0 map va=0x10000 segment=system page=16 pages=16\n",
        HEAD "alloc a size=8K\npte p0 map va=0x10000 segment=local page=17 pages=16\n",
        HEAD TAIL,
    };
    struct workload *workloads[ARRAY_COUNT(texts)];

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        workloads[i] = parse(texts[i]);
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        for (size_t j = 0; j < ARRAY_COUNT(texts); j++) {
            if (workload_equal(workloads[i], workloads[j]) != (i == j))
                fail_msg("%s\nand\n%s", texts[i], texts[j]);
        }
        check_round_trip(workloads[i]);
    }
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        workload_free(workloads[i]);
#undef HEAD
#undef TAIL
}

/* The text behind "drydock-case 1\n", and the beginning of the message. */
static const struct {
    const char *text;
    const char *message;
} refused[] = {
    {"alloc a size=1\nbogus a\n", "t.case:3: unknown directive 'bogus' (expected alloc, free, "},
    {"free a\n", "t.case:2: unknown allocation 'a' (expected the name of an earlier alloc)"},
    {"alloc a size=1\nfree a\nwrite a\n", "t.case:4: a is already freed (expected a live"},
    {"alloc a size=1\nfree a\nfree a\n", "t.case:4: a is already freed (expected a live"},
    {"alloc a size=1\nalloc a size=1\n", "t.case:3: a is alive already (expected a new name"},
    {"alloc a size=4096\nread a offset=4096\n",
     "t.case:3: range of 0 bytes at 4096 is not inside a (expected it within 4096 bytes)"},
    {"alloc a size=4096\nwrite a offset=1 size=4K\n",
     "t.case:3: range of 4096 bytes at 1 is not inside a (expected it within 4096 bytes)"},
    {"alloc a size=4096\nsubmit c0 a@0xffffffffffffffff+2:r\n",
     "t.case:3: range of 2 bytes at 18446744073709551615 is not inside a"},
    {"alloc a size=4096\nwrite a size=0\n", "t.case:3: size is 0 (expected 1 byte or more)"},
    {"alloc a size=0\n", "t.case:2: size 0 of a (expected 1 to 1099511627776 bytes"},
    {"alloc a size=4K\nunlock a\n", "t.case:3: a is not locked (expected a lock before)"},
    {"alloc a size=4K\nlock a\nlock a\n", "t.case:4: a is locked (expected an unlock"},
    {"alloc a size=4K\nlock a\nunlock a\nunlock a\n", "t.case:5: a is not locked (expected a"},
    {"alloc a size=4K\nlock a\nsubmit c0 a:r\n", "t.case:4: a is locked (expected an unlock"},
    {"alloc a size=4K\nlock a\noffer priority=low a\n",
     "t.case:4: a is locked (expected an unlock"},
    {"alloc a size=4K\noffer priority=low a\nlock a\n", "t.case:4: a is offered (expected"},
    {"alloc a size=4K\nlock a\nmove a system\n", "t.case:4: a is locked (expected an unlock"},
    {"option model gpummu\nalloc a size=4K\nlock a\nresident a\n",
     "t.case:5: a is locked (expected an unlock"},
    {"alloc a size=4K\nfree a\nlock a\n", "t.case:4: a is already freed (expected a live"},
    {"lock b\n", "t.case:2: unknown allocation 'b' (expected the name of an earlier alloc)"},
    {"alloc a size=1025G\n", "t.case:2: size 1100585369600 of a (expected 1 to"},
    {"alloc a size=99999999999999999999\n",
     "t.case:2: size= is '99999999999999999999' (expected a number such as"},
    {"alloc a size=17179869184G\n", "t.case:2: size= is '17179869184G' (expected a number"},
    {"alloc a size=0x\n", "t.case:2: size= is '0x' (expected a number"},
    {"alloc a size=K\n", "t.case:2: size= is 'K' (expected a number"},
    {"alloc a size=\n", "t.case:2: size= is '' (expected a number"},
    {"alloc a size=-1\n", "t.case:2: size= is '-1' (expected a number"},
    {"alloc a size=4k\n", "t.case:2: size= is '4k' (expected a number"},
    {"alloc a\n", "t.case:2: size= is missing (expected: alloc NAME size=S"},
    {"alloc size=4\n", "t.case:2: too few words (expected: alloc NAME"},
    {"alloc a b size=4\n", "t.case:2: 'b' is too much (expected: alloc NAME"},
    {"alloc a size=4 size=5\n", "t.case:2: size= is given twice (expected once)"},
    {"alloc a size=4 colour=5\n", "t.case:2: alloc has no attribute 'colour' (expected: alloc"},
    {"free a=1\n", "t.case:2: free has no attribute 'a' (expected: free NAME)"},
    {"alloc 7a size=4\n", "t.case:2: '7a' is no name for an allocation (expected a letter"},
    {"alloc a@b size=4\n", "t.case:2: 'a@b' is no name for an allocation (expected"},
    {"alloc a234567890123456789012345678901234567890123456789012345678901234 size=4\n",
     "t.case:2: 'a234567890123456789012345678901234567890123456789012345678901234' is no name"},
    {"alloc a size=4 align=3\n", "t.case:2: alignment 3 of a (expected a power of two up to 1G)"},
    {"alloc a size=4 priority=urgent\n", "t.case:2: priority is 'urgent' (expected min, low,"},
    {"alloc a size=4 priority=0\n", "t.case:2: priority is '0' (expected min, low,"},
    {"alloc a size=4 flags=shiny\n", "t.case:2: unknown flag 'shiny' (expected flags of the"},
    {"alloc a size=4 flags=cached,cached\n", "t.case:2: flag cached is given twice (expected"},
    {"alloc a size=4 segments=moon\n", "t.case:2: unknown segment 'moon' (expected local,"},
    {"alloc a size=4 segments=local,local\n",
     "t.case:2: segments of a: number 2 is unknown or repeated (expected each of"},
    {"alloc a size=4 va=0\n", "t.case:2: va is 0 (expected a number from 4K)"},
    {"alloc a size=4 va=0x1001\n", "t.case:2: va 0x1001 and its 4096 bytes are not whole pages"},
    {"alloc a size=8K va=0xfffffffff000\n",
     "t.case:2: va range of 8192 bytes at 0xfffffffff000 (expected it not empty and below"},
    {"alloc a size=4 va=0x1000000000000\n", "t.case:2: va is '0x1000000000000' (expected a "},
    {"alloc a size=4 flags=nomap va=4K\n", "t.case:2: a has a va and the flag nomap (expected"},
    {"alloc a size=4 device=d9\n", "t.case:2: unknown device 'd9' (expected the name of"},
    {"alloc a size=1\noption seed 1\n", "t.case:3: option after the first operation (expected"},
    {"step x\nname \"y\"\n", "t.case:3: name after the first operation (expected"},
    {"wait all\nprocess p\n", "t.case:3: process after the first operation (expected"},
    {"wait all\ndevice p\n", "t.case:3: device after the first operation (expected"},
    {"wait all\ncontext p\n", "t.case:3: context after the first operation (expected"},
    {"name \"a\"\nname \"b\"\n", "t.case:3: a second name (expected one at most)"},
    {"name \"\"\n", "t.case:2: an empty name (expected: name \"TEXT\")"},
    {"name \"a\n", "t.case:2: the text does not end (expected \")"},
    {"name \"a\\n\"\n", "t.case:2: a backslash in a text (expected \\\" or \\\\)"},
    {"name \"a\" b\n", "t.case:2: something after the text (expected: name"},
    {"name \"\x01\"\n", "t.case:2: name has a control character (expected printable text)"},
    {"name a\n", "t.case:2: 'a' is too much (expected: name \"TEXT\")"},
    {"name\n", "t.case:2: too few words (expected: name \"TEXT\")"},
    {"option speed 1\n", "t.case:2: unknown option 'speed' (expected one of those"},
    {"option seed x\n", "t.case:2: option seed is 'x' (expected a number from 0 to"},
    {"option queue-depth 0\n", "t.case:2: option queue-depth is '0' (expected a number from 1 to"},
    {"option model magic\n", "t.case:2: option model is 'magic' (expected physical|gpummu|iommu)"},
    {"option model physical|gpummu\n", "t.case:2: option model is 'physical|gpummu' (expected"},
    {"option model phys\n", "t.case:2: option model is 'phys' (expected physical|gpummu|iommu)"},
    {"option seed 1\noption seed 2\n", "t.case:3: option seed is given twice (expected once)"},
    {"option seed\n", "t.case:2: too few words (expected: option KEY VALUE)"},
    {"process p\nprocess p\n", "t.case:3: process p is declared twice (expected a new name)"},
    {"device d process=q\n", "t.case:2: unknown process 'q' (expected the name of an earlier"},
    {"context c device=q\n", "t.case:2: unknown device 'q' (expected the name of an earlier"},
    {"pte p0 map va=4K segment=aperture page=0 pages=1\n",
     "t.case:2: a pte line cannot name pages of the aperture (expected local, local-invisible or "
     "system)"},
    {"context c node=4\n", "t.case:2: node 4 does not exist (expected below 4)"},
    {"context all\n", "t.case:2: 'all' is no name for a context (expected another"},
    {"submit c9\n", "t.case:2: unknown context 'c9' (expected the name of a context line, or c0)"},
    {"wait c9\n", "t.case:2: unknown context 'c9' (expected"},
    {"wait\n", "t.case:2: too few words (expected: wait CONTEXT"},
    {"submit\n", "t.case:2: too few words (expected: submit CONTEXT"},
    {"submit c0 a\n", "t.case:2: 'a' is no reference (expected NAME:r, NAME:w, NAME:rw or"},
    {"alloc a size=1\nsubmit c0 a:x\n", "t.case:3: 'a:x' is no reference (expected"},
    {"alloc a size=1\nsubmit c0 a@1:r\n", "t.case:3: 'a@1:r' is no reference (expected"},
    {"alloc a size=1\nsubmit c0 a@0+0:r\n", "t.case:3: 'a@0+0:r' is no reference (expected"},
    {"alloc a size=1\nsubmit c0 a:w=\n", "t.case:3: 'a:w=' is no reference (expected"},
    {"alloc a size=1\nsubmit c0 a:w=0\n", "t.case:3: 'a:w=0' is no reference (expected"},
    {"alloc a size=1\nsubmit c0 a:r=1\n", "t.case:3: a key on a read (expected it on w or rw"},
    {"alloc a size=1\nsubmit c0 b:r\n", "t.case:3: unknown allocation 'b' (expected"},
    {"alloc a size=1\nsubmit c0 a:r duration=1\n",
     "t.case:3: duration= after the first reference (expected: submit"},
    {"submit c0 duration=1000000000000001\n", "t.case:2: duration 1000000000000001 ns (expected"},
    {"device d0\ndevice d1\ncontext c device=d1\nalloc a size=1\nsubmit c a:r\n",
     "t.case:6: a belongs to device d0, not d1 (expected an allocation of that device or one"},
    {"device d0\ndevice d1\nalloc a size=1\nalloc b size=1 device=d1\nresident a b\n",
     "t.case:6: b belongs to device d1, not d0 (expected"},
    {"resident\n", "t.case:2: resident of nothing (expected: resident [device=D] [ask="},
    {"evict a\n", "t.case:2: unknown allocation 'a' (expected"},
    {"alloc a size=1\nevict a device=d0\n", "t.case:3: device= after the first reference"},
    {"step\n", "t.case:2: too few words (expected: step NAME"},
    {"step \"\"\n", "t.case:2: a step without a name (expected one)"},
    {"step a \"b\"\n", "t.case:2: a word and a text (expected: step NAME"},
    {"alloc a size=8K\nmap a\n", "t.case:3: va= is missing (expected: map NAME"},
    {"alloc a size=8K\nmap a va=x\n", "t.case:3: va is 'x' (expected a number below"},
    {"alloc a size=8K\nmap a va=auto offset=1\n",
     "t.case:3: range of 8191 bytes at 1 of a is not whole pages (expected"},
    {"alloc a size=8K\nmap a va=auto protect=rw\n",
     "t.case:3: protect has 'rw' (expected ro, nx or ro,nx)"},
    {"alloc a size=8K\nmap a va=auto protect=ro,ro\n", "t.case:3: protect has 'ro' (expected"},
    {"pte p0 map va=0 pages=1\n", "t.case:2: 'pte map' (expected: pte PROCESS map"},
    {"tile c0 map va=0 pages=16\n", "t.case:2: 'tile map' (expected: tile CONTEXT map"},
    {"fence 64 create\n", "t.case:2: fence 64 (expected 0 to 63)"},
    {"fence x create\n", "t.case:2: fence 'x' (expected a number)"},
    {"fence 1 move\n", "t.case:2: 'fence 1 move' (expected: fence N create"},
    {"fence 1 destroy\n", "t.case:2: fence 1 does not exist (expected one that was created)"},
    {"fence 1 create\nfence 1 create\n", "t.case:3: fence 1 exists already (expected another"},
    {"alloc a size=4K\nwrite a discard=maybe\n",
     "t.case:3: 'maybe' is not known here (expected no or yes)"},
    {"submit c0 null=maybe\n", "t.case:2: 'maybe' is not known here (expected no or yes)"},
    {"device d0\ndevice d1\nalloc a size=1\nclose a device=d1\n",
     "t.case:5: a belongs to device d0, not d1 (expected"},
    {"device d0\ndevice d1\nalloc a size=1 flags=shared\nclose a device=d0\n",
     "t.case:5: a belongs to device d0 (expected one that has opened it)"},
    {"device d0\ndevice d1\ncontext c device=d1\nalloc a size=1 flags=shared\n"
     "close a device=d1\nsubmit c a:r\n",
     "t.case:7: device d1 has closed a (expected no use of it there)"},
    {"alloc a size=1\nclose a\n", "t.case:3: device= is missing (expected: close NAME device=D)"},
    {"renew c0 with=all\n", "t.case:2: with is 'all' (expected context, device or process)"},
    {"alloc a size=1\nrenew c0 with=device\n",
     "t.case:3: a is alive (expected a free line in front)"},
    {"device d\nalloc a size=1 device=d\nrenew c0 with=process\n",
     "t.case:4: a is alive (expected a free line in front)"},
    {"process p\ndevice d process=p\ncontext c device=d\nalloc a size=1 flags=shared\n"
     "renew c with=process\n",
     "t.case:6: a is alive (expected a free line in front)"},
    {"fence 1 create\nrenew c0 with=process\n",
     "t.case:3: process p0 has pte, tile or fence lines (expected none"},
    {"wait-paging all\n", "t.case:2: unknown context 'all' (expected"},
    {"wait-paging c0 by=hand\n", "t.case:2: 'hand' is not known here (expected cpu or gpu)"},
    {"alloc a size=1\nresident ask=nicely a\n",
     "t.case:3: ask is 'nicely' (expected cant-trim, can-trim or must-succeed)"},
    {"fence destroy 1\n", "t.case:2: fence 'destroy' (expected a number)"},
    {"fence 1 create\nfence 1 destroy value=1\n",
     "t.case:3: fence destroy with an attribute of fence create (expected none)"},
    {"fence 1 create\nsubmit c0 signal=1 value=2 null=yes\n", "t.case:3: null= with signal="},
    {"submit c0 null=yes present=1\n", "t.case:2: present= with signal= or null="},
    {"submit c0 present=1\n", "t.case:2: what the present refers to (expected NAME:r NAME:w, or"},
    {"alloc s size=8K\nsubmit c0 present=1 s:r\n",
     "t.case:3: what the present refers to (expected NAME:r NAME:w, or"},
    {"alloc s size=8K\nsubmit c0 present=1 s@0+4K:r s@4K+4K:w\n",
     "t.case:3: what the present refers to (expected two allocations"},
    {"alloc s size=8K\nalloc d size=4K\nsubmit c0 present=1 s:r d:w\n",
     "t.case:4: what the present refers to (expected whole rows of 4 KiB"},
    {"alloc s size=6K\nalloc d size=6K\nsubmit c0 present=1 s:r d:w\n",
     "t.case:4: what the present refers to (expected whole rows of 4 KiB"},
    {"alloc s size=4K\nalloc d size=4K\nsubmit c0 present=1 s:r d:w=5\n",
     "t.case:4: what the present refers to (expected a color of 32 bits"},
    {"alloc d size=4K\nsubmit c0 present=1 d:w=0x100000000\n",
     "t.case:3: what the present refers to (expected a color of 32 bits"},
    {"alloc d size=8K\nsubmit c0 present=3 d:w=5\n",
     "t.case:3: what the present refers to (expected a row for each rectangle"},
    {"submit c0 signal=1\n", "t.case:2: signal= without value="},
    {"submit c0 signal=1 value=2\n", "t.case:2: fence 1 does not exist (expected"},
    {"pte p0 unmap va=0 pages=16\ntile c0 unmap va=0x10000 pages=16\n",
     "t.case:3: process p0 has pte and tile lines (expected one kind of them)"},
    {"tile c0 unmap va=0x10000 pages=16\npte p0 zero va=0 pages=16\n",
     "t.case:3: process p0 has pte and tile lines (expected one kind of them)"},
    {"tile c9 unmap va=0 pages=16\n", "t.case:2: unknown context 'c9' (expected"},
    {"tile c0 unmap va=0x10000 pages=1\n", "t.case:2: 1 pages (expected a multiple of 16)"},
    {"tile c0 copy from=0 to=64K pages=32\n", "t.case:2: a copy to a part of itself (expected"},
    {"alloc a size=64K\ntile c0 map pool=a va=0 page=0 pages=32\n",
     "t.case:3: 32 pages from page 0x0 of a (expected"},
    {"pte p0 flip va=0 pages=1\n", "t.case:2: 'pte flip' (expected: pte PROCESS map"},
    {"pte p0 map va=0 segment=local page=0\n", "t.case:2: pages= is missing (expected: pte"},
    {"pte p9 unmap va=0 pages=1\n", "t.case:2: unknown process 'p9' (expected"},
    {"pte p0 unmap va=0 pages=1 page=1\n",
     "t.case:2: pte unmap with an attribute of pte map (expected va= and pages= only)"},
    {"pte p0 map va=4K segment=local page=0 pages=16 page-size=64K\n",
     "t.case:2: va 0x1000 and its 65536 bytes are not whole pages (expected multiples of 65536)"},
    {"pte p0 map va=0 segment=local page=0 pages=16 page-size=3\n",
     "t.case:2: page-size is 3 (expected a power of two, 4K to 1G)"},
    {"pte p0 map va=0 segment=local page=0 pages=16 page-size=2K\n",
     "t.case:2: page size 2^11 (expected a power of two, 4K to 1G)"},
    {"pte p0 map va=0 segment=local page=0x10000000000 pages=1\n",
     "t.case:2: 1 pages from page 0x10000000000 (expected them below 0x10000000000)"},
    {"pte p0 unmap va=0 pages=0\n", "t.case:2: va range of 0 bytes at 0x0 (expected"},
    {"pte p0 unmap va=0 pages=0xffffffffffffffff\n",
     "t.case:2: 18446744073709551615 pages (expected at most 0x10000000000)"},
    {"vm-reserve p0 va=0 size=1\n", "t.case:2: va 0x0 and its 1 bytes are not whole pages"},
    {"vm-release p0 va=0\n", "t.case:2: size= is missing (expected: vm-release"},
    {"label p0 va=0 size=1\n", "t.case:2: too few words (expected: label"},
    {"note\n", "t.case:2: too few words (expected: note \"TEXT\")"},
    {"escape c0\n", "t.case:2: too few words (expected: escape CONTEXT"},
    {"escape c0 \"\"\n", "t.case:2: an escape without data (expected a template)"},
    {"escape c0 \"1:u33\"\n", "t.case:2: field '1:u33' of a template (expected "},
    {"escape c0 by=process \"1:u32\"\n",
     "t.case:2: by is 'process' (expected context, device or adapter)"},
    {"free \"a\"\n", "t.case:2: a text (expected: free NAME)"},
    {"free \x01\n", "t.case:2: a control character, 0x01 (expected text)"},
};

static void each_wrong_line_is_refused_by_name(void **state)
{
    char text[1024];

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++) {
        struct workload_error error = {""};
        struct workload *workload = (struct workload *)text;

        snprintf(text, sizeof text, "drydock-case 1\n%s", refused[i].text);
        if (workload_parse(text, strlen(text), "t.case", &workload, &error))
            fail_msg("accepted: %s", refused[i].text);
        assert_null(workload);
        if (strncmp(error.text, refused[i].message, strlen(refused[i].message)) != 0)
            fail_msg("%s\n  instead of  %s", error.text, refused[i].message);
        assert_non_null(strstr(error.text, "(expected"));
        assert_null(strchr(error.text, '\n'));
    }
}

static void assert_refused(const void *data, size_t size, const char *message)
{
    struct workload_error error = {""};
    struct workload *workload;

    assert_false(workload_parse(data, size, "t.case", &workload, &error));
    if (strncmp(error.text, message, strlen(message)) != 0)
        fail_msg("%s\n  instead of  %s", error.text, message);
}

static void what_a_line_leaves_out_is_zero_whatever_stood_above_it(void **state)
{
    struct workload *workload = parse("drydock-case 1\n"
                                      "process p\ndevice d process=p\ncontext c device=d\n"
                                      "alloc a size=64K\n"
                                      "hang 0 after=7\nhang 1\n"
                                      "fence 3 create process=p value=9\nfence 4 create process=p\n"
                                      "write a offset=4K size=8K key=5\nwrite a\n");
    unsigned hangs = 0, creates = 0, writes = 0;

    (void)state;
    for (uint32_t i = 0; i < workload->op_count; i++) {
        const struct workload_op *op = &workload->ops[i];

        if (op->kind == WORKLOAD_OP_HANG)
            assert_int_equal(op->value, hangs++ ? 0 : 7);
        else if (op->kind == WORKLOAD_OP_FENCE_CREATE)
            assert_int_equal(op->value, creates++ ? 0 : 9);
        else if (op->kind == WORKLOAD_OP_WRITE)
            assert_int_equal(op->offset, writes++ ? 0 : 4096);
    }
    assert_int_equal(hangs + creates + writes, 6);
    workload_free(workload);
}

static void an_option_may_be_a_long_set_of_words(void **state)
{
    static const char all[] =
        "probes,page-lists,pool,start,context-allocations,preemptions,late-dpcs";
    char text[WORKLOAD_MAX_OPTION_VALUE + 64];
    struct workload *workload;

    (void)state;
    snprintf(text, sizeof text, "drydock-case 1\noption faults %s\nalloc a size=1\n", all);
    workload = parse(text);
    assert_string_equal(workload_option(workload, "faults"), all);
    workload_free(workload);
    memset(text, 'x', sizeof text);
    memcpy(text, "drydock-case 1\noption driver ", 29);
    assert_refused(text, sizeof text, "t.case:2: an option's key or value is too long");
}

/* Which stand in quotes where they would be no word, however long they are. */
static void options_are_printed_as_they_were(void **state)
{
    static const char path[] = "./dry dock \xc3\xa4/#1 \"b\\.so";
    char words[600] = "id=A", text[1200];
    struct workload *workload, *again;
    struct workload_error error;
    size_t size;
    char *out;

    for (size_t used = 4; used < sizeof words - 20; used += 15)
        snprintf(words + used, sizeof words - used, ",value:N%05zu=1", used);
    snprintf(text, sizeof text, "drydock-case 1\noption surroundings %s\nalloc a size=1\n", words);
    workload = parse(text);
    assert_true(workload_set_option(workload, "gpu", path, &error));
    assert_true(workload_print(workload, &out, &size, &error));
    again = parse(out);
    assert_string_equal(workload_option(again, "gpu"), path);
    assert_string_equal(workload_option(again, "surroundings"), words);
    workload_free(again);
    workload_free(workload);
    free(out);
}

static void what_is_no_case_file_is_refused(void **state)
{
    char *line;

    (void)state;
    assert_refused("", 0, "t.case:1: the file is empty (expected 'drydock-case 1')");
    assert_refused("hello\n", 6, "t.case:1: this is no case file (expected the first line");
    assert_refused("\x7f"
                   "ELF\0\0\0",
                   7, "t.case:1: this is no case file (expected");
    assert_refused("drydock-case 2\n", 15, "t.case:1: version '2' of the format (expected");
    assert_refused("drydock-case one\n", 17, "t.case:1: version 'one' of the format (expected");
    assert_refused("drydock-case \n", 14, "t.case:1: this is no case file (expected");

    line = malloc(WORKLOAD_MAX_LINE + 32);
    assert_non_null(line);
    memset(line, 'x', WORKLOAD_MAX_LINE + 32);
    memcpy(line, "drydock-case 1\n", 15);
    assert_refused(line, WORKLOAD_MAX_LINE + 32, "t.case:2: the line is too long (expected at");
    free(line);
}

static void too_many_references_are_refused_and_the_most_survive(void **state)
{
    size_t room = 64 + (WORKLOAD_MAX_OP_REFS + 1) * 4, used;
    char *text = malloc(room);
    struct workload_error error;
    struct workload *workload;

    (void)state;
    assert_non_null(text);
    used = (size_t)snprintf(text, room, "drydock-case 1\nalloc a size=1\nsubmit c0");
    for (unsigned i = 0; i < WORKLOAD_MAX_OP_REFS; i++, used += 4)
        memcpy(text + used, " a:r", 4);
    if (!workload_parse(text, used, "t.case", &workload, &error))
        fail_msg("%s", error.text);
    assert_int_equal(workload->ref_count, WORKLOAD_MAX_OP_REFS);
    check_round_trip(workload);
    workload_free(workload);
    free(text);

    room += 8;
    text = malloc(room);
    assert_non_null(text);
    used = (size_t)snprintf(text, room, "drydock-case 1\nalloc a size=1\nsubmit c0");
    for (unsigned i = 0; i < WORKLOAD_MAX_OP_REFS + 1; i++, used += 4)
        memcpy(text + used, " a:r", 4);
    assert_refused(text, used, "t.case:3: too many references in one operation (expected at most");
    free(text);
}

static void random_workloads_survive_writing_and_reading(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 50; seed++) {
        struct workload_error error;
        struct workload *workload;
        char setting[32];
        const char *settings[3] = {setting, "ptes=yes", "ops=400"};

        snprintf(setting, sizeof setting, "seed=%u", seed);
        if (!workload_generate("random", settings, 3, &workload, &error))
            fail_msg("%s", error.text);
        check_round_trip(workload);
        workload_free(workload);
    }
}

/* Cutting a case anywhere, or changing a byte, gives a workload or an error: nothing else. */
static void damaged_text_never_breaks_the_parser(void **state)
{
    static const char *const settings[] = {"ops=60", "ptes=yes"};
    struct workload_error error;
    struct workload *workload;
    struct rng rng;
    char *text;
    size_t size;

    (void)state;
    assert_true(workload_generate("random", settings, 2, &workload, &error));
    assert_true(workload_print(workload, &text, &size, &error));
    workload_free(workload);
    for (size_t cut = 0; cut < size; cut++) {
        if (workload_parse(text, cut, "cut", &workload, &error)) {
            check_round_trip(workload);
            workload_free(workload);
        }
    }
    rng_init(&rng, 7);
    for (unsigned i = 0; i < 2000; i++) {
        size_t at = (size_t)rng_below(&rng, size);
        char kept = text[at];

        text[at] = (char)rng_next(&rng);
        if (workload_parse(text, size, "changed", &workload, &error)) {
            check_round_trip(workload);
            workload_free(workload);
        }
        text[at] = kept;
    }
    free(text);
}

/* Files -------------------------------------------------------------------------------------- */

static void temporary_path(char *path, size_t room, const char *suffix)
{
    const char *folder = getenv("TMPDIR");

    snprintf(path, room, "%s/drydock-case-test-%ld%s", folder ? folder : "/tmp", (long)getpid(),
             suffix);
}

/* A program that is killed while it saves, again and again, leaves no part of a file. */
static void what_interrupts_a_save_leaves_nothing_half(void **state)
{
    struct workload_error error;
    struct workload *workload, *again;
    char path[256], partial[320];

    (void)state;
    assert_true(workload_generate("random", NULL, 0, &workload, &error));
    temporary_path(path, sizeof path, ".case");
    assert_true(workload_save(workload, path, &error));
    for (unsigned i = 0; i < 24; i++) {
        const char *name = strrchr(path, '/') + 1;
        struct timespec moment = {.tv_nsec = 700000 + 100000 * i};
        pid_t child = fork();
        int how;

        assert_true(child >= 0);
        while (child == 0)
            workload_save(workload, path, &error);
        nanosleep(&moment, NULL);
        assert_int_equal(kill(child, i % 2 ? SIGINT : SIGTERM), 0);
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how));
        snprintf(partial, sizeof partial, "%.*s.partial-%ld-%s", (int)(name - path), path,
                 (long)child, name);
        assert_int_not_equal(access(partial, F_OK), 0);
    }
    assert_true(workload_load(path, &again, &error));
    assert_true(workload_equal(workload, again));
    workload_free(again);
    workload_free(workload);
    remove(path);
}

static void files_are_saved_plain_and_compressed(void **state)
{
    static const char *const suffixes[] = {".case", ".case.zst"};
    struct workload_error error;
    struct workload *workload, *again;

    (void)state;
    assert_true(workload_generate("random", NULL, 0, &workload, &error));
    for (size_t i = 0; i < ARRAY_COUNT(suffixes); i++) {
        char path[256];
        unsigned char magic[4] = {0};
        FILE *file;

        temporary_path(path, sizeof path, suffixes[i]);
        if (!workload_save(workload, path, &error) || !workload_load(path, &again, &error))
            fail_msg("%s", error.text);
        assert_true(workload_equal(workload, again));
        assert_string_equal(again->path, path);
        workload_free(again);
        file = fopen(path, "rb");
        assert_non_null(file);
        assert_int_equal(fread(magic, 1, 4, file), 4);
        fclose(file);
        assert_int_equal(magic[0], i == 0 ? 'd' : 0x28);
        remove(path);
    }
    workload_free(workload);
}

static void a_cut_off_compressed_file_is_refused(void **state)
{
    struct workload_error error;
    struct workload *workload;
    char path[256], short_path[256];
    unsigned char bytes[4096];
    size_t size;
    FILE *file;

    (void)state;
    temporary_path(path, sizeof path, ".whole.zst");
    temporary_path(short_path, sizeof short_path, ".short.zst");
    workload = parse("drydock-case 1\nalloc a size=1\n");
    assert_true(workload_save(workload, path, &error));
    workload_free(workload);
    file = fopen(path, "rb");
    assert_non_null(file);
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t cut = 4; cut < size; cut++) {
        file = fopen(short_path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, cut, file), cut);
        fclose(file);
        assert_false(workload_load(short_path, &workload, &error));
        assert_non_null(strstr(error.text, ": the zstd data is cut off (expected a whole file)"));
    }
    bytes[6] ^= 0xff;
    assert_false(workload_unpack(bytes, size, 4096, "x", (char **)&workload, &size, &error));
    assert_int_equal(strncmp(error.text, "x: damaged zstd data: ", 22), 0);
    remove(path);
    remove(short_path);
}

static void unpacking_stops_at_the_limit(void **state)
{
    struct workload_error error;
    char path[256], *zeros = calloc(1, 4 << 20), *out;
    unsigned char packed[4096];
    size_t size;
    FILE *file;

    (void)state;
    assert_non_null(zeros);
    temporary_path(path, sizeof path, ".bomb.zst");
    assert_true(workload_file_write(path, zeros, 4 << 20, &error));
    file = fopen(path, "rb");
    assert_non_null(file);
    size = fread(packed, 1, sizeof packed, file);
    fclose(file);
    remove(path);
    free(zeros);
    assert_false(workload_unpack(packed, size, 1 << 20, "x", &out, &size, &error));
    assert_int_equal(strncmp(error.text, "x: the unpacked file is too large", 33), 0);
}

static void missing_files_say_so(void **state)
{
    struct workload_error error;
    struct workload *workload;

    (void)state;
    assert_false(workload_load("/nonexistent/x.case", &workload, &error));
    assert_string_equal(error.text, "/nonexistent/x.case: cannot open: No such file or directory");
    workload = parse("drydock-case 1\n");
    assert_false(workload_save(workload, "/nonexistent/x.case", &error));
    assert_string_equal(error.text, "/nonexistent/x.case: cannot write: No such file or directory");
    workload_free(workload);
}

static void the_cases_of_the_project_are_valid(void **state)
{
    static const char *const names[] = {
        "main",          "first-page-in",  "evict-and-restore", "priorities",  "cpu-writes",
        "two-processes", "partial-writes", "gpu-va-map",        "page-tables", "working-set-cliff",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct workload_error error;
        struct workload *workload;
        char path[512];

        snprintf(path, sizeof path, "%s/cases/%s.case", DRYDOCK_SOURCE_DIR, names[i]);
        if (!workload_load(path, &workload, &error))
            fail_msg("%s", error.text);
        assert_true(workload->op_count > 0);
        assert_string_not_equal(workload->name, "");
        check_round_trip(workload);
        workload_free(workload);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_directive_is_read_and_written),
        cmocka_unit_test(without_declarations_there_is_one_of_each),
        cmocka_unit_test(the_last_line_needs_no_newline),
        cmocka_unit_test(no_difference_is_overlooked),
        cmocka_unit_test(each_wrong_line_is_refused_by_name),
        cmocka_unit_test(options_are_printed_as_they_were),
        cmocka_unit_test(what_is_no_case_file_is_refused),
        cmocka_unit_test(what_a_line_leaves_out_is_zero_whatever_stood_above_it),
        cmocka_unit_test(an_option_may_be_a_long_set_of_words),
        cmocka_unit_test(too_many_references_are_refused_and_the_most_survive),
        cmocka_unit_test(random_workloads_survive_writing_and_reading),
        cmocka_unit_test(damaged_text_never_breaks_the_parser),
        cmocka_unit_test(what_interrupts_a_save_leaves_nothing_half),
        cmocka_unit_test(files_are_saved_plain_and_compressed),
        cmocka_unit_test(a_cut_off_compressed_file_is_refused),
        cmocka_unit_test(unpacking_stops_at_the_limit),
        cmocka_unit_test(missing_files_say_so),
        cmocka_unit_test(the_cases_of_the_project_are_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
