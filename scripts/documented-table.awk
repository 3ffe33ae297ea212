# Makes the table of src/cli/verbs/cc_names.c from data/ddi/documented.tsv: {name, kind, header, of}, sorted by name.

FNR == 1 { next }
NF < 3 || $1 !~ /^[A-Za-z][A-Za-z0-9_]*$/ {
    print FILENAME ":" FNR ": not a row of the table" > "/dev/stderr"
    exit 1
}
{ printf "{\"%s\", \"%s\", \"%s\", \"%s\"},\n", $1, $2, $3, $4 }
