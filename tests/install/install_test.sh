#!/bin/sh
# An installation is used as others would: the library by CMake and by pkg-config, the program from where it is,
# and a new driver's own CMake build. What was installed goes again.
#
# Usage: install_test.sh CMAKE BUILD SOURCE SANITIZERS
set -eu
cmake=$1
build=$2
source=$3
[ -z "$4" ] || { echo "skipped: a library with sanitizers is not for others"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() {
    "$@" >"$work/log" 2>&1 || { echo "FAILED: $*"; cat "$work/log"; exit 1; }
}
run "$cmake" --install "$build" --prefix "$work/first"
mv "$work/first" "$work/prefix" # an installed tree may be moved
prefix=$work/prefix

run "$cmake" -S "$source/tests/install/uses-vidmm" -B "$work/uses" -DCMAKE_PREFIX_PATH="$prefix"
run "$cmake" --build "$work/uses"
run "$work/uses/uses_vidmm"

if command -v pkg-config >/dev/null; then
    run "$cmake" --install "$build" --prefix "$work/second"
    PKG_CONFIG_PATH=$(dirname "$(find "$work/second" -name vidmm.pc)")
    export PKG_CONFIG_PATH
    run cc -o "$work/uses-pc" $(pkg-config --cflags vidmm) "$source/tests/install/uses-vidmm/main.c" \
        $(pkg-config --libs vidmm)
    run env LD_LIBRARY_PATH="$(dirname "$PKG_CONFIG_PATH")" "$work/uses-pc"
fi

# `make uninstall` takes what was installed, by its list (another test may write one meanwhile), and nothing else.
if command -v make >/dev/null; then
    list=$work/source/build/release/install_manifest.txt
    mkdir -p "$work/source/build/release"
    until [ -e "$list" ] && ! grep -qv "^$work/a prefix/" "$list"; do
        run "$cmake" --install "$build" --prefix "$work/a prefix"
        cp "$build/install_manifest.txt" "$list"
    done
    touch "$work/a prefix/bin/other" "$work/a prefix/share/drydock/cases/mine.case"
    run make -C "$work/source" -f "$source/Makefile" uninstall
    left=$(cd "$work/a prefix" && find . \( ! -type d -o -iname '*vidmm*' \) | sort | tr '\n' ' ')
    [ "$left" = "./bin/other ./share/drydock/cases/mine.case " ] || { echo "FAILED: uninstall has left: $left"; exit 1; }
    [ ! -e "$list" ] || { echo "FAILED: uninstall keeps its list"; exit 1; }
fi

cd "$work"
run "$prefix/bin/drydock" new mygpu
if command -v clang >/dev/null && command -v lld-link >/dev/null && command -v llvm-dlltool >/dev/null; then
    sed -i 's/SEEDS 200/SEEDS 10/' mygpu/CMakeLists.txt
    run "$cmake" -S mygpu -B mygpu-build -DCMAKE_PREFIX_PATH="$prefix"
    run "$cmake" --build mygpu-build
    run ctest --test-dir mygpu-build --no-tests=error
    grep -q "100% tests passed, 0 tests failed out of 2" "$work/log" || { cat "$work/log"; exit 1; }
    # Nothing of the source tree was looked at.
    run "$prefix/bin/drydock" cc --verbose -o again.sys mygpu/mygpu.c
    ! grep -q "$source" "$work/log" || { echo "FAILED: the source tree is used"; exit 1; }
    # The examples of docs/gpu-models.md, copied to a folder of one's own.
    cp -r "$prefix/share/drydock/examples" .
    run cc -shared -fPIC -I"$prefix/include" -o tutorial.so examples/gpu/tutorial.c
    "$prefix/bin/drydock" cc -o mygpu.sys -Wno-missing-field-initializers mygpu/mygpu.c
    "$prefix/bin/drydock" run mygpu/mygpu.case --driver ./mygpu.sys --gpu ./tutorial.so --no-out >"$work/log" 2>&1 || :
    grep -q "was reported complete, and the GPU has begun it 0 times and ended it 0 times" "$work/log" ||
        { cat "$work/log"; exit 1; }
    PATH=$prefix/bin:$PATH run make -C examples/driver-sdma check SEEDS=5
else
    echo "not tested without clang and lld: a driver built with the installed program"
fi
echo "the installation works"
