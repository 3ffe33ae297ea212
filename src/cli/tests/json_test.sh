#!/bin/sh
# What each verb prints with --json is what its schema says, and the schemas are schemas.
#
# Usage: json_test.sh PATH-OF-DRYDOCK PATH-OF-SOURCE
set -u
drydock=$1
cases=$2/cases
if ! python3 -c 'import jsonschema' 2>/dev/null; then
    echo "skipped: python3 has no jsonschema (Debian: python3-jsonschema)"
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir schemas documents
failures=0
count=0
tested=" "

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# json STATUS SCHEMA VERB ARGUMENTS...: the document goes to documents/, with its schema's name.
json() {
    wanted=$1 schema=$2 verb=$3
    shift 2
    count=$((count + 1))
    tested="$tested$verb "
    "$drydock" "$@" --json >"documents/$count.$schema" 2>err
    got=$?
    [ "$got" -eq "$wanted" ] || fail "drydock $* --json exits with $got (expected $wanted): $(head -c 300 err)"
}

printf 'drydock-case 1\noption local-memory 4M\nalloc a size=3M segments=local\n' >large.case
printf 'alloc b size=3M segments=local\nsubmit c0 a:w b:w\nsubmit c0 a:w\nwait all\n' >>large.case
printf 'drydock-case 1\noption driver zoo:D10-pointer-stays\noption seed 5\nalloc a size=64K\n' >bad.case
printf 'alloc b size=64K\nsubmit c0 a:w b:w\nwait all\nread a\n' >>bad.case
for model in physical gpummu iommu; do
    json 0 run run "$cases/first-page-in.case" --model $model --no-out
done
json 1 run run large.case --model gpummu --no-out
json 1 run run "$cases/main.case" --model gpummu --driver zoo:D37-fill-in-dwords --out r
cp r/run.json documents/file.run
json 0 report report r
json 0 trace trace r
"$drydock" run "$cases/main.case" --model gpummu --out r2 --quiet
json 0 comparison report r2 --compare r
json 0 comparison report r2 --compare r2
json 0 runs run "$cases/first-page-in.case" --model both --no-out
json 1 run replay bad.case
json 0 run replay "$cases/first-page-in.case" --judge
json 0 shrink shrink bad.case -o small.case
json 0 check check --seeds 2 --jobs 1
json 1 check check --seeds 2 --jobs 1 --driver zoo:D37-fill-in-dwords --out c
json 1 check check --seeds 4 --jobs 1 --driver zoo:D10-pointer-stays --max-findings 1 --no-shrink
json 0 campaign_report report c --no-play
json 0 profiles check --profile list
json 1 check merge c
json 0 query query c
json 0 gen gen random -o random.case
json 0 generators gen
json 0 import import random.case -o other.case
json 0 options options
json 0 options options seed
json 0 ops ops "$cases/first-page-in.case"
json 0 ops ops "$cases/first-page-in.case" --open
json 1 zoo zoo D10-pointer-stays D03-wants-private --model physical --seeds 1 --seconds 1
json 0 zoo zoo --lawful --seeds 1 L0
json 0 defects zoo --list
json 0 defects zoo --list --lawful
json 0 rules rules
json 0 rules rules --from c FILL
json 0 rules rules KMT
json 0 explain explain PB-004 XFER content KMT
json 0 explain explain r/run.json --from c
json 0 bench bench --quick residency
json 0 new new my-gpu
json 0 schemas schema
"$drydock" doctor --seconds 0 >out 2>err # 1: something is missing here
json $? doctor doctor --seconds 0
json $? doctor doctor --seconds 1
if command -v clang >/dev/null && command -v lld-link >/dev/null && command -v llvm-dlltool >/dev/null; then
    printf 'int KeWhatNobodyHas(void);\nint DriverEntry(void) { return KeWhatNobodyHas(); }\n' >lacks.c
    json 0 cc cc -o lacks.sys lacks.c
    json 0 cc cc -c -o lacks.obj lacks.c
    json 1 imports imports lacks.sys
else
    echo "not tested without clang and lld-link: cc, imports"
    tested="${tested}cc imports "
fi
# That of exec is tested where there is an application (tests/apps/exec.sh).
tested="${tested}exec "
for verb in $("$drydock" --help | sed -n 's/^  drydock \([a-z]*\) .*/\1/p'); do
    case $tested in
    *" $verb "*) ;;
    *)
        "$drydock" "$verb" --help | grep -q -e ' --json ' && fail "the JSON of $verb is not tested here"
        ;;
    esac
done

for name in $("$drydock" schema | sed 's/ .*//'); do
    "$drydock" schema "$name" >"schemas/$name" || fail "no schema $name"
done
"$drydock" schema rnu 2>err && fail "a schema that is none"
grep -q 'did you mean run' err || fail "schema names no other: $(cat err)"

# The form is checked, and that a document with a member more, or one less, does not pass.
python3 - >out <<'END' || failures=$((failures + 1))
import copy, json, os, sys
import jsonschema

bad = 0
schemas = {name: json.load(open("schemas/" + name)) for name in os.listdir("schemas")}
used = set()
for name, schema in schemas.items():
    jsonschema.Draft202012Validator.check_schema(schema)
for file in sorted(os.listdir("documents")):
    name = file.split(".")[1]
    used.add(name)
    try:
        document = json.load(open("documents/" + file))
    except ValueError as error:
        print("FAILED:", file, "is no JSON:", error)
        bad += 1
        continue
    validator = jsonschema.Draft202012Validator(schemas[name])
    for error in list(validator.iter_errors(document))[:3]:
        print("FAILED:", file, "/".join(map(str, error.absolute_path)), error.message[:200])
        bad += 1
    if document.get("schema") != name or document.get("format") != 1:
        print("FAILED:", file, "does not say that it is", name)
        bad += 1
    for change in ("more", "less"):
        other = copy.deepcopy(document)
        if change == "more":
            other["member_that_nobody_knows"] = 1
        else:
            other.pop("format")
        if change == "more" and schemas[name]["additionalProperties"]:
            continue  # its schema says so
        if validator.is_valid(other):
            print("FAILED: schema", name, "takes a document with a member", change)
            bad += 1
if os.path.exists("documents") and len(used) < len(schemas) - 2:
    print("FAILED: schemas without a document here:", sorted(set(schemas) - used))
    bad += 1
print(len(os.listdir("documents")), "documents,", len(schemas), "schemas")
sys.exit(1 if bad else 0)
END
cat out
exit "$((failures != 0))"
