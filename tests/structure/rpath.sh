#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# No program or library of the build lets the loader search the current folder: each element of its path is there, and begins
# with $ORIGIN or /.
set -eu
bad=0 seen=0
while IFS= read -r file; do
    path=$(readelf -d "$file" 2>/dev/null | sed -n 's/.*(R\(UN\)\?PATH).*\[\(.*\)\]/\2/p')
    [ -n "$path" ] || continue
    seen=$((seen + 1))
    while IFS= read -r -d : element; do
        case $element in
        '$ORIGIN'* | /*) ;;
        *) echo "$file: its path is $path" && bad=1 && break ;;
        esac
    done <<<"$path:"
done < <(find "$PEET_PREFIX/bin" "$PEET_PREFIX/lib" -type f)
[ "$seen" -gt 5 ] || { echo "only $seen files of $PEET_PREFIX have a path" >&2; exit 1; }
exit $bad
