# SPDX-License-Identifier: Apache-2.0
# POSIX message queues between threads of one program.
. "$(dirname "$0")/lib.sh"
build queues
both queues
exit 0
