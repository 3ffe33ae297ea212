/* Shared objects are found by names, global handles and titles, however many there are. */
#include "d3dkmt/front.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OBJECTS 16384u /* as many as there are NT handles */

static struct title title_of(unsigned number, uint16_t units[16], bool is_upper)
{
    char text[16];
    const int length = snprintf(text, sizeof text, is_upper ? "\\MINE%u" : "\\mine%u", number);

    for (int i = 0; i < length; i++)
        units[i] = (uint16_t)text[i];
    return (struct title){.name = units, .bytes = (UINT)length * 2, .ignores_case = is_upper};
}

static unsigned longest_of(const struct shared_index *index)
{
    unsigned longest = 0;

    for (unsigned i = 0; i < SHARED_CHAINS; i++) {
        const struct list *link;
        unsigned length = 0;

        for (link = index->chains[i].next; link != &index->chains[i]; link = link->next)
            length++;
        longest = length > longest ? length : longest;
    }
    return longest;
}

static void objects_are_found_in_short_chains(void **state)
{
    struct d3dkmt *front = calloc(1, sizeof *front);
    struct shared **made = calloc(OBJECTS, sizeof *made);
    uint16_t units[16];

    front->services = base_services_libc();
    front->config.secret = 5;
    shared_init(front);
    for (unsigned i = 0; i < OBJECTS; i++) {
        const struct title title = title_of(i, units, false);

        assert_int_equal(shared_create(front, OBJECT_KEYED_MUTEX, &made[i]), STATUS_SUCCESS);
        shared_give_global(made[i]);
        made[i]->nt_handles = 1;
        assert_null(shared_find_titled(front, &title));
        assert_int_equal(shared_give_title(made[i], &title), STATUS_SUCCESS);
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        struct title title = title_of(i, units, i % 2);

        assert_ptr_equal(shared_find_titled(front, &title), made[i]);
        assert_ptr_equal(shared_find(front, OBJECT_KEYED_MUTEX, made[i]->name, 0), made[i]);
        assert_ptr_equal(shared_find(front, OBJECT_KEYED_MUTEX, 0, made[i]->global), made[i]);
        assert_null(shared_find(front, OBJECT_FENCE, 0, made[i]->global));
        title.ignores_case = false;
        assert_ptr_equal(shared_find_titled(front, &title), i % 2 ? NULL : made[i]);
    }
    /* 16 in the mean. */
    assert_in_range(longest_of(&front->by_name), 16, 64);
    assert_in_range(longest_of(&front->by_global), 16, 64);
    assert_in_range(longest_of(&front->by_title), 16, 64);
    for (unsigned i = 0; i < OBJECTS; i++) {
        const struct title title = title_of(i, units, false);

        d3dkmt_nt_handle_closed(front, made[i]->name);
        assert_null(shared_find_titled(front, &title)); /* the title goes with the NT handle */
        assert_ptr_equal(shared_find(front, OBJECT_KEYED_MUTEX, 0, made[i]->global), made[i]);
        shared_drop(made[i]);
    }
    assert_int_equal(longest_of(&front->by_name), 0);
    assert_int_equal(longest_of(&front->by_global), 0);
    assert_int_equal(longest_of(&front->by_title), 0);
    free(made);
    free(front);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_found_in_short_chains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
