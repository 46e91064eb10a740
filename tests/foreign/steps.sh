#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every instruction of every function of every library that a program calls, against executing the same program one instruction at a time.
. "$(dirname "$0")/lib.sh"
for program in mathematics texts; do
    build $program
    record $program 2
    must "$compare" $program.out/stats.json --step measured ./$program 2
done
build objects
record objects 1
must "$compare" --tolerate=60 objects.out/stats.json --step measured ./objects 1
