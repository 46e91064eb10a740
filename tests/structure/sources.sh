#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every source file says its licence and is of readable size.
set -u
cd "$PEET_SOURCE" || exit 99
status=0 files=0
while IFS= read -r file; do
    files=$((files + 1))
    head -3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || { echo "FAIL: $file has no SPDX line"; status=1; }
    lines=$(wc -l <"$file")
    [ "$lines" -le 800 ] || { echo "FAIL: $file has $lines lines, more than 800"; status=1; }
done < <(find schema compiler-pass runtime threadlib mapper simulators cli examples tests bench dev \
    -type f \( -name '*.[chS]' -o -name '*.cpp' -o -name '*.sh' -o -name CMakeLists.txt -o -name dev \) 2>/dev/null)
echo "$files files looked at"
[ "$files" -gt 0 ] || status=1
exit $status
