# Makes the table of arms that `drydock ops` reports on from data/ddi/arms.tsv:
# ARM("structure", "arm", "condition", "source") for src/coverage/coverage_arms.c.
BEGIN { FS = "\t" }
FNR == 1 { next }
NF != 4 || $3 !~ /^[A-Za-z0-9.]+!?=[0-9]+( [A-Za-z0-9.]+!?=[0-9]+)*$/ {
    printf "%s:%d: an arm has four cells, and a condition is member=value or member!=value\n", FILENAME, FNR >"/dev/stderr"
    exit 1
}
{ printf "ARM(\"%s\", \"%s\", \"%s\", \"%s\")\n", $1, $2, $3, $4 }
