#include "bench/board/policy_file.h"

#include "bench/child/cage.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static struct {
    char path[1024];
    void *object; /* of dlopen(); NULL: none has been loaded */
} loaded;

static const struct vidmm_policy *refuse(char error[POLICY_FILE_ERROR_BYTES], const char *path,
                                         const char *why)
{
    snprintf(error, POLICY_FILE_ERROR_BYTES, "policy '%.200s': %.250s", path, why);
    return NULL;
}

const struct vidmm_policy *policy_file_load(const char *path, char error[POLICY_FILE_ERROR_BYTES])
{
    const struct vidmm_policy *policy;
    char full[sizeof loaded.path];
    void *object;

    /* Without a slash the system would look elsewhere. */
    if (snprintf(full, sizeof full, "%s%s", strchr(path, '/') ? "" : "./", path) >=
        (int)sizeof full)
        return refuse(error, path, "the path is too long");
    if (!loaded.object || strcmp(loaded.path, full) != 0) {
        if (cage_is_closed())
            return refuse(error, path, "this process may load no other library");
        object = dlopen(full, RTLD_NOW | RTLD_LOCAL);
        if (!object)
            return refuse(error, path, dlerror());
        if (loaded.object)
            dlclose(loaded.object);
        loaded.object = object;
        memcpy(loaded.path, full, sizeof full);
    }
    policy = dlsym(loaded.object, VIDMM_POLICY_SYMBOL);
    if (!policy)
        return refuse(error, path, "it exports no " VIDMM_POLICY_SYMBOL);
    if (!policy->name || (policy->compared && !policy->leaves_before))
        return refuse(error, path, "its table has no name, or compares without a comparison");
    return policy;
}
