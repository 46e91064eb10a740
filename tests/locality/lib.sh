# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
run() { timeout -k 1 100 "$peet" run --quiet "$@"; }
