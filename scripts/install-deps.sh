#!/bin/sh
# Installs the Debian packages that the build and the tests need and that are not there yet.
set -eu

packages="cmake ninja-build gcc g++ clang clang-format lld llvm pkg-config libcmocka-dev libjansson-dev libzstd-dev zlib1g-dev libzydis-dev protobuf-compiler
gcc-mingw-w64-x86-64 g++-mingw-w64-x86-64"

missing=""
for package in $packages; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "ok installed" ||
        missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "install-deps: not a Debian system; please install:$missing" >&2
    exit 2
fi
sudo=""
[ "$(id -u)" -eq 0 ] || sudo="sudo"
echo "installing:$missing"
$sudo apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
