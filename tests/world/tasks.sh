# SPDX-License-Identifier: Apache-2.0
# What /proc says of the subject's threads, of which the kernel has one.
. "$(dirname "$0")/lib.sh"
build tasks
both tasks
exit 0
