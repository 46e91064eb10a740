# SPDX-License-Identifier: Apache-2.0
# Sourced by tests: a Slurm cluster of one node, this computer, in the folder where the test works: munged, slurmctld and slurmd of its own.
# Needs root, for slurmd runs jobs as whoever asks.

# slurm_cluster: begin it.  Returns: 0, and SLURM_CONF says where it is; 1: it cannot be had, and $slurm_why says why
slurm_cluster() {
    local program at=$PWD/slurm name port
    [ "$(id -u)" = 0 ] || { slurm_why="slurmd needs root"; return 1; }
    for program in munged slurmctld slurmd sbatch sinfo; do
        command -v $program >/dev/null || { slurm_why="$program is not installed (Debian: slurm-wlm, munge)"; return 1; }
    done
    name=$(hostname -s)
    port=$((20000 + $$ % 20000))
    mkdir -p "$at/state" "$at/spool"
    chmod 755 "$at" # munged is particular about who may write there
    head -c 128 /dev/urandom >"$at/key"
    chmod 400 "$at/key"
    cat >"$at/slurm.conf" <<END
ClusterName=peet
SlurmctldHost=$name(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$at/munge.socket
CredType=cred/munge
StateSaveLocation=$at/state
SlurmdSpoolDir=$at/spool
SlurmctldPidFile=$at/slurmctld.pid
SlurmdPidFile=$at/slurmd.pid
SlurmctldPort=$port
SlurmdPort=$((port + 1))
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0
SlurmdParameters=config_overrides
CompleteWait=0
NodeName=$name NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=NO
END
    export SLURM_CONF=$at/slurm.conf
    munged --foreground --force --key-file="$at/key" --socket="$at/munge.socket" --pid-file="$at/munged.pid" --log-file="$at/munged.log" \
        --seed-file="$at/munged.seed" >"$at/munged.out" 2>&1 &
    slurm_pids=$!
    for ((i = 0; i < 50; i++)); do [ -S "$at/munge.socket" ] && break; sleep 0.1; done
    slurmctld -D -i -f "$SLURM_CONF" >"$at/slurmctld.out" 2>&1 &
    slurm_pids="$slurm_pids $!"
    slurmd -D -f "$SLURM_CONF" -N "$name" >"$at/slurmd.out" 2>&1 &
    slurm_pids="$slurm_pids $!"
    for ((i = 0; i < 100; i++)); do
        grep -q -x idle < <(sinfo -h -o %T 2>/dev/null) && return 0
        sleep 0.2
    done
    slurm_why="the cluster does not come up: $(tail -n 2 "$at"/*.out | tr '\n' ' ')"
    slurm_end
    return 1
}

# slurm_end: end what slurm_cluster has begun
slurm_end() {
    local pid
    for pid in $slurm_pids; do kill "$pid" 2>/dev/null; done
    wait $slurm_pids 2>/dev/null
    slurm_pids=
}
