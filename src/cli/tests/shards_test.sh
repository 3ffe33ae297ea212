#!/bin/sh
# A campaign in shards under GNU parallel, or as an array of a Slurm of one node that this test starts. The worker of
# one shard is killed in the middle, and its shard is played again by the same command: merged, it is the campaign that
# one process plays.
#
# Usage: shards_test.sh parallel|slurm PATH-OF-DRYDOCK [SEEDS]
#
# Slurm needs a user who is root: Debian's slurmctld, slurmd and munged run from a folder of the test's own, with keys,
# ports and configuration of their own.
set -u
manager=$1
drydock=$2
seeds=${3:-200}
shards=4
skip() {
    echo "skipped: $*"
    exit 0
}
case $manager in
parallel)
    parallel --version 2>/dev/null | grep -q '^GNU parallel' || skip "no GNU parallel (Debian: parallel)"
    ;;
slurm)
    PATH=$PATH:/usr/sbin
    for tool in slurmctld slurmd sbatch munged; do
        command -v $tool >/dev/null || skip "no $tool (Debian: slurmctld, slurmd, slurm-client, munge)"
    done
    [ "$(id -u)" -eq 0 ] || skip "slurmd starts jobs as root alone"
    ;;
*) echo "usage: shards_test.sh parallel|slurm PATH-OF-DRYDOCK [SEEDS]" >&2; exit 2 ;;
esac
work=$(mktemp -d "${TMPDIR:-/tmp}/dry dock äXXXXXX") || exit 1
cluster=$(mktemp -d /tmp/drydock-slurm-XXXXXX) || exit 1 # slurm.conf takes no blanks
finish() {
    for daemon in slurmd slurmctld munge/munged; do
        [ ! -f "$cluster/$daemon.pid" ] || kill "$(cat "$cluster/$daemon.pid")" 2>/dev/null
    done
    rm -rf "$work" "$cluster"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1
HOME=$work
export HOME

fail() {
    echo "FAILED: $*"
    tail -n 5 "$cluster"/*.log 2>/dev/null
    exit 1
}
# Few seeds have a finding.
campaign="--driver zoo:SUB-refused-pending --model iommu --seeds $seeds --no-shrink --quiet --settings none"

# One shard: it tells its process, and findings are no failure of a job.
cat >shard <<END
#!/bin/sh
"$drydock" check $campaign --jobs 1 --shard \$1/$shards --out shards/\$1 --resume &
echo \$! >pid.\$1
wait \$!
status=\$?
[ \$status -gt 1 ] || exit 0
exit \$status
END
chmod +x shard

# Kills the worker of the third shard when it has played a quarter of it, and notes how many runs it has left.
kill_worker() {
    while [ "$(wc -l 2>/dev/null <shards/3/results.jsonl || echo 0)" -lt $((seeds / shards / 4)) ]; do
        sleep 0.05
    done
    kill -KILL "$(cat pid.3)" && sleep 0.2 && wc -l <shards/3/results.jsonl >killed
}

play_parallel() {
    mkdir .parallel && touch .parallel/will-cite
    seq $shards | parallel --jobs 2 --retries 2 --joblog jobs.log ./shard >said 2>&1 ||
        fail "parallel ends with $?: $(tail -n 5 said)"
    [ "$(awk 'NR > 1 && $7 == 0' jobs.log | wc -l)" -eq $shards ] || fail "a shard failed: $(cat jobs.log)"
}

start_slurm() {
    host=$(hostname -s)
    mkdir "$cluster/state" "$cluster/spool" "$cluster/munge"
    head -c 1024 /dev/urandom >"$cluster/munge/key"
    chmod 600 "$cluster/munge/key"
    chmod 755 "$cluster" "$cluster/munge"
    munged --key-file="$cluster/munge/key" --socket="$cluster/munge/socket" --seed-file="$cluster/munge/seed" \
        --pid-file="$cluster/munge/munged.pid" --log-file="$cluster/munge/log" || skip "munged does not start here"
    cat >"$cluster/slurm.conf" <<END
ClusterName=drydock
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=$((20000 + $$ % 20000))
SlurmdPort=$((20001 + $$ % 20000))
AuthType=auth/munge
AuthInfo=socket=$cluster/munge/socket
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=one Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    SLURM_CONF=$cluster/slurm.conf
    export SLURM_CONF
    slurmctld -c && slurmd || skip "slurmctld or slurmd does not start here: $(tail -n 3 "$cluster/slurmd.log")"
    for i in $(seq 300); do
        [ "$(sinfo --noheader --format=%T 2>/dev/null)" != idle ] || return 0
        sleep 0.1
    done
    skip "the node does not come up: $(tail -n 3 "$cluster/slurmd.log")"
}

# The array, and once more the task whose worker was killed, as somebody does who reads which task failed.
play_slurm() {
    sbatch --wait --array=1-$shards --output='said.%a' --wrap='./shard $SLURM_ARRAY_TASK_ID' >said 2>&1 &&
        fail "no task of the array failed"
    [ "$(scontrol --oneliner show job | grep JobState=FAILED | grep -o 'ArrayTaskId=[0-9]*')" = ArrayTaskId=3 ] ||
        fail "it is not the third task that failed: $(cat said)"
    sbatch --wait --array=3 --output='said.%a' --wrap='./shard $SLURM_ARRAY_TASK_ID' >said 2>&1 ||
        fail "the third task ends with $? again: $(tail -n 5 said.3)"
}

[ "$manager" = parallel ] || start_slurm
kill_worker &
killer=$!
play_$manager
kill $killer 2>/dev/null
[ -s killed ] || fail "no worker was killed"
[ "$(cat killed)" -lt $((seeds / shards)) ] || fail "the worker had ended before it was killed"

"$drydock" merge shards/* --out all --json >merged.json 2>err
[ $? -le 1 ] || fail "merge: $(head -3 err)"
"$drydock" check $campaign --out whole --json >whole.json 2>err
[ $? -le 1 ] || fail "the unsharded campaign: $(head -3 err)"
for key in runs digest findings operations evictions pages_checked; do
    a=$(grep "^  \"$key\":" merged.json)
    b=$(grep "^  \"$key\":" whole.json)
    [ -n "$a" ] && [ "$a" = "$b" ] || fail "$key differs: '$a' in shards, '$b' in one"
done
grep -o '"id": "[^"]*"' merged.json | sort >a
grep -o '"id": "[^"]*"' whole.json | sort >b
[ -s a ] && cmp -s a b || fail "the causes differ"
# Whose source line wrote a byte is looked for in the first run of a cause that a campaign sees.
lines() {
    sed 's/"writers":"[^"]*"//g; s/"function":"[^"]*"//g; s/"check":"[^"]*"//' "$1" | sort
}
lines all/results.jsonl >a
lines whole/results.jsonl >b
cmp -s a b || fail "the lines of the results differ"
echo "$manager: $shards shards of $seeds seeds, one killed behind $(cat killed) runs: the same" \
    "$(grep '^  "digest":' whole.json)"
