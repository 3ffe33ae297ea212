#!/bin/sh
# Program and library are built for aarch64 Linux by Debian's cross compiler and play under qemu: the unit tests of the
# library, and a case with the digest of the program beside. An x64 image is refused with a word.
#
# Usage: aarch64_test.sh CMAKE SOURCE PATH-OF-DRYDOCK
#
# What it needs, once: dpkg --add-architecture arm64; apt-get update; apt-get install gcc-aarch64-linux-gnu
# g++-aarch64-linux-gnu qemu-user lib{cmocka,jansson,sqlite3,zstd,zydis}-dev:arm64 zlib1g-dev:arm64
set -eu
cmake=$1
source=$2
native=$3
for tool in aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ qemu-aarch64 ninja; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 0; }
done
for library in cmocka jansson sqlite3 zstd z Zydis; do
    [ -e /usr/lib/aarch64-linux-gnu/lib$library.so ] || { echo "skipped: no lib$library for arm64"; exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}
emulated() {
    program=$1
    shift
    qemu-aarch64 -L / "$work/build/$program" "$@"
}

"$cmake" -S "$source" --preset aarch64 -B "$work/build" >"$work/log" 2>&1 &&
    "$cmake" --build "$work/build" -j 2 --target drydock base_tests vidsch_tests vidmm_tests >>"$work/log" 2>&1 ||
    { tail -n 40 "$work/log"; fail "it does not build"; }

for tests in base_tests vidsch_tests vidmm_tests; do
    emulated $tests >"$work/log" 2>&1 || { tail -n 40 "$work/log"; fail "$tests"; }
done

play() { # PROGRAM...: the digest of a case in both models
    "$@" run "$source/cases/evict-and-restore.case" --model both --no-out --json | grep '"digest"'
}
here=$(play "$native")
there=$(play emulated drydock)
[ -n "$here" ] && [ "$here" = "$there" ] || fail "the digests differ: $here here, $there on aarch64"

if "$native" cc -o "$work/driver.sys" "$source/tests/images/softcopy/softcopy.c" >"$work/log" 2>&1; then
    status=0
    emulated drydock run "$source/cases/first-page-in.case" --driver "$work/driver.sys" --no-out >"$work/log" 2>&1 ||
        status=$?
    [ $status -eq 2 ] && grep -q 'x64 image runs on an x86-64 processor alone' "$work/log" ||
        { cat "$work/log"; fail "an image is not refused (status $status)"; }
fi
echo "on aarch64 as here: $(echo $here)"
