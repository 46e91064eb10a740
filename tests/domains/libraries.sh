# SPDX-License-Identifier: Apache-2.0
# Libraries, recorded and not, linked and loaded at run time, used from a view.
. "$(dirname "$0")/lib.sh"
must "$PEET_PLAIN_CC" -O2 -shared -fPIC "$here/plugin.c" -o libplain.so
must "$PEET_PLAIN_CC" -O2 "$here/libraries.c" -o plain ./libplain.so -Wl,-rpath,"$work"
must "$peetcc" -O2 -fpeet-domains -shared -fPIC "$here/plugin.c" -o libviews.so
must "$peetcc" -O2 -shared -fPIC "$here/plugin.c" -o librecorded.so
for linked in libviews librecorded libplain; do
    must "$peetcc" -O2 -fpeet-domains "$here/libraries.c" -o views "./$linked.so" -Wl,-rpath,"$work"
    for loaded in libviews librecorded libplain; do
        cp libplain.so another.so # other files than what is linked: loaded anew
        cp $loaded.so first.so
        ./plain ./another.so ./another.so >expected
        viewed 3 2 ./views ./first.so ./first.so >got 2>err || fail "$linked, $loaded: status $?: $(cat err)"
        same expected got "$linked linked, $loaded loaded"
    done
done
