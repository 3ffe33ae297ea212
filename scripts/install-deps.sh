#!/bin/sh
# Installs the Debian packages that the build and the tests need and that are not there yet. With DRYDOCK_DEPS=run
# those that the program needs alone, with package those that packages of it need, with action those of action.yml.
set -eu

packages="cmake ninja-build gcc g++ clang clang-format lld llvm pkg-config libcmocka-dev libjansson-dev libsqlite3-dev libzstd-dev zlib1g-dev libzydis-dev protobuf-compiler
gcc-mingw-w64-x86-64 g++-mingw-w64-x86-64 rustc libstd-rust-dev-windows bindgen dpkg-dev file"

run_packages="cmake ninja-build gcc g++ pkg-config libjansson-dev libsqlite3-dev libzstd-dev zlib1g-dev libzydis-dev"
case ${DRYDOCK_DEPS:-} in
run) packages=$run_packages ;;
package) packages="$run_packages dpkg-dev file" ;; # CPack asks both which libraries the program needs
action) packages="$run_packages clang lld llvm make" ;; # what action.yml needs: drivers are built, too
esac

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
if [ "$(id -u)" -ne 0 ]; then
    sudo="sudo"
    command -v sudo >/dev/null || {
        echo "install-deps: no sudo here. Ask the administrator for: apt-get install$missing" >&2
        echo "install-deps: what is installed otherwise is found by the build: cmake --preset release" >&2
        exit 2
    }
fi
$sudo apt-get update -qq || echo "install-deps: the lists of packages stay as they were" >&2
# What a release does not have (Debian 13: libstd-rust-dev-windows) is told; the build and its tests go on without it.
there="" absent=""
for package in $missing; do
    if apt-cache show "$package" >/dev/null 2>&1; then there="$there $package"; else absent="$absent $package"; fi
done
[ -z "$absent" ] || echo "not in this release, and its tests are skipped:$absent"
[ -n "$there" ] || exit 0
echo "installing:$there"
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $there >/dev/null
