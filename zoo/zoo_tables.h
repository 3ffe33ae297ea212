/* Zoo: the tables, one a file, each ended by an entry without id. */
#ifndef DRYDOCK_ZOO_TABLES_H
#define DRYDOCK_ZOO_TABLES_H

#include "zoo/zoo.h"

extern const struct zoo_defect zoo_status_defects[], zoo_buffer_defects[], zoo_multipass_defects[],
    zoo_transfer_defects[], zoo_aperture_defects[], zoo_table_defects[], zoo_submit_defects[],
    zoo_present_defects[], zoo_fence_defects[], zoo_display_defects[], zoo_stop_defects[],
    zoo_caps_defects[], zoo_observed_defects[], zoo_drawn_defects[], zoo_fault_defects[],
    zoo_memory_defects[], zoo_drawn_paging_defects[], zoo_device_memory_defects[],
    zoo_queue_defects[], zoo_display_only_defects[], zoo_component_defects[],
    zoo_save_area_defects[];
extern const struct zoo_defect zoo_lawful_paging[], zoo_lawful_work[], zoo_lawful_memory[];

/* The first version of the bench that finds them. */
#define ZOO_SINCE "0.2"

/* Rows, by the function that is otherwise; behind the sentence may stand other members. */
#define ZOO_ROW(id_, models_, rules_, member, function, ...)                                       \
    {                                                                                              \
        .id = id_, .models = models_, .rules = rules_, .since = ZOO_SINCE, .member = function,     \
        .sentence = __VA_ARGS__,                                                                   \
    }
#define ALTER(id, models, rules, function, ...)                                                    \
    ZOO_ROW(id, models, rules, alter, function, __VA_ARGS__)
#define BUILD(id, models, rules, function, ...)                                                    \
    ZOO_ROW(id, models, rules, build, function, __VA_ARGS__)
#define PLANT(id, models, rules, function, ...)                                                    \
    ZOO_ROW(id, models, rules, plant, function, __VA_ARGS__)

/* Every n-th time that it is asked. */
#define EVERY(layer, n) (++(layer)->calls % (n) == 0)

#endif
