#!/bin/sh
# libvidmm alone builds for Windows, with its public functions in it.
#
# Usage: windows_test.sh CMAKE SOURCE
set -eu
cmake=$1
source=$2
for tool in x86_64-w64-mingw32-gcc x86_64-w64-mingw32-nm ninja; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" -S "$source" --preset mingw -B "$work/build" >"$work/log" 2>&1 &&
    "$cmake" --build "$work/build" -j 2 >>"$work/log" 2>&1 || { tail -n 40 "$work/log"; echo "FAILED: it does not build"; exit 1; }
archive=$(find "$work/build" -maxdepth 1 -name 'libvidmm.a')
[ -n "$archive" ] || { echo "FAILED: there is no libvidmm.a"; exit 1; }
x86_64-w64-mingw32-nm "$archive" 2>/dev/null | grep -q ' T vidmm_create_sized$' ||
    { echo "FAILED: vidmm_create_sized is not in it"; exit 1; }
echo "libvidmm is built for Windows"
