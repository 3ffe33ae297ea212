#!/bin/sh
# Builds the libraries that the bench needs on Windows and that Debian has no packages of (jansson, zstd), by mingw-w64,
# from Debian's source packages; zlib is copied from its package. They come to DIR/include and DIR/lib.
#
# Usage: windows-libraries.sh DIR (build/windows-libraries is where cmake --preset mingw-bench looks for them)
#
# What it needs: apt-get install gcc-mingw-w64-x86-64 libz-mingw-w64-dev, a line deb-src in the sources of apt
set -eu
[ $# -eq 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
compiler=x86_64-w64-mingw32
system=/usr/$compiler
for tool in $compiler-gcc $compiler-ar apt-get; do
    command -v $tool >/dev/null || { echo "windows-libraries: no $tool" >&2; exit 2; }
done
[ -e $system/lib/libz.a ] || { echo "windows-libraries: no libz-mingw-w64-dev" >&2; exit 2; }
mkdir -p "$1/include" "$1/lib"
target=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# The newest version that can be had: a mirror may list the source of an update that it does not keep.
for package in jansson libzstd; do
    apt-cache showsrc "$package" 2>log | sed -n 's/^Version: //p' | sort -Vr >versions
    while read -r version; do
        apt-get source --download-only --tar-only "$package=$version" >log 2>&1 && break
    done <versions
    ls "${package}"_*.orig.tar.*z >/dev/null 2>&1 || { tail -n 3 log >&2; exit 2; }
done
for archive in *.orig.tar.*z; do
    tar xf "$archive"
done

# library NAME FLAGS... : lib/libNAME.a of the sources that stand on standard input
library() {
    name=$1
    shift
    mkdir "$name"
    while read -r source; do
        $compiler-gcc -O2 -DNDEBUG "$@" -c "$source" -o "$name/$(basename "$source").o"
    done
    $compiler-ar rcs "$target/lib/lib$name.a" "$name"/*.o
}

cd jansson-*/src
cat >jansson_config.h <<'CONFIG'
#define JSON_INLINE inline
#define JSON_INTEGER_IS_LONG_LONG 1
#define JSON_HAVE_LOCALECONV 1
#define JSON_HAVE_ATOMIC_BUILTINS 1
#define JSON_PARSER_MAX_DEPTH 2048
CONFIG
echo '#define HAVE_STDINT_H 1' >jansson_private_config.h
ls ./*.c | library jansson -I. -DHAVE_CONFIG_H -D__USE_MINGW_ANSI_STDIO=1
cp jansson.h jansson_config.h "$target/include"
cd "$work"/*zstd*/lib
ls common/*.c compress/*.c decompress/*.c | library zstd -DZSTD_DISABLE_ASM
cp zstd.h zdict.h zstd_errors.h "$target/include"
cp $system/include/zlib.h $system/include/zconf.h "$target/include"
cp $system/lib/libz.a "$target/lib"
echo "jansson, zstd and zlib: $target"
