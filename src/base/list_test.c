#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/list.h"

struct job {
    int number;
    struct list link;
};

static void push(struct list *head, struct job *jobs, int count)
{
    list_init(head);
    for (int i = 0; i < count; i++) {
        jobs[i].number = i;
        list_push_back(head, &jobs[i].link);
    }
}

/* The numbers on the list as one decimal number, which shows order and length. */
static int digits(struct list *head)
{
    struct job *job;
    int value = 0;

    list_for_each (job, head, struct job, link)
        value = 10 * value + job->number + 1;
    return value;
}

static void pushes_and_pops_at_both_ends(void **state)
{
    struct list head;
    struct job jobs[3];

    (void)state;
    push(&head, jobs, 3);
    assert_int_equal(digits(&head), 123);
    assert_int_equal(list_count(&head), 3);
    assert_ptr_equal(list_first(&head), &jobs[0].link);
    assert_ptr_equal(list_last(&head), &jobs[2].link);
    assert_ptr_equal(list_pop_back(&head), &jobs[2].link);
    list_push_front(&head, &jobs[2].link);
    assert_int_equal(digits(&head), 312);
    assert_ptr_equal(list_pop_front(&head), &jobs[2].link);
    assert_ptr_equal(list_pop_front(&head), &jobs[0].link);
    assert_ptr_equal(list_pop_front(&head), &jobs[1].link);
    assert_true(list_is_empty(&head));
    assert_null(list_pop_front(&head));
    assert_null(list_pop_back(&head));
    assert_null(list_first(&head));
    assert_null(list_last(&head));
}

static void a_removed_node_is_on_no_list(void **state)
{
    struct list head;
    struct job jobs[3];

    (void)state;
    push(&head, jobs, 3);
    assert_true(list_is_linked(&jobs[1].link));
    list_remove(&jobs[1].link);
    assert_false(list_is_linked(&jobs[1].link));
    list_remove(&jobs[1].link);
    assert_int_equal(digits(&head), 13);
    list_insert_before(&jobs[0].link, &jobs[1].link);
    assert_int_equal(digits(&head), 213);
}

static void moves_to_either_end(void **state)
{
    struct list head;
    struct job jobs[4];

    (void)state;
    push(&head, jobs, 4);
    list_move_back(&head, &jobs[0].link);
    assert_int_equal(digits(&head), 2341);
    list_move_front(&head, &jobs[3].link);
    assert_int_equal(digits(&head), 4231);
}

static void splice_appends_in_order_and_empties_the_other(void **state)
{
    struct list a, b;
    struct job jobs[4];

    (void)state;
    push(&a, jobs, 4);
    list_init(&b);
    list_splice(&b, &a);
    assert_int_equal(digits(&b), 1234);
    assert_true(list_is_empty(&a));
    list_push_back(&a, list_pop_front(&b));
    list_splice(&b, &a);
    assert_int_equal(digits(&b), 2341);
    list_splice(&b, &a);
    assert_int_equal(digits(&b), 2341);
}

static void the_safe_walk_survives_removal(void **state)
{
    struct list head;
    struct job jobs[5];
    struct job *job, *following;
    int reversed = 0;

    (void)state;
    push(&head, jobs, 5);
    list_for_each_safe (job, following, &head, struct job, link) {
        if (job->number % 2 == 0)
            list_remove(&job->link);
    }
    assert_int_equal(digits(&head), 24);
    list_for_each_reverse(job, &head, struct job, link) reversed = 10 * reversed + job->number + 1;
    assert_int_equal(reversed, 42);
    assert_int_equal(list_first_entry(&head, struct job, link)->number, 1);
    assert_int_equal(list_last_entry(&head, struct job, link)->number, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushes_and_pops_at_both_ends),
        cmocka_unit_test(a_removed_node_is_on_no_list),
        cmocka_unit_test(moves_to_either_end),
        cmocka_unit_test(splice_appends_in_order_and_empties_the_other),
        cmocka_unit_test(the_safe_walk_survives_removal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
