# SPDX-License-Identifier: Apache-2.0
# The same sweep here and through GNU parallel over ssh, to a server of the test's own on this computer: the same numbers.
. "$(dirname "$0")/../lib.sh"
. "$here/subject.sh"
server=$(command -v sshd || echo /usr/sbin/sshd)
for program in parallel ssh ssh-keygen "$server"; do
    command -v "$program" >/dev/null || skip "$program is not installed (Debian: parallel, openssh-client, openssh-server)"
done
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
port=$((20000 + $$ % 20000))
ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f user || skip "no keys"
cp user.pub authorized
chmod 600 authorized
cat >sshd.conf <<END
ListenAddress 127.0.0.1
Port $port
HostKey $PWD/host
AuthorizedKeysFile $PWD/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
MaxStartups 100
END
"$server" -D -e -f "$PWD/sshd.conf" 2>sshd.log &
sshd=$!
trap 'kill $sshd 2>/dev/null' EXIT
ssh="ssh -p $port -i $PWD/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=$PWD/hosts -o BatchMode=yes"
for ((i = 0; i < 30; i++)); do
    $ssh 127.0.0.1 true 2>ssh.log && break
    kill -0 $sshd 2>/dev/null || skip "sshd does not run here: $(tail -n 2 sshd.log)"
    sleep 0.2
done
$ssh 127.0.0.1 true 2>ssh.log || skip "no way in: $(tail -n 2 ssh.log sshd.log)"
"$peet" sweep -d here plan.cfg -- ./subject >here.txt 2>message && fail "a run that fails"
"$peet" sweep -d far --parallel="--ssh '$ssh' --sshlogin 2/127.0.0.1" plan.cfg -- ./subject >far.txt 2>message && fail "a run that fails, far away"
grep -q '1 of 9 runs failed' message || fail "failures: $(cat message)"
same here/table.csv far/table.csv "ssh"
same here.txt far.txt
grep -q 'Accepted publickey' sshd.log || fail "nothing came by ssh: $(tail -n 3 sshd.log)"
exit 0
