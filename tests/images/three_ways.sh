#!/bin/sh
# One driver, built three ways, is one driver: the reference miniport linked in, as an image made by
# clang and lld, and as an image made by mingw-w64, gives the same digest in every run.
#
# Usage: three_ways.sh DRYDOCK SOURCE SEEDS [MODEL...]     (all models where none is named)
set -eu
. "$(dirname "$0")/image.sh"
seeds=$3
shift 3
[ $# -gt 0 ] || set -- physical gpummu iommu

mingw=x86_64-w64-mingw32
command -v $mingw-gcc >/dev/null || { echo "no $mingw-gcc here: images by clang only"; mingw=; }

cd "$source" # names of sources have no blanks then
sources=$(find src/refkmd -name '*.c' | sort | grep -v '_test\.c$\|/test_[a-z_]*\.c$')

build_with_mingw() { # ENTRY IMAGE
    if [ ! -e "$work/libntoskrnl.a" ]; then
        # What the bench has, as clang's image imports it.
        { echo "LIBRARY ntoskrnl.exe"; echo EXPORTS
          llvm-readobj --coff-imports "$work/clang.sys" | sed -n 's/^ *Symbol: \([^ ]*\) .*/ \1/p'
        } >"$work/ntoskrnl.def"
        $mingw-dlltool -d "$work/ntoskrnl.def" -l "$work/libntoskrnl.a"
    fi
    # shellcheck disable=SC2086
    $mingw-gcc -O2 -g -fno-builtin -nostdlib -Iinclude/wdk -Iinclude -Isrc \
        -Wl,--subsystem,native -Wl,--entry,"$1" -Wl,--dynamicbase \
        -o "$2" $sources "$work/libntoskrnl.a" -lgcc
}

# Digests of the runs, in the order of their seeds.
digests() { # DRIVER MODEL CASE
    # A seed draws buffers below the declared size for the linked-in driver alone, but for this profile.
    "$drydock" check "$3" --driver "$1" --model "$2" --profile small-buffers --focus user-memory=steady --seeds "$seeds" -j 2 --repeat 0 --no-shrink \
        --out "$work/out" >"$work/log" 2>&1 || { cat "$work/log"; return 1; }
    sed 's/.*"digest":"\([0-9a-f]*\)".*"seed":\([0-9]*\).*/\2 \1/' "$work/out/results.jsonl" | sort -n
    rm -rf "$work/out"
}

failures=0
for model in "$@"; do
    case $model in
    physical) level=1.3 entry=RefKmdDriverEntryPhysical ;;
    gpummu) level=2.6 entry=RefKmdDriverEntryGpuMmu ;;
    iommu) level=2.6 entry=RefKmdDriverEntryIoMmu ;;
    esac
    # shellcheck disable=SC2086
    "$drydock" cc -o "$work/clang.sys" --entry $entry -Iinclude -Isrc $sources
    images=clang
    if [ -n "$mingw" ]; then
        build_with_mingw $entry "$work/mingw.sys"
        images="clang mingw"
    fi
    # Commands change and go away while they are read (PATCH-016); who has no handler stops the machine.
    if [ "$model" = physical ]; then
        if ! "$drydock" check --driver "$work/clang.sys" --gpu sgpu --model physical --seeds 6 -j 2 --repeat 0 --no-shrink \
            --focus user-memory=changes >"$work/log" 2>&1; then
            echo "FAILED: user memory"; head -8 "$work/log"; failures=$((failures + 1))
        fi
        if [ -n "$mingw" ]; then
            "$drydock" check --driver "$work/mingw.sys" --gpu sgpu --model physical --seeds 6 -j 2 --repeat 0 --no-shrink \
                --focus user-memory=changes >"$work/log" 2>&1 || true
            tr '\n' ' ' <"$work/log" | grep -q '0x1e .*memory of the client.*PATCH-016' ||
                { echo "FAILED: no handler, and nobody says so"; head -8 "$work/log"; failures=$((failures + 1)); }
        fi
    fi
    for case in evict-and-restore partial-writes; do
        sed "1a option wddm $level" "$source/cases/$case.case" >"$work/$case.case"
        digests ref $model "$work/$case.case" >"$work/linked-in"
        [ "$(wc -l <"$work/linked-in")" -eq "$seeds" ] || { echo "FAILED: not all seeds ran"; exit 1; }
        for image in $images; do
            digests "$work/$image.sys" $model "$work/$case.case" >"$work/of-image"
            if cmp -s "$work/linked-in" "$work/of-image"; then
                echo "$model, $case, $image: $seeds digests are those of the driver linked in"
            else
                echo "FAILED: $model, $case, $image: other digests"
                diff "$work/linked-in" "$work/of-image" | head -5
                failures=$((failures + 1))
            fi
        done
    done
done
[ "$failures" -eq 0 ]
