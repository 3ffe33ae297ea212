#!/bin/sh
# Results in a database: written by several campaigns at once, made of folders, asked.
#
# Usage: query_test.sh PATH-OF-DRYDOCK
set -u
. "$(dirname "$0")/expect.sh"

# Two campaigns write one file at the same time.
bad="check --driver zoo:D37-fill-in-dwords --model physical --jobs 1 --no-shrink --quiet --settings none"
"$drydock" $bad --seeds 6 --shard 1/2 --db r.db --out one >/dev/null 2>err1 &
first=$!
"$drydock" $bad --seeds 6 --shard 2/2 --db r.db --out two >/dev/null 2>err2
second=$?
wait $first
[ $? -le 1 ] && [ $second -le 1 ] || fail "two writers: $(cat err1 err2)"
expect 0 query r.db 'SELECT count(*) AS n, count(DISTINCT seed) AS d, min(seed) AS a, max(seed) AS b FROM runs' --csv
[ "$(tail -1 out | tr -d '\r')" = 6,6,1,6 ] || fail "not six runs: $(cat out)"
expect 0 query r.db
prints '^id +runs +seed +called'
prints '^FILL-005-[0-9a-f]{8} +[1-6] +[1-6]  DxgkDdiBuildPagingBuffer\(FILL\)'

# The same of the folders: the same answers, and once more into one file they stay the same.
for question in causes failed outcomes totals rules together; do
    expect 0 query r.db $question --json
    mv out a
    expect 0 query one two $question --json
    cmp -s a out || fail "$question of a database and of folders differ: $(diff a out | head -5)"
done
expect 0 query one two --db s.db totals
expect 0 query one two --db s.db totals
prints 'zoo:D37-fill-in-dwords +6 '
expect 0 query s.db 'SELECT count(*) FROM findings' --csv
tail -1 out >a
expect 0 query r.db 'SELECT count(*) FROM findings' --csv
[ "$(cat a)" = "$(tail -1 out)" ] || fail "findings are there twice"

# A replay of it plays.
expect 0 query r.db "SELECT replay FROM runs WHERE outcome <> 'clean' ORDER BY seed LIMIT 1" --csv
command=$(tail -1 out | tr -d '\r"')
case $command in
"drydock check "*) ;;
*) fail "no command: $command" ;;
esac

# Questions only, and only of our files.
expect 2 query r.db 'DELETE FROM runs'
says 'one question \(SELECT \.\.\.\), which changes nothing'
expect 2 query r.db 'SELECT 1; SELECT 2'
expect 2 query r.db 'SELECT nosuch FROM runs'
says 'no such column: nosuch'
expect 2 query r.db cuases
says 'did you mean causes\?'
expect 2 query
expect 2 query nowhere totals
says "there is no 'nowhere'"
: >empty.db
expect 2 query empty.db
says 'is no database of drydock'
echo 'not a database at all, but long enough to be looked at' >text.db
expect 2 query text.db
says "'text.db'"
expect 2 check --seeds 1 --db text.db
says "'text.db'"
head -c 3000 r.db >cut.db
"$drydock" query cut.db totals >out 2>err
[ $? -eq 2 ] || fail "a database that is cut off: $(cat out err)"
expect 2 query r.db --db other.db
expect 0 query --list
prints '^causes '
expect 0 query --tables
prints 'CREATE TABLE runs'
expect 0 query r.db "SELECT 'a,\"b' AS x, NULL AS y, 1.5 AS z" --csv
[ "$(tail -1 out | tr -d '\r')" = '"a,""b",,1.5' ] || fail "CSV: $(cat out)"

# A database from elsewhere: a view without an end in the place of a table is not asked, a trigger does not
# run, and texts are text.
expect 0 query one --db view.db totals
expect 0 query one --db text2.db totals
if command -v sqlite3 >/dev/null; then
    ask() { sqlite3 "$1" "$2"; }
else
    ask() { python3 -c 'import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.executescript(sys.argv[2])' "$1" "$2"; }
fi
if ask text2.db "UPDATE findings SET text = char(27) || '[2J' || char(10) || '::error ::forged' || char(155) || '31m'"; then
    ask view.db "DROP TABLE findings; CREATE VIEW findings AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL
        SELECT x + 1 FROM c) SELECT x AS campaign, x AS seed, x AS case_path, x AS model, x AS place, x AS id,
        x AS kind, x AS rule, 1 AS is_cause, x AS called, x AS text, x AS line FROM c"
    expect 2 query view.db causes
    says "a view of the file's own, 'findings', is not asked"
    expect 0 query text2.db "SELECT text FROM findings" --json
    ! LC_ALL=C grep -q "^ *::error\|$(printf '\033')" out || fail "--json prints what a database says"
    expect 0 query text2.db "SELECT text FROM findings" --csv
    ! LC_ALL=C grep -q "^ *::error\|$(printf '\033')\|$(printf '\302\233')" out || fail "--csv prints what a database says"
    expect 0 query text2.db "SELECT char(155) || text FROM findings"
    ! LC_ALL=C grep -q "$(printf '\033')\|$(printf '\302\233')" out || fail "a table prints what a database says"
    ask text2.db "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM findings; END"
    expect 0 query one two --db text2.db "SELECT count(*) FROM findings" --csv
    [ "$(tail -1 out | tr -d '\r')" -ge 6 ] || fail "a trigger of the database has run: $(cat out)"
fi

if [ $failures -ne 0 ]; then
    echo "$failures failed"
    exit 1
fi
echo "questions are answered"
