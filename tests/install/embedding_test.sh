#!/bin/sh
# libvidmm in programs of others: its names, its soname, a header of another version, C, C++, two threads.
#
# Usage: embedding_test.sh CMAKE BUILD SOURCE SANITIZERS
set -eu
cmake=$1
build=$2
source=$3
[ -z "$4" ] || { echo "skipped: a library with sanitizers is not for others"; exit 0; }
command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}
run() {
    "$@" >"$work/log" 2>&1 || { echo "FAILED: $*"; head -40 "$work/log"; exit 1; }
}
prefix="$work/a prefix, ä"
run "$cmake" --install "$build" --prefix "$prefix"
mv "$prefix" "$prefix 2" # an installed tree may be moved
prefix="$prefix 2"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name vidmm.pc)")
export PKG_CONFIG_PATH
library=$(dirname "$PKG_CONFIG_PATH")

# Every name that the linker sees begins with vidmm_, in both libraries alike.
nm -g --defined-only "$library/libvidmm.a" | awk 'NF == 3 { print $3 }' | sort >"$work/static"
nm -D --defined-only "$library/libvidmm.so" | awk '{ print $3 }' | sort >"$work/shared"
[ "$(wc -l <"$work/static")" -gt 100 ] || fail "the library has no names"
! grep -v '^vidmm_' "$work/static" || fail "a name without prefix (src/base/names.h)"
diff "$work/static" "$work/shared" || fail "the two libraries differ"
major=$(pkg-config --modversion vidmm | sed 's/\.[0-9]*$//')
readelf -d "$library/libvidmm.so" | grep -q "soname: \[libvidmm.so.$major\]" || fail "the soname is not that of $major"

# The ABI of the first release is kept: names may come, and none goes, while the soname stays.
if [ -f "$source/tests/install/abi-$major.txt" ]; then
    gone=$(comm -23 "$source/tests/install/abi-$major.txt" "$work/shared")
    [ -z "$gone" ] || fail "names of soname $major are gone: $gone"
fi

# The examples, as they are installed, against the static and the shared library.
cp -r "$prefix/share/drydock/examples/embed" "$work/embed"
cp "$prefix/share/drydock/new/miniport.c" "$work/driver.c"
cd "$work/embed"
LD_LIBRARY_PATH=$library run make check DRIVER=../driver.c
grep -q '^18 submissions, [1-9][0-9]* evictions, 0 errors$' "$work/log" || { cat "$work/log"; exit 1; }
grep -q '^libvidmm .*: [1-9][0-9]* victims in 18 submissions$' "$work/log" || { cat "$work/log"; exit 1; }
ldd embed | grep -q "libvidmm.so.$major" || fail "the example does not use the shared library"

# A configuration of another size is refused; a function of the driver that is not APIENTRY does not compile.
eval "set -- $(pkg-config --cflags vidmm)"
sed 's/sizeof(struct vidmm_config), out_vidmm/sizeof(struct vidmm_config) + 8, out_vidmm/' \
    "$prefix/include/vidmm/vidmm.h" >"$work/embed/vidmm.h.new"
mkdir -p "$work/embed/other/vidmm" && mv "$work/embed/vidmm.h.new" "$work/embed/other/vidmm/vidmm.h"
run cc -std=gnu11 -w -I"$work/embed/other" "$@" -o other-version embed.c machine.c ../driver.c "$library/libvidmm.a"
! ./other-version >/dev/null || fail "a configuration of another version is taken"
sed 's/NTAPI answer_nothing/answer_nothing/' "$source/tests/install/uses-vidmm/main.c" >wrong.c
! cc -std=gnu11 -Werror=incompatible-pointer-types "$@" -c -o wrong.o wrong.c 2>"$work/log" ||
    fail "a function without APIENTRY fits the driver's table"
grep -q 'incompatible' "$work/log" || fail "no word about the wrong function"

# Headers parse beside signal.h, in C and in C++.
printf '#include <signal.h>\n#include <vidmm/vidmm.h>\n#include <vidmm/notes.h>\n#include <vidmm/policy.h>\nint main(void) { return 0; }\n' >beside.c
run cc -std=gnu11 -Wall -Wextra -Wno-unknown-pragmas -Werror "$@" -c -o beside.o beside.c
run c++ -std=c++17 -Wall -Wextra -Wno-unknown-pragmas -Werror "$@" -x c++ -c -o beside.o beside.c

# Two threads and one lock, with all of the library under ThreadSanitizer; without the lock it complains.
if echo 'int main(void) { return 0; }' | cc -fsanitize=thread -x c - -o tsan 2>/dev/null && ./tsan; then
    find "$source/src/base" "$source/src/miniport" "$source/src/vidsch" "$source/src/vidmm" -name '*.c' |
        grep -Ev '(_test|_fuzz|/test_[a-z_]+)\.c$' | sed 's/.*/"&"/' >sources
    run cc -std=gnu11 -O1 -g -w -fsanitize=thread -DDRYDOCK_VERSION='"tsan"' -I"$source/src" -I"$source/include" \
        -I"$source/include/wdk" -I"$source/include/vidmm" -Iembed -I. -o threads \
        "$source/tests/install/threads.c" machine.c ../driver.c @sources -lpthread
    run ./threads
    grep -q '^120 submissions in two threads$' "$work/log" || { cat "$work/log"; exit 1; }
    TSAN_OPTIONS=exitcode=66 ./threads nolock >"$work/log" 2>&1 && fail "no complaint without the lock"
    grep -q 'ThreadSanitizer: data race' "$work/log" || fail "no race is seen without the lock"
else
    echo "not tested: this compiler has no ThreadSanitizer"
fi
echo "libvidmm is embedded: $(wc -l <"$work/static") names"
