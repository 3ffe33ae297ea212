#!/bin/sh
# Which files of a module call each other in a circle, by the symbols of the built objects:
#
#     scripts/circles.sh BUILD [--members] [MODULE...]      BUILD is a folder like build/release
#
# Prints the largest circle of each module, and fails when one is larger than its limit below. A file
# that is in no circle can be understood from what it calls downwards. With --members, the files of
# each circle, and for each of them how many calls of others lead into it.
set -eu

limits="vidmm=5"
others=2

[ $# -ge 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$1
shift
members=0
if [ "${1:-}" = --members ]; then
    members=1
    shift
fi
ls "$build"/libdrydock_*.a >/dev/null 2>&1 || { echo "$0: no modules in '$build'" >&2; exit 2; }

status=0
printf '%-10s %6s %8s %6s\n' module files circle limit
for library in "$build"/libdrydock_*.a; do
    module=$(basename "$library" .a | sed 's/^libdrydock_//')
    case " ${*:-$module} " in *" $module "*) ;; *) continue ;; esac
    limit=$others
    for pair in $limits; do
        [ "${pair%%=*}" = "$module" ] && limit=${pair##*=}
    done
    nm "$library" 2>/dev/null | awk -v module="$module" -v limit="$limit" -v members=$members '
        /^[^ ]*:$/ { file = substr($1, 1, length($1) - 3); if (!(file in seen)) { seen[file] = 1; files[++n] = file } next }
        $1 == "U" { uses[file] = uses[file] " " $2; next }
        $2 ~ /^[TDBRVWC]$/ { home[$3] = file }

        # Tarjan: low[v] is the oldest file of the stack that v reaches.
        function visit(v,    i, count, word, w) {
            index_of[v] = low[v] = ++clock
            stack[++top] = v
            on_stack[v] = 1
            count = split(uses[v], word, " ")
            for (i = 1; i <= count; i++) {
                if (!(word[i] in home) || (w = home[word[i]]) == v) continue
                if (!(w in index_of)) { visit(w); if (low[w] < low[v]) low[v] = low[w] }
                else if ((w in on_stack) && index_of[w] < low[v]) low[v] = index_of[w]
            }
            if (low[v] == index_of[v]) {
                circles++
                do { w = stack[top--]; delete on_stack[w]; circle[w] = circles; size[circles]++ } while (w != v)
                if (size[circles] > largest) largest = size[circles]
            }
        }
        END {
            for (i = 1; i <= n; i++) if (!(files[i] in index_of)) visit(files[i])
            printf "%-10s %6d %8d %6d%s\n", module, n, largest, limit, (largest > limit ? "  too large" : "")
            for (c = 1; c <= circles; c++) {
                if (size[c] < 2 || (!members && largest <= limit)) continue
                printf "    circle of %d:", size[c]
                for (i = 1; i <= n; i++) {
                    if (circle[files[i]] != c) continue
                    into = 0
                    for (j = 1; j <= n; j++) {
                        if (circle[files[j]] != c || i == j) continue
                        count = split(uses[files[j]], word, " ")
                        for (k = 1; k <= count; k++) into += home[word[k]] == files[i]
                    }
                    printf " %s(%d)", files[i], into
                }
                print ""
            }
            exit (largest > limit)
        }' || status=1
done
exit $status
