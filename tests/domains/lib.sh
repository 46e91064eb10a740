# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases of this area: programs run with the host that has views of memory and nothing else.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# viewed VIEWS VIEW COMMAND...: the contexts' references go to this one of so many views; libraries lie as peet run has them with views
viewed() {
    env PEET_CONFIG=none PEET_LIB="$PEET_HOSTS" PEET_TEST_VIEWS="$1" PEET_TEST_VIEW="$2" setarch -R -L "${@:3}"
}
