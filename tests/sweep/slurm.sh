# SPDX-License-Identifier: Apache-2.0
# The same sweep here and as a job array of Slurm, on a cluster of one node: the same numbers, failures kept apart, and it goes on.
. "$(dirname "$0")/../lib.sh"
. "$here/cluster.sh"
. "$here/subject.sh"
slurm_pids=
trap slurm_end EXIT
slurm_cluster || skip "no Slurm: $slurm_why"
"$peet" sweep -d here plan.cfg -- ./subject >here.txt 2>message && fail "a run that fails"
"$peet" sweep -d array --slurm="--time=5" plan.cfg -- ./subject >array.txt 2>message && fail "a run that fails, as a job"
grep -q '1 of 9 runs failed' message || fail "failures: $(cat message)"
same here/table.csv array/table.csv "Slurm"
same here.txt array.txt
grep -q part < <(ls array/runs) && fail "something was left under way"
# nothing is left to do, so nothing is submitted
rm -f array/slurm.sh
"$peet" sweep -d array --slurm plan.cfg -- ./subject >again.txt 2>message
same array.txt again.txt
[ ! -e array/slurm.sh ] || fail "jobs for a sweep that was done"
exit 0
