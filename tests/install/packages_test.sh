#!/bin/sh
# The Debian packages: what is in them, what lintian says, and a root that they were unpacked to is used.
#
# Usage: packages_test.sh CPACK BUILD SOURCE SANITIZERS [FOLDER]      FOLDER keeps the packages
set -eu
cpack=$1
build=$2
source=$3
[ -z "$4" ] || { echo "skipped: packages with sanitizers are not for others"; exit 0; }
for tool in dpkg-deb dpkg-shlibdeps file gzip; do
    command -v $tool >/dev/null || { echo "skipped: no $tool (Debian: dpkg-dev, file)"; exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packages=${5:-$work/packages}

fail() {
    echo "FAILED: $*"
    exit 1
}
run() {
    "$@" >"$work/log" 2>&1 || { echo "FAILED: $*"; tail -40 "$work/log"; exit 1; }
}
cd "$work"
run "$cpack" --config "$build/CPackConfig.cmake" -G DEB -B "$packages"
rm -rf "$packages/_CPack_Packages"
root=$work/root
mkdir "$root"
names=
for package in "$packages"/*.deb; do
    names="$names $(dpkg-deb -f "$package" Package)"
    dpkg-deb -c "$package" >"$work/files"
    grep -q ' \./usr/share/doc/[^/]*/copyright$' "$work/files" || fail "$package has no copyright"
    ! grep -E ' \./(usr/local|home|tmp|root)/' "$work/files" || fail "$package has a file elsewhere"
    # No two packages have the same file.
    awk '$1 ~ /^-/ { print $6 }' "$work/files" >>"$work/all"
    dpkg-deb -x "$package" "$root"
done
case " $names " in
*" drydock "*) ;;
*) fail "packages:$names" ;;
esac
[ "$(echo $names | wc -w)" -eq 4 ] || fail "packages:$names"
[ -z "$(sort "$work/all" | uniq -d)" ] || fail "in two packages: $(sort "$work/all" | uniq -d | head -5)"
for file in usr/bin/drydock usr/share/man/man1/drydock-check.1.gz usr/share/man/man5/drydock.toml.5.gz \
    usr/share/bash-completion/completions/drydock usr/share/zsh/vendor-completions/_drydock \
    usr/share/fish/vendor_completions.d/drydock.fish usr/share/drydock/cases/main.case \
    usr/share/doc/drydock/CHANGELOG.md usr/share/doc/drydock/findings.md usr/include/vidmm/vidmm.h \
    usr/include/drydock/wdk/d3dkmddi.h usr/lib/libvidmm.so usr/lib/pkgconfig/vidmm.pc; do
    [ -e "$root/$file" ] || fail "no $file"
done
dpkg-deb -f "$packages"/drydock_*.deb Depends | grep -q 'libc6' || fail "drydock depends on no libc6"
# What the driver of `drydock new` is built and checked with comes along.
for tool in clang lld llvm make; do
    dpkg-deb -f "$packages"/drydock_*.deb Recommends | grep -qw $tool || fail "drydock recommends no $tool"
done
if command -v lintian >/dev/null; then
    lintian --fail-on error "$packages"/*.deb >"$work/lintian" 2>&1 || { cat "$work/lintian"; fail "lintian"; }
    echo "lintian: $(grep -c '^W:' "$work/lintian" || :) warnings, no errors"
fi

# The unpacked root is used: the program finds its own files in it, and nothing of the source.
drydock=$root/usr/bin/drydock
run "$drydock" check --seeds 3 --settings none
run "$drydock" run "$root/usr/share/drydock/cases/first-page-in.case" --no-out --settings none
run "$drydock" new mygpu
if command -v clang >/dev/null && command -v lld-link >/dev/null && command -v llvm-dlltool >/dev/null; then
    run make -C mygpu DRYDOCK="$drydock"
    (cd mygpu && run "$drydock" check --seeds 3) || exit 1
fi
# In a root of its own, where there may be one: nothing but the packages and what they depend on.
if [ "$(id -u)" -eq 0 ] && command -v chroot >/dev/null; then
    for file in $(ldd "$drydock" | awk '/=> \// { print $3 } /^\t\/lib/ { print $1 }'); do
        mkdir -p "$root$(dirname "$file")"
        cp -L "$file" "$root$file"
    done
    mkdir -p "$root/proc" "$root/tmp"
    run chroot "$root" /usr/bin/drydock rules PB
    run chroot "$root" /usr/bin/drydock explain PB-004
fi
echo "packages:$names"
