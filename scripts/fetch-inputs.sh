#!/bin/sh
# Fetches public inputs of the commands in README.md and docs/, which are not part of this repository:
#
#     scripts/fetch-inputs.sh [FOLDER]      (inputs)
#
#     sample_trace.rmv           the sample capture of Radeon Memory Visualizer (GPUOpen-Tools, MIT): 18,805 updates of
#                                page tables by Windows' own memory manager, on a Radeon RX 6600
#     graphics-driver-samples    Microsoft's sample miniports (MIT), for docs/your-driver.md and the test images/samples:
#                                DRYDOCK_SAMPLES=FOLDER/graphics-driver-samples
#     windows-driver-samples     Microsoft's sample of a display-only miniport (MS-PL), video/KMDOD, and
#     kvm-guest-drivers-windows  that of virtio's GPU (BSD), viogpu/viogpudo: docs/observed.md tells how they play
#
# A file is taken when its checksum is the one below, a repository at the commit below; what is there already and right
# is left. With DRYDOCK_INPUTS_FROM=FOLDER both are looked for there, under the same names, and not in the network.
# Exit status: 0 when all is there, 1 when something could not be had, 2 for bad input.
set -u

# name, SHA-256 of the file or commit of the repository, where from
inputs='
sample_trace.rmv 33eaa5befa1cee1ff2f8c4a04d5732904f7bdabb2566ea4349778562ac16fdf3 https://github.com/GPUOpen-Tools/radeon_memory_visualizer/raw/d519147fb54c351e8fde46f13dbac8431ae89b68/samples/sample_trace.rmv
graphics-driver-samples de4a2161991eda254013da6c18226f5ea06e4a9c https://github.com/microsoft/graphics-driver-samples
windows-driver-samples 26a27df80772dbcfd69e6449b671d5c29eb5aedc https://github.com/microsoft/Windows-driver-samples
kvm-guest-drivers-windows fbcc19d763f92a8281abe364c7ea1de3de87e61d https://github.com/virtio-win/kvm-guest-drivers-windows
'

case ${1:-} in
-*) sed -n '2,17s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
out=${1:-inputs}
mkdir -p "$out" || exit 2

is_right() { # PATH SUM
    if [ -d "$1" ]; then
        [ "$(git -C "$1" rev-parse --verify HEAD 2>/dev/null)" = "$2" ]
    else
        [ -f "$1" ] && [ "$(sha256sum <"$1" | cut -d ' ' -f 1)" = "$2" ]
    fi
}

get_file() { # URL PATH
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$2" "$1"
    else
        wget --quiet --output-document="$2" "$1"
    fi
}

get() { # NAME SUM URL, into "$out/.new"
    from=${DRYDOCK_INPUTS_FROM:+$DRYDOCK_INPUTS_FROM/$1}
    case $1 in
    *.*) if [ "$from" ]; then cp "$from" "$out/.new"; else get_file "$3" "$out/.new"; fi ;;
    *) git clone --quiet --no-checkout "${from:-$3}" "$out/.new" && git -C "$out/.new" checkout --quiet "$2" ;;
    esac
}

status=0
while read -r name sum url; do
    [ "$name" ] || continue
    if is_right "$out/$name" "$sum"; then
        echo "$out/$name: there"
        continue
    fi
    if [ -e "$out/$name" ]; then
        echo "fetch-inputs: $out/$name is another one than this script names: take it away first" >&2
        status=1
        continue
    fi
    rm -rf "$out/.new"
    if ! get "$name" "$sum" "$url"; then
        echo "fetch-inputs: $name could not be had from ${DRYDOCK_INPUTS_FROM:-$url} (without a network: fetch it" \
            "elsewhere and name its folder, DRYDOCK_INPUTS_FROM=FOLDER)" >&2
        status=1
    elif ! is_right "$out/.new" "$sum"; then
        echo "fetch-inputs: $name from ${DRYDOCK_INPUTS_FROM:-$url} is not the one with checksum $sum: it is left out" >&2
        status=1
    else
        mv "$out/.new" "$out/$name" && echo "$out/$name: fetched"
    fi
    rm -rf "$out/.new"
done <<END
$inputs
END
exit $status
