#!/bin/sh
# Each header of src/ compiles alone, so that a source may include it anywhere:
#
#     scripts/check-headers.sh BUILD [FOLDER...]      BUILD is a folder like build/release
#
# Prints those that do not, with the compiler's first error, and fails.
set -eu

[ $# -ge 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
export build

# A text that its includers set macros for, once for each width of characters:
templates="src/nt/text/text_print.h"

# Those of src/windows/ are a compiler's for Windows.
find ${*:-src zoo} -name '*.h' -not -path 'src/windows/*' | grep -v -x -F "$templates" | xargs -P "$(nproc)" -n 1 sh -c '
    errors=$(${CC:-cc} -std=gnu11 -fsyntax-only -x c -w -DDRYDOCK_SOURCE_DIR=\"\" \
                 -Isrc -Iinclude -Iinclude/wdk -I. -I"$build/generated" "$0" 2>&1) && exit 0
    echo "$errors" | grep -m 1 -E "error|fatal" | sed "s|^|$0: |"
    exit 1'
