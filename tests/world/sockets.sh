# SPDX-License-Identifier: Apache-2.0
# Sockets between threads of one program.
. "$(dirname "$0")/lib.sh"
build sockets
timeout 60 ./plain.sockets >want 2>want.err
[ $? = 77 ] && { echo "no loopback here"; exit 77; }
both sockets
exit 0
