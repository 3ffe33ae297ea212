#!/bin/sh
# The DDIs that the hooks of the checker's watchers look at, against the lists of the calls that they are shown:
#
#     scripts/check-watchers.sh
#
# A hook looks at a DDI when its function, before() or after(), names it. A DDI that is missing in the list
# (CHECK_CALLS() in the watcher's row) makes the rules that are judged there blind.
set -eu

cd "$(dirname "$0")/../src/check/watchers"
find . -name '*.c' ! -name '*_test.c' -exec awk '
    FNR == 1 { hook = list = "" }
    /^static void (before|after)\(struct check / { hook = $0; sub(/^static void /, "", hook); sub(/\(.*/, "", hook) }
    /^}/ { hook = list = "" }
    match($0, /\.(before|after)_calls = CHECK_CALLS\(/) {
        list = substr($0, RSTART + 1, RLENGTH - length("_calls = CHECK_CALLS(") - 1)
        has_list[FILENAME, list]
    }
    {
        for (rest = $0; match(rest, /MINIPORT_DDI_[A-Za-z0-9]+/); rest = substr(rest, RSTART + RLENGTH)) {
            ddi = substr(rest, RSTART, RLENGTH)
            if (hook) looks[FILENAME, hook, ddi]
            if (list) lists[FILENAME, list, ddi]
        }
        if (list && /\)/ && !/CHECK_CALLS\([^)]*$/) list = ""
    }
    END {
        for (key in looks) {
            split(key, part, SUBSEP)
            if (!((part[1], part[2]) in has_list) || key in lists) continue
            print "src/check/watchers/" substr(part[1], 3) ": " part[2] "() looks at " part[3] ", which ." part[2] "_calls does not name"
            failed = 1
        }
        exit failed
    }' {} +
