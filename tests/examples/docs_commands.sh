# SPDX-License-Identifier: Apache-2.0
# The commands in the documentation work: every ```sh block of README.md and docs/GUIDE.md is run, in order, in a folder with
# the sources of the examples.  Blocks marked otherwise (```text, ```c) are not commands.
. "$(dirname "$0")/lib.sh"
mkdir try
cp "$examples"/*/*.c try/
cd try || exit 1
export PATH=$PEET_PREFIX/bin:$PATH PREFIX=$PEET_PREFIX
for document in README.md docs/GUIDE.md; do
    awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$PEET_SOURCE/$document" >commands.sh
    [ -s commands.sh ] || fail "no commands in $document"
    bash -e -u -o pipefail -x commands.sh >output 2>&1 </dev/null || {
        tail -n 30 output >&2
        fail "a command of $document"
    }
done
