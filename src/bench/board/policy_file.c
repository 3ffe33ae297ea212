#include "bench/board/policy_file.h"

#include "bench/board/kept_object.h"
#include "bench/child/crash_recorder.h"

#include <dlfcn.h>
#include <stdio.h>

static struct kept_object loaded;
static const struct vidmm_policy *theirs; /* the table of the object */
static struct vidmm_policy told;          /* the same, with a comparison that notes who runs */

static bool leaves_before(const struct vidmm_candidate *a, const struct vidmm_candidate *b)
{
    const char *before = crash_recorder_enter_model("the policy's leaves_before()");
    const bool leaves = theirs->leaves_before(a, b);

    crash_recorder_leave_model(before);
    return leaves;
}

static const struct vidmm_policy *refuse(char error[POLICY_FILE_ERROR_BYTES], const char *path,
                                         const char *why)
{
    snprintf(error, POLICY_FILE_ERROR_BYTES, "policy '%.200s': %.250s", path, why);
    return NULL;
}

const struct vidmm_policy *policy_file_load(const char *path, char error[POLICY_FILE_ERROR_BYTES])
{
    const char *why = kept_object_load(&loaded, path);

    if (why)
        return refuse(error, path, why);
    theirs = dlsym(loaded.object, VIDMM_POLICY_SYMBOL);
    if (!theirs)
        return refuse(error, path, "it exports no " VIDMM_POLICY_SYMBOL);
    if (!theirs->name || (theirs->compared && !theirs->leaves_before))
        return refuse(error, path, "its table has no name, or compares without a comparison");
    told = *theirs;
    if (told.leaves_before)
        told.leaves_before = leaves_before;
    return &told;
}
