# SPDX-License-Identifier: Apache-2.0
# Children, and System V objects: as in the plain run, with other threads alive.
. "$(dirname "$0")/lib.sh"
build children -w
timeout 60 ./plain.children >want 2>&1 || { echo "the plain program does not run here: $(tail -1 want)"; exit 77; }
both children
exit 0
