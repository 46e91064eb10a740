#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the pictures of the guide beside this script, from runs of examples/shallow: parts of the page and pages on a terminal, as Chromium draws them,
# the plots of a comparison, a what-if and a sweep, the profile in KCachegrind, a precedence graph.
#
#   docs/pictures/make.sh [PREFIX]
#
# PREFIX is a build directory or an installation (default: build/ of this tree). Debian: chromium kcachegrind graphviz xvfb xauth dbus imagemagick
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:-$here/../../build}" && pwd)
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/../../examples/shallow/shallow.c" "$work"
cd "$work"
"$prefix/bin/peetcc" -O2 -g -o shallow shallow.c -lm
"$prefix/bin/peet" run -q --machine bus,cache=8KiB --cores 4 --observe profile --observe timeline --observe dtrack --observe graph --observe references \
    -d seen -- ./shallow 32 32 2 >said
"$prefix/bin/peet" report --html page.html seen >said

# part NAME WIDTHxHEIGHT SECTION...: only these sections of the page; none: its beginning
part() {
    local name=$1 size=$2 keep=
    shift 2
    for section; do keep="$keep:not(#$section)"; done
    sed "s|</style>|${keep:+main > section$keep, nav, header { display: none; }} main { padding: 0 12px; }</style>|" page.html >part.html
    "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/chrome" --window-size="${size/x/,}" --virtual-time-budget=8000 \
        --screenshot="$here/$name.png" "file://$work/part.html" 2>said
}
part page 1000x760
part flame 1000x190 flame
part references 1000x640 references
part parallelism 1000x290 parallelism

# terminal NAME COMMAND...: what a command prints on a terminal of 80 columns
terminal() {
    local name=$1
    shift
    "$@" >text 2>said
    python3 - "$*" >terminal.html <<'PY'
import html, re, sys
words = re.sub(r"\S*/bin/peet\b", "peet", sys.argv[1])
print('<pre style="background: #1e1e1e; color: #ddd; padding: 12px; margin: 0; font: 13px/1.25 monospace; min-height: 100vh">$ ' + html.escape(words) + "\n"
      + html.escape(open("text").read()) + "</pre>")
PY
    "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/chrome" --window-size="690,$(($(wc -l <text) * 17 + 50))" \
        --screenshot="$here/$name.png" "file://$work/terminal.html" 2>said
}
"$prefix/bin/peet" run -q --machine bus,cache=32KiB --cores 4 --observe profile -d larger -- ./shallow 32 32 2 >said
"$prefix/bin/peet" run -q --machine bus,cache=8KiB --cores 4 --observe profile -d smaller -- ./shallow 32 32 2 >said
terminal terminal "$prefix/bin/peet" report smaller
terminal compared "$prefix/bin/peet" report smaller larger
"$prefix/bin/peet" diff --top 4 --group run --group level --group function --plot "$here/diff.png" smaller larger >said || true
"$prefix/bin/peet" whatif -d whatif --wide --top 2 --plot "$here/whatif.png" --machine bus,cache=8KiB --cores 4 -- ./shallow 32 32 2 >said 2>&1

# The same profile in KCachegrind, and a precedence graph in GraphViz
"$prefix/bin/peet" report --callgrind callgrind.out.shallow seen >said
cat >tree.c <<'END'
#include <pthread.h>
#include <stdint.h>
static void *sum(void *arg)
{
    intptr_t depth = (intptr_t)arg, parts = 0;
    pthread_t left;
    for (volatile int i = 0; i < 500; i++)
        ;
    if (depth == 0)
        return (void *)1;
    pthread_create(&left, 0, sum, (void *)(depth - 1));
    parts = (intptr_t)sum((void *)(depth - 1));
    void *other;
    pthread_join(left, &other);
    return (void *)(parts + (intptr_t)other);
}
int main(void) { return sum((void *)2) == (void *)4 ? 0 : 1; }
END
"$prefix/bin/peetcc" -O1 -g -pthread -o tree tree.c
"$prefix/bin/peet" run -q --cores 4 --observe graph -d tree.out -- ./tree
"$prefix/bin/peet" report --dot tree.dot tree.out >said
dot -Tpng -Gdpi=70 -Grankdir=LR -o "$here/graph.png" tree.dot
mkdir -m 700 config
printf '[TipOfDay]\nRunOnStart=false\n' >config/kcachegrindrc
XDG_CONFIG_HOME=$work/config XDG_RUNTIME_DIR=$work/config xvfb-run -a -s "-screen 0 1100x600x24" dbus-run-session -- bash -c '
    kcachegrind -qwindowgeometry 1100x600+0+0 callgrind.out.shallow >said 2>&1 &
    sleep 10
    import -window root "$1/kcachegrind.png"
    kill $!' bash "$here" 2>said

cat >plan.cfg <<'END'
grid = { cores = (1, 2, 4, 8, 16); machine = ("ideal", "bus,cache=8KiB", "bus,cache=32KiB"); };
END
"$prefix/bin/peet" sweep -d study --plot "$here/sweep.png" plan.cfg -- ./shallow 32 32 2 >said
ls -l "$here"/*.png
