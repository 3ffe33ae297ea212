/*
 * The drivers that the command line knows beside those of the bench: the rows of the zoo,
 * "zoo:ID" over the reference driver that is linked in, "zoo:ID@FILE" over an image of it.
 */
#include "bench/drivers/driver_files.h"
#include "bench/drivers/drivers.h"
#include "cli/cli.h"
#include "zoo/zoo.h"

#include <stdio.h>
#include <string.h>

static NTSTATUS wrap_defect(const struct run_driver *driver, const struct base_services *services,
                            struct miniport *next, struct miniport **out_layer)
{
    return zoo_create(driver->context, services, next, out_layer);
}

static void alter_table(const struct run_driver *driver, DRIVER_INITIALIZATION_DATA *table)
{
    const struct zoo_defect *defect = driver->context;

    if (defect->registers)
        defect->registers(table);
}

static bool defect_has_model(const struct run_driver *driver, enum run_model model)
{
    static const unsigned bits[] = {
        [RUN_PHYSICAL] = ZOO_PHYSICAL, [RUN_GPUMMU] = ZOO_GPUMMU, [RUN_IOMMU] = ZOO_IOMMU};
    const struct zoo_defect *defect = driver->context;

    return defect->models & bits[model];
}

static bool find_defect(const char *name, struct run_driver *out_driver)
{
    const struct zoo_defect *defect;
    const char *at = strchr(name, '@');
    char id[64];

    if (strncmp(name, "zoo:", 4) != 0)
        return false;
    snprintf(id, sizeof id, "%.*s", (int)(at ? at - name - 4 : 63), name + 4);
    defect = zoo_find(id);
    if (!defect || (at && (!driver_file_find(at + 1, out_driver) ||
                           !zoo_suits_image(defect, out_driver->is_display_only))))
        return false;
    if (!at && defect->is_display_only)
        run_display_driver(out_driver);
    else if (!at)
        *out_driver = (struct run_driver){0};
    out_driver->name = name;
    out_driver->wrap = wrap_defect;
    out_driver->registers = alter_table;
    out_driver->context = defect;
    out_driver->has_model = defect_has_model;
    out_driver->is_tolerant = !defect->is_particular;
    out_driver->local_traits = defect->local_traits;
    return true;
}

void cli_add_zoo(void)
{
    run_add_drivers(find_defect);
}

/* The name in what is kept, NULL: none looks like it. */
static const char *nearest_defect(const char *name, char kept[80])
{
    const struct zoo_defect *defect;
    const char *one[2] = {kept, NULL};

    for (size_t slack = 0; slack < 2; slack++) {
        for (unsigned i = 0; (defect = zoo_defect_at(i)); i++) {
            snprintf(kept, 80, "zoo:%s", defect->id);
            if (slack ? cli_nearest(name, one) != NULL
                      : strncmp(kept, name, strlen(name)) == 0 && strlen(name) > 4)
                return kept;
        }
    }
    return NULL;
}

bool cli_find_driver(const char *name)
{
    struct run_driver driver;
    char kept[80];
    const char *nearest;

    if (run_find_driver(name, &driver))
        return true;
    if (driver_file_error()[0]) {
        cli_error("%s", driver_file_error());
        return false;
    }
    nearest = nearest_defect(name, kept);
    if (nearest) {
        cli_error("option --driver: unknown driver '%s' (did you mean %s?)", name, nearest);
        return false;
    }
    cli_error(
        "option --driver: unknown driver '%s' (expected ref, ref-display, zoo:ID with an id of "
        "`drydock zoo --list`, or the path of an image: ./mygpu.sys)",
        name);
    return false;
}
