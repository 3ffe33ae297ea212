#!/bin/sh
# `drydock new --rust`: a driver in Rust builds quietly with Debian's rustc and bindgen, is softcopy call by call,
# and its mistakes are found at its lines.
#
# Usage: rust.sh DRYDOCK SOURCE
set -eu
. "$(dirname "$0")/image.sh"

need bindgen make
# A toolchain of rustup's before Debian's may lack the target.
compiler=
for candidate in rustc /usr/bin/rustc; do
    libraries=$($candidate --print target-libdir --target x86_64-pc-windows-gnu 2>/dev/null) || continue
    [ -d "$libraries" ] && { compiler=$candidate; break; }
done
[ -n "$compiler" ] || { echo "skipped: no rustc with libstd-rust-dev-windows here"; exit 0; }

build() { # in the folder of that name, what is wanted
    folder=$1
    shift
    make -C "$work/$folder" DRYDOCK="$drydock" RUSTC="$compiler" SEEDS=12 "$@" >"$work/log" 2>"$work/errors"
}

(cd "$work" && "$drydock" new --rust mygpu >/dev/null)
build mygpu check || fail "make check of a new driver in Rust"
grep -q "findings  0 runs, 0 causes" "$work/log" || fail "a campaign has findings"
if grep -v "^drydock: " "$work/errors" | grep -q .; then
    cat "$work/errors"
    fail "a new driver in Rust does not build quietly"
fi

# The same calls, bytes and digests as its twin in C.
mkdir "$work/c" "$work/rust"
mv "$work/mygpu/mygpu.sys" "$work/rust/driver.sys"
"$drydock" cc -o "$work/c/driver.sys" "$source/tests/images/softcopy/softcopy.c"
for language in c rust; do
    (cd $work/$language && "$drydock" check --driver ./driver.sys --seeds 12 -j 2 >"$work/log" 2>&1) ||
        fail "a campaign of $language has findings"
    sed -n 's/.*digest of all //p' "$work/log" >"$work/$language/digest"
done
[ -s "$work/c/digest" ] || fail "a campaign has no digest"
cmp -s "$work/c/digest" "$work/rust/digest" || fail "Rust and C have different digests"

! build mygpu mistake || fail "the mistake is not found"
grep -q "^error XFER-006" "$work/log" || fail "the mistake is not found as one of content"
grep -q "(mygpu::BuildPagingBuffer, *\(mygpu.rs:[0-9]*)\)\{0,1\}$" "$work/log" || fail "no function of Rust is named"

# A panic is a bug check that tells the line.
line=$(grep -n "unsafe fn build_fill" "$work/mygpu/mygpu.rs" | cut -d: -f1)
sed -i "${line}a\\    assert!(args.DmaSize == 0);" "$work/mygpu/mygpu.rs"
build mygpu mygpu.sys || fail "a driver that panics does not build"
! "$drydock" check --driver "$work/mygpu/mygpu.sys" --seeds 1 >"$work/log" 2>&1 || fail "a panic is not found"
grep -q "bug check 0x52555354 (0x$(printf %x $((line + 1)))," "$work/log" || fail "a panic does not tell its line"

"$drydock" new --rust --cpp both >"$work/log" 2>&1 && fail "two languages are taken"
grep -q "choose one" "$work/log" || fail "the message does not say that there are two"
echo "a driver in Rust is softcopy, and its mistakes are found"
