#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who includes whom: tests, examples, bench -> cli -> mapper -> { threadlib, runtime } -> schema;
# threadlib -> runtime; simulators -> schema; compiler-pass -> schema.  No circles.
set -u
cd "${1:-$PEET_SOURCE}" || exit 99
folders="schema compiler-pass runtime threadlib simulators mapper cli"
{
    find $folders -name '*.h' -o -name '*.inc' -o -name '*.def' | sort | sed 's/^/header /'
    grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' $folders --include='*.[chS]' --include='*.cpp' --include='*.inc'
} | awk '
    BEGIN {
        allowed["schema"] = " schema "
        allowed["compiler-pass"] = " compiler-pass schema "
        allowed["runtime"] = " runtime schema "
        allowed["threadlib"] = " threadlib runtime schema "
        allowed["simulators"] = " simulators schema "
        allowed["mapper"] = " mapper threadlib runtime schema "
        allowed["cli"] = " cli mapper threadlib runtime schema "
    }
    function top(path) { sub(/\/.*/, "", path); return path }
    # the header of this name: beside the file, then in its own folder, then anywhere in the tree; "": of the system
    function target(file, name,    dir, own, i, suffix, last) {
        dir = file
        sub(/[^\/]*$/, "", dir)
        dir = dir name
        while (sub(/[^\/]+\/[.][.]\//, "", dir))
            ;
        if (dir in header)
            return dir
        own = top(file) "/"
        suffix = "/" name
        for (i = 0; i < n; i++)
            if (substr(path[i], length(path[i]) - length(suffix) + 1) == suffix) {
                if (index(path[i], own) == 1)
                    return path[i]
                if (last == "")
                    last = path[i]
            }
        return last
    }
    $1 == "header" { header[$2]; path[n++] = $2; next }
    {
        split($0, part, ":")
        file = part[1]
        name = $0
        sub(/^[^<"]*[<"]/, "", name)
        sub(/[>"].*/, "", name)
        checked++
        owner = top(target(file, name))
        if (owner != "" && index(allowed[top(file)], " " owner " ") == 0) {
            print "FAIL: " file ":" part[2] ": " top(file) " includes " target(file, name) " of " owner
            failed = 1
        }
    }
    END { print checked + 0 " includes looked at"; exit failed || !checked }'
