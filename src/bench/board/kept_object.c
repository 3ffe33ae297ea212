#include "bench/board/kept_object.h"

#include "bench/child/cage.h"
#include "bench/child/crash_recorder.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *kept_object_load(struct kept_object *kept, const char *path)
{
    char full[sizeof kept->path];
    struct stat status;
    const char *before;
    void *object;

    /* Without a slash the system would look elsewhere. */
    if (snprintf(full, sizeof full, "%s%s", strchr(path, '/') ? "" : "./", path) >=
        (int)sizeof full)
        return "the path is too long";
    if (kept->object && strcmp(kept->path, full) == 0)
        return NULL;
    if (cage_is_closed())
        return "this process may load no other library";
    if (stat(full, &status) == 0 && !S_ISREG(status.st_mode))
        return "it is no file";                               /* a pipe would be waited for */
    before = crash_recorder_enter_model(KEPT_OBJECT_LOADING); /* constructors run */
    object = dlopen(full, RTLD_NOW | RTLD_LOCAL);
    if (object && kept->object)
        dlclose(kept->object); /* and destructors */
    crash_recorder_leave_model(before);
    if (!object)
        return dlerror();
    kept->object = object;
    memcpy(kept->path, full, sizeof full);
    return NULL;
}
