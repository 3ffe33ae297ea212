#!/bin/sh
# The kernel services that src/nt defines, against the rows by which images import them:
#
#     scripts/check-services.sh
#
# A service without a row (NT_SERVICE() and its like) can be called by tests alone: an image that imports it is told
# that the bench does not have it.
set -eu

cd "$(dirname "$0")/../src/nt"
find . -name '*.c' ! -name '*_test.c' ! -path '*/rig/*' -exec awk '
    /^[A-Za-z_][A-Za-z0-9_ *]* NTAPI [A-Z][A-Za-z0-9_]*\(/ && !/^static / {
        name = $0
        sub(/\(.*/, "", name)
        sub(/.* /, "", name)
        places[name] = "src/nt/" substr(FILENAME, 3) ":" FNR
    }
    {
        for (rest = $0; match(rest, /NT_[A-Z_]+\([A-Za-z0-9_ ,."]*\)/); rest = substr(rest, RSTART + RLENGTH)) {
            count = split(substr(rest, RSTART, RLENGTH), words, /[^A-Za-z0-9_]+/)
            for (i = 2; i <= count; i++) has_row[words[i]]
        }
    }
    END {
        for (name in places) {
            defined++
            if (name in has_row) continue
            print places[name] ": " name "() has no row: no image can import it"
            failed = 1
        }
        if (defined < 300) { print "src/nt: only " defined " services are seen"; failed = 1 }
        exit failed
    }' {} +
