#!/bin/sh
# Fails on an include that goes against the arrows of docs/architecture.md.
# Each line: module, then the modules whose headers its sources may include. "wdk", "vidmm-api" and
# "drydock-api" stand for include/wdk, include/vidmm and include/drydock. Tests are free.
set -eu
cd "$(dirname "$0")/.."

rules="
base        base
miniport    base miniport wdk
vidsch      base miniport vidsch wdk
vidmm       base miniport vidsch vidmm vidmm-api wdk
machine     base machine
sgpu        base machine sgpu drydock-api
nt          base machine image nt wdk
image       base image
refkmd      refkmd wdk drydock-api
check       base miniport machine check wdk
workload    base workload
bench       base miniport vidsch vidmm-api machine sgpu image nt refkmd check workload bench wdk drydock-api
report      base bench check miniport workload report vidmm-api wdk
cli         zoo base nt image bench report workload sgpu machine check miniport cli vidmm-api drydock-api wdk
"

bad=0
for file in $(git ls-files 'src/*.c' 'src/*.h' | grep -v '_test\.c$' | grep -v '_fuzz\.c$' |
              grep -v '/test_' | grep -v '_test_'); do
    module=$(echo "$file" | cut -d/ -f2)
    allowed=$(echo "$rules" | awk -v m="$module" '$1 == m { $1 = ""; print }')
    if [ -z "$allowed" ]; then
        echo "$file: module '$module' has no line in scripts/check-includes.sh"
        bad=1
        continue
    fi
    for include in $(sed -nE 's/^ *# *include *["<]([^">]+)[">].*/\1/p' "$file"); do
        case "$include" in
        vidmm/vidmm.h) from=vidmm-api ;;
        drydock/*) from=drydock-api ;;
        */*)
            from=$(echo "$include" | cut -d/ -f1)
            [ -d "src/$from" ] || continue ;;
        *)
            if [ -e "include/wdk/$include" ]; then
                from=wdk
            elif [ -e "$(dirname "$file")/$include" ]; then
                from=$module
            else
                continue
            fi ;;
        esac
        case " $allowed " in
        *" $from "*) ;;
        *)
            echo "$file: includes <$include>, but $module may not include $from"
            bad=1 ;;
        esac
    done
done
exit $bad
