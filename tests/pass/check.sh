#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh PEETCC SOURCE: compiles with the options of its RUN: line and compares with its CHECK lines.
set -eu
filecheck=$(command -v FileCheck-22 || command -v FileCheck || true)
[ -n "$filecheck" ] || { echo "SKIP: FileCheck is not installed"; exit 77; }
options=$(sed -n 's,^// RUN: ,,p' "$2")
# shellcheck disable=SC2086
"$1" $options -S -o - "$2" | "$filecheck" "$2"
