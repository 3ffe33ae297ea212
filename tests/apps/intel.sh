#!/bin/sh
# Debian's OpenCL and Level Zero drivers for Intel, unmodified, by `drydock exec` on the model of Intel's copy engines:
#
#     tests/apps/intel.sh BUILD [--long]      BUILD is a folder like build/release
#
# Needs: apt-get install intel-opencl-icd clinfo clpeak opencl-c-headers ocl-icd-opencl-dev libze-dev
# (and clang, lld, llvm for the driver's image). Without them nothing is tested, and that is said. The long set takes
# clpeak, ffmpeg, python3-pyopencl and python3-opencv along where they are.
set -u

[ $# -ge 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
is_long=${2:-}
drydock=$build/drydock
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

skip() {
    echo "skipped: $1"
    exit 0
}
for tool in clang lld-link llvm-dlltool make cc clinfo; do
    command -v $tool >/dev/null || skip "no $tool here"
done
[ -e /etc/OpenCL/vendors/intel.icd ] || skip "intel-opencl-icd is not installed"
[ -e /usr/include/CL/cl.h ] || skip "opencl-c-headers is not installed"
for node in /dev/dri/renderD*; do
    [ -e "$node" ] && skip "there is a GPU here, which the driver would take"
done

# The library that is loaded into the client has the runtime; the client of somebody else has not.
ldd "$drydock" 2>/dev/null | grep -q libasan && skip "a program of others has no sanitizer"

complain() {
    echo "intel.sh: $1" >&2
    sed 's/^/    /' "$folder/out" >&2
    failed=1
}

cp -r "$source/examples" "$folder/examples"
rm -f "$folder"/examples/driver-intel/*.s[yo]*
make -C "$folder/examples/driver-intel" DRYDOCK="$drydock" DRYDOCK_INCLUDE="$source/include" >"$folder/out" 2>&1 ||
    { complain "the driver is not built"; exit 1; }
driver=$folder/examples/driver-intel
clients=$source/tests/apps/intel
for client in cl_sweep cl_churn cl_images; do
    cc -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -o "$folder/$client" "$clients/$client.c" -lOpenCL -lpthread \
        >"$folder/out" 2>&1 || { complain "$client is not built"; exit 1; }
done
has_level_zero=no
[ -e /usr/include/level_zero/ze_api.h ] && has_level_zero=yes &&
    cc -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -o "$folder/ze_churn" "$clients/ze_churn.c" -lze_loader -lpthread

# A text of the output, local memory, then the program: it succeeds, gives up what it had, and there are no findings.
ends='0 findings$'
expect() {
    text=$1 memory=$2
    shift 2
    "$drydock" exec --driver "$driver/intel.sys" --gpu "$driver/intel_blt.so" --local-memory "$memory" -- "$@" \
        >"$folder/out" 2>&1 || complain "$memory, $*: it failed"
    grep -q -e "$text" "$folder/out" || complain "$memory, $*: no '$text'"
    grep -q "[^0-9]$ends" "$folder/out" || complain "$memory, $*: findings, or a client that died"
    [ -z "$is_long" ] || { echo "== $memory $*"; tail -n 3 "$folder/out"; }
}
moves() {
    grep -q '[^0-9]0 evictions' "$folder/out" && complain "nothing had to leave local memory"
}

expect 'Intel(R) Graphics' 64M clinfo -l
expect 'all content right' 64M "$folder/cl_sweep" total=16 buffer=1024 steps=1
expect 'all content right' 12M "$folder/cl_sweep" total=16 buffer=1024 steps=1
moves
expect '0 wrong lines' 12M "$folder/cl_churn" total=16 buffer=1024 threads=2 steps=30
expect 'images, 0 wrong' 12M "$folder/cl_images" total=8 buffer=1024 steps=100
[ $has_level_zero = no ] || expect '0 wrong lines' 12M "$folder/ze_churn" total=16 buffer=1024 threads=2 steps=30

# A record has the allocations and their residency, and plays on the same driver without the client.
"$drydock" exec --driver "$driver/intel.sys" --gpu "$driver/intel_blt.so" --local-memory 12M \
    --record "$folder/sweep.case" -- "$folder/cl_sweep" total=16 buffer=1024 steps=1 >"$folder/out" 2>&1 ||
    complain "under a recorder it failed"
[ "$(grep -c '^alloc .* segments=local' "$folder/sweep.case")" -ge 16 ] || complain "the record lacks allocations"
"$drydock" run "$folder/sweep.case" --driver "$driver/intel.sys" --gpu "$driver/intel_blt.so" --no-out \
    >"$folder/out" 2>&1 || complain "the record does not play"

if [ -n "$is_long" ]; then
    # 1/1, 1/2 and 1/8 of what they allocate; then four at once in one eighth; clpeak, whose kernels are not run.
    for memory in 160M 80M 24M; do
        expect 'all content right' $memory "$folder/cl_sweep" total=128 buffer=4096 steps=2
        expect '0 wrong lines' $memory "$folder/cl_churn" total=128 steps=100
        expect 'images, 0 wrong' $memory "$folder/cl_images" total=64 steps=400
        [ $has_level_zero = no ] || expect '0 wrong lines' $memory "$folder/ze_churn" total=128 steps=100
    done
    printf '%s\n' 'for i in 1 2 3 4; do' "\"$folder/cl_sweep\" total=32 buffer=2048 steps=2 & done" 'wait' >"$folder/four"
    expect 'all content right' 16M sh "$folder/four"
    [ "$(grep -c 'all content right' "$folder/out")" = 4 ] || complain "not all of four are right"
    moves
    ! command -v clpeak >/dev/null || expect 'enqueueUnmap' 256M clpeak --transfer-bandwidth
    ! command -v clpeak >/dev/null || expect 'Kernel launch latency' 256M clpeak --kernel-latency
    ! command -v clpeak >/dev/null || expect 'float16' 16M clpeak --global-bandwidth
    if /usr/bin/python3 -c 'import pyopencl' 2>/dev/null; then
        for memory in 256M 12M; do
            expect ' 0 wrong' $memory env NEOReadDebugKeys=1 PreferCopyEngineForCopyBufferToBuffer=1 \
                /usr/bin/python3 "$clients/cl_python.py" 3 ${memory%M}
        done
    fi
    if /usr/bin/python3 -c 'import cv2' 2>/dev/null; then
        ends='0 findings' # OpenCV releases nothing, not even its context
        for memory in 256M 12M; do
            expect ' images, 0 wrong' $memory /usr/bin/python3 "$clients/cl_opencv.py" 24
        done
        moves
        ends='0 findings$'
    fi
    if command -v ffmpeg >/dev/null; then # frames by way of images are those that did not go there
        frames='-v error -f lavfi -i testsrc=size=1280x720:rate=10:duration=2'
        # shellcheck disable=SC2086
        ffmpeg $frames -vf format=nv12 -f framemd5 "$folder/frames" 2>/dev/null
        # shellcheck disable=SC2086
        expect '' 24M ffmpeg -init_hw_device opencl=ocl -filter_hw_device ocl $frames \
            -vf format=nv12,hwupload,hwdownload,format=nv12 -f framemd5 "$folder/frames-by-images"
        cmp -s "$folder/frames" "$folder/frames-by-images" || complain "ffmpeg: the frames are others"
    fi
fi
[ $failed = 0 ] && echo "Intel's drivers are right on the model"
exit $failed
