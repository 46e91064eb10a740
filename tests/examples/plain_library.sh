# SPDX-License-Identifier: Apache-2.0
# A program compiled by the plain compiler and linked with the runtime library runs its doall loops sequentially.
. "$(dirname "$0")/lib.sh"
case ${PEET_SANITIZED:-OFF} in ON | 1 | TRUE) echo "a sanitised runtime library cannot be linked to a plain program"; exit 0 ;; esac
must "$CC" -O2 -I"$PEET_PREFIX/include" -o shallow.rt "$examples/shallow/shallow.c" -L"$PEET_PREFIX/lib" -lpeet-rt \
    -Wl,-rpath,"$PEET_PREFIX/lib" -lm
plain shallow.plain -O2 "$examples/shallow/shallow.c"
must ./shallow.plain 32 32 5 >expected
must ./shallow.rt 32 32 5 >got
same expected got "doall loops of the runtime library, run plainly"
