# SPDX-License-Identifier: Apache-2.0
# 64 views of a gibibyte need memory for the pages that are written, and no more.
. "$(dirname "$0")/lib.sh"
free=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
[ "${free:-0}" -gt 3000000 ] || skip "there are not 3 GB of free memory"
must "$peetcc" -O2 -fpeet-domains -I"$here" "$here/large.c" -o large
viewed 64 0 ./large >out 2>err || fail "$(cat out err)"
cat out
