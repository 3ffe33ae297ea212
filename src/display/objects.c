/*
 * Objects that have handles; infos that are lent; what is told of misuse.
 *
 * Handles are numbers that are given once in the life of the process: one that is no object's any
 * more is never another one's.
 */
#include "display/display_private.h"

#include "base/bits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct list displays = LIST_INITIALIZER(displays);
static uintptr_t handles_given;

/* ---- Telling --------------------------------------------------------------------------------- */

void display_misuse(const struct display *display, const char *function, const char *format, ...)
{
    char text[240];
    int used = snprintf(text, sizeof text, "%s ", function);
    va_list arguments;

    if (!display || !display->config.misuse)
        return;
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    display->config.misuse(display->config.context, text);
}

static void tell_called(const struct display *display, const char *function)
{
    if (display && display->config.called)
        display->config.called(display->config.context, function);
}

bool display_has_room(const struct display *display, const char *function, const void *out)
{
    if (!out)
        display_misuse(display, function, "is given NULL for the place of its answer");
    return out != NULL;
}

/* The display of a call that does not say which one it is about. */
static struct display *any_display(void)
{
    return list_is_empty(&displays) ? NULL : list_last_entry(&displays, struct display, link);
}

/* ---- Handles --------------------------------------------------------------------------------- */

const char *object_kind_name(enum object_kind kind)
{
    static const char *const names[] = {
        [OBJECT_NETWORK] = "VidPN",
        [OBJECT_TOPOLOGY] = "VidPN topology",
        [OBJECT_SOURCE_SET] = "source mode set",
        [OBJECT_TARGET_SET] = "target mode set",
        [OBJECT_MONITOR_SET] = "monitor source mode set",
        [OBJECT_DESCRIPTORS] = "monitor descriptor set",
        [OBJECT_RANGES] = "monitor frequency range set",
    };

    return names[kind];
}

void object_init(struct object *object, struct display *display, enum object_kind kind)
{
    object->kind = kind;
    object->display = display;
    /* Of the upper half of all addresses, which no process has. */
    object->handle =
        (void *)((UINTPTR_MAX << (sizeof(uintptr_t) * 6 - 2)) + (++handles_given << 5));
    list_push_back(&display->objects, &object->link);
}

void object_fini(struct object *object)
{
    end_lent_of(object);
    list_remove(&object->link);
}

struct object *object_find(const void *handle, enum object_kind kind, const char *function)
{
    const struct display *display;
    struct object *other = NULL, *object;

    list_for_each (display, &displays, struct display, link) {
        list_for_each (object, &display->objects, struct object, link) {
            if (object->handle != handle)
                continue;
            if (object->kind == kind) {
                tell_called(display, function);
                return object;
            }
            other = object;
        }
    }
    tell_called(other ? other->display : any_display(), function);
    if (other)
        display_misuse(other->display, function, "is given the handle of a %s for that of a %s",
                       object_kind_name(other->kind), object_kind_name(kind));
    else
        display_misuse(any_display(), function, "is given %p, which is no handle of a %s%s", handle,
                       object_kind_name(kind),
                       (uintptr_t)handle - (UINTPTR_MAX << (sizeof(uintptr_t) * 6 - 2)) <=
                               handles_given << 5
                           ? " any more"
                           : "");
    return NULL;
}

struct display *display_of_adapter(const void *adapter, const char *function)
{
    struct display *display;

    list_for_each (display, &displays, struct display, link) {
        if (adapter && display->adapter == adapter) {
            tell_called(display, function);
            return display;
        }
    }
    tell_called(any_display(), function);
    display_misuse(any_display(), function, "is given %p, which is no handle of an adapter",
                   adapter);
    return NULL;
}

/* ---- Infos ----------------------------------------------------------------------------------- */

#define LENT_HEAD align_up(sizeof(struct lent), _Alignof(max_align_t))

static size_t lent_bytes(size_t bytes)
{
    return LENT_HEAD + 2 * bytes + LENT_GUARD;
}

void *lent_info(struct lent *lent)
{
    return (char *)lent + LENT_HEAD;
}

void *lend_info(const struct object *of, const char *function, const void *item, const void *info,
                size_t bytes)
{
    struct display *display = of->display;
    struct lent *lent = base_alloc(display->config.services, lent_bytes(bytes));
    char *place;

    if (!lent)
        return NULL;
    lent->display = display;
    lent->of = of;
    lent->is_of_monitor = object_is_of_monitor(of);
    lent->by = function;
    lent->item = item;
    lent->bytes = bytes;
    place = lent_info(lent);
    memcpy(place, info, bytes);
    memset(place + bytes, LENT_GUARD_BYTE, LENT_GUARD);
    memcpy(place + bytes + LENT_GUARD, info, bytes);
    list_push_back(&display->lent, &lent->link);
    return place;
}

struct lent *find_lent(const struct object *of, const char *function, const void *info)
{
    const struct display *display = of->display;
    struct lent *lent;

    list_for_each (lent, &display->lent, struct lent, link) {
        if (lent_info(lent) != info)
            continue;
        if (lent->is_over)
            display_misuse(display, function, "is given an info of %s that has been given back",
                           lent->by);
        else if (lent->of != of)
            display_misuse(display, function, "is given an info of %s, of another %s", lent->by,
                           object_kind_name(of->kind));
        else
            return lent;
        return NULL;
    }
    display_misuse(display, function, "is given %p, which is no info of this %s", info,
                   object_kind_name(of->kind));
    return NULL;
}

static void look_at_guard(struct lent *lent, const char *function)
{
    const unsigned char *place = lent_info(lent), *guard = place + lent->bytes;
    size_t i = 0;

    while (i < LENT_GUARD && guard[i] == LENT_GUARD_BYTE)
        i++;
    if (i < LENT_GUARD)
        display_misuse(lent->display, function,
                       "gets back the info of %s, behind whose end, at byte %zu, was written",
                       lent->by, lent->bytes + i);
    if (lent->item && memcmp(place, guard + LENT_GUARD, lent->bytes) != 0)
        display_misuse(lent->display, function,
                       "gets back the info of %s, which was to be read only and has changed",
                       lent->by);
}

void end_lent(struct lent *lent, const char *function)
{
    look_at_guard(lent, function);
    lent->is_over = true;
    memset(lent_info(lent), LENT_POISON, lent->bytes);
}

void end_lent_of(const struct object *of)
{
    struct lent *lent;

    list_for_each (lent, &of->display->lent, struct lent, link) {
        if (lent->of == of)
            lent->of = NULL;
    }
}

bool object_is_of_monitor(const struct object *object)
{
    return object->kind == OBJECT_MONITOR_SET || object->kind == OBJECT_DESCRIPTORS ||
           object->kind == OBJECT_RANGES;
}

static void free_lent(struct lent *lent)
{
    list_remove(&lent->link);
    base_free(lent->display->config.services, lent, lent_bytes(lent->bytes));
}

void infos_forget(struct display *display)
{
    while (!list_is_empty(&display->lent))
        free_lent(list_first_entry(&display->lent, struct lent, link));
}

bool infos_settle(struct display *display, const char *ddi, bool of_monitors)
{
    struct lent *lent, *following;
    bool is_whole = true;

    list_for_each_safe (lent, following, &display->lent, struct lent, link) {
        if (lent->is_of_monitor != of_monitors)
            continue;
        if (!lent->is_over) {
            display_misuse(display, ddi, "has returned, and an info of %s has not been released%s",
                           lent->by, lent->item ? "" : " or added");
            look_at_guard(lent, ddi);
            is_whole = false;
        }
        free_lent(lent);
    }
    return is_whole;
}

/* ---- Displays -------------------------------------------------------------------------------- */

void display_enter(struct display *display)
{
    list_push_back(&displays, &display->link);
}

void display_leave(struct display *display)
{
    list_remove(&display->link);
}

const struct target *display_find_target(const struct display *display,
                                         D3DDDI_VIDEO_PRESENT_TARGET_ID id)
{
    for (unsigned i = 0; i < display->target_count; i++) {
        if (display->targets[i].id == id)
            return &display->targets[i];
    }
    return NULL;
}
