#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the pictures of the guide beside this script, from runs of examples/shallow: parts of the page, as Chromium draws them, and a sweep's plot.
#
#   docs/pictures/make.sh [PREFIX]
#
# PREFIX is a build directory or an installation (default: build/ of this tree).
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

cat >plan.cfg <<'END'
grid = { cores = (1, 2, 4, 8, 16); machine = ("ideal", "bus,cache=8KiB", "bus,cache=32KiB"); };
END
"$prefix/bin/peet" sweep -d study --plot "$here/sweep.png" plan.cfg -- ./shallow 32 32 2 >said
ls -l "$here"/*.png
