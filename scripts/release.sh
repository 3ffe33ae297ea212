#!/bin/sh
# Builds and checks a release: the source archive, a build of it in a folder with blanks and letters of elsewhere
# and without git, its tests, the packages, and the list of checksums.
#
#     scripts/release.sh VERSION [--out FOLDER] [--tests REGEX] [--jobs N]
#
# VERSION is 1.2.3; CHANGELOG.md has to have a section of it, and the tree nothing that is not committed. --tests says
# which tests are played in the archive's build (all). FOLDER (build/release-VERSION) holds what is to be published:
# the archive, the packages, SHA256SUMS. The tag v1.2.3 is made by hand, when this has ended well.
set -eu
cd "$(dirname "$0")/.."

usage() {
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
fail() {
    echo "release: $*" >&2
    exit 1
}
step() {
    echo "== $*"
}
[ $# -ge 1 ] || usage
version=$1
shift
out=
tests=.
jobs=$(nproc)
while [ $# -gt 0 ]; do
    case $1 in
    --out) out=$2 ;;
    --tests) tests=$2 ;;
    --jobs) jobs=$2 ;;
    *) usage ;;
    esac
    shift 2
done
echo "$version" | grep -Eq '^[0-9]+\.[0-9]+\.[0-9]+$' || fail "'$version' is no version (expected one as 1.2.3)"
out=${out:-build/release-$version}
grep -Eq "^## \[?$version\]?( |$)" CHANGELOG.md || fail "CHANGELOG.md has no section '## $version'"
[ -z "$(git status --porcelain)" ] || fail "the tree has changes that are not committed"
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step "source archive"
name=drydock-$version
git archive --format=tar --prefix="$name/" HEAD | tar -xf - -C "$work"
printf '%s\n%s-g%s\n%s\n' "$version" "$version" "$(git rev-parse --short=10 HEAD)" \
    "$(git log -1 --format=%cd --date=format:%Y-%m-%d)" >"$work/$name/VERSION"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" -C "$work" -cf - "$name" |
    gzip -9n >"$out/$name.tar.gz"

step "build of the archive, without git, in a folder with blanks"
place="$work/dry dock ä"
mkdir "$place"
tar -xzf "$out/$name.tar.gz" -C "$place"
cd "$place/$name"
cmake --preset release -DDRYDOCK_WHOLE_PROGRAM=ON >"$work/configure.log" || { cat "$work/configure.log"; fail "configure"; }
cmake --build --preset release -j "$jobs" >"$work/build.log" || { tail -40 "$work/build.log"; fail "build"; }
said=$(build/release/drydock --version)
case $said in
"drydock $version-g"*) ;;
*) fail "the program says '$said'" ;;
esac

build/release/drydock run cases/first-page-in.case --report --out "$work/run" >"$work/run.log" 2>&1 || :
[ -s "$work/run/report.html" ] || { cat "$work/run.log"; fail "the program makes no reports"; }

step "tests"
ctest --test-dir build/release -j "$jobs" -R "$tests" --timeout 7200 --no-tests=error --output-on-failure >"$work/tests.log" ||
    { tail -60 "$work/tests.log"; fail "tests"; }
tail -3 "$work/tests.log"

step "packages"
sh tests/install/packages_test.sh cpack "$place/$name/build/release" "$place/$name" "" "$out"
cpack --config build/release/CPackConfig.cmake -G TGZ -B "$out" >"$work/tgz.log" || { cat "$work/tgz.log"; fail "archive"; }
rm -rf "$out/_CPack_Packages"

step "checksums"
cd "$out"
sha256sum ./*.tar.gz ./*.deb >SHA256SUMS
cat SHA256SUMS
echo "release $version: $out"
