#include "bench/board/policy_file.h"

#include "bench/board/kept_object.h"

#include <dlfcn.h>
#include <stdio.h>

static struct kept_object loaded;

static const struct vidmm_policy *refuse(char error[POLICY_FILE_ERROR_BYTES], const char *path,
                                         const char *why)
{
    snprintf(error, POLICY_FILE_ERROR_BYTES, "policy '%.200s': %.250s", path, why);
    return NULL;
}

const struct vidmm_policy *policy_file_load(const char *path, char error[POLICY_FILE_ERROR_BYTES])
{
    const char *why = kept_object_load(&loaded, path);
    const struct vidmm_policy *policy;

    if (why)
        return refuse(error, path, why);
    policy = dlsym(loaded.object, VIDMM_POLICY_SYMBOL);
    if (!policy)
        return refuse(error, path, "it exports no " VIDMM_POLICY_SYMBOL);
    if (!policy->name || (policy->compared && !policy->leaves_before))
        return refuse(error, path, "its table has no name, or compares without a comparison");
    return policy;
}
