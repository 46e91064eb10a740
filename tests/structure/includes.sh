#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who includes whom: tests, examples, bench -> cli -> mapper -> { threadlib, runtime } -> schema;
# threadlib -> runtime; simulators -> schema; compiler-pass -> schema; tools -> schema.  No circles, neither among these folders nor among
# the folders inside one of them; arch/ is the half of its parent that knows a processor.
set -u
cd "${1:-$PEET_SOURCE}" || exit 99
folders="schema compiler-pass runtime threadlib simulators mapper cli tools"
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
        allowed["tools"] = " tools schema "
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
    # a folder, or its parent if it is for one processor
    function room(path) { sub(/\/[^\/]*$/, "", path); sub(/\/arch\/[^\/]*$/, "", path); return path }
    function arrow(from, to) {
        if (from == to || top(from "/") != top(to "/") || ((from, to) in arrows))
            return
        arrows[from, to] = file ":" part[2]
        out[from]++
        rooms[from]
        rooms[to]
    }
    # Rooms that need nobody are taken away until none is left; what stays is in a circle, or needs one.
    function circles(    changed, r, pair, ends, bad) {
        do {
            changed = 0
            for (r in rooms)
                if (out[r] + 0 == 0) {
                    for (pair in arrows) {
                        split(pair, ends, SUBSEP)
                        if (ends[2] == r) {
                            out[ends[1]]--
                            delete arrows[pair]
                        }
                    }
                    delete rooms[r]
                    changed = 1
                    break
                }
        } while (changed)
        for (pair in arrows) {
            split(pair, ends, SUBSEP)
            print "FAIL: circle: " ends[1] " needs " ends[2] " (" arrows[pair] ")"
            bad = 1
        }
        return bad
    }
    $1 == "header" { header[$2]; path[n++] = $2; next }
    {
        split($0, part, ":")
        file = part[1]
        name = $0
        systems = name ~ /^[^<"]*</
        sub(/^[^<"]*[<"]/, "", name)
        sub(/[>"].*/, "", name)
        checked++
        if (systems && name !~ /\// && (getline line < ("/usr/include/" name)) > 0) {
            close("/usr/include/" name)
            next
        }
        owner = top(target(file, name))
        if (owner != "")
            arrow(room(file), room(target(file, name)))
        if (owner != "" && index(allowed[top(file)], " " owner " ") == 0) {
            print "FAIL: " file ":" part[2] ": " top(file) " includes " target(file, name) " of " owner
            failed = 1
        }
    }
    END {
        failed += circles()
        print checked + 0 " includes looked at"
        exit failed || !checked
    }'
