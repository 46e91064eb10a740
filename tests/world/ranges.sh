# SPDX-License-Identifier: Apache-2.0
# What library functions reference, counted by hand: a range of n bytes is n/8 + n%8 references.  The functions are those of the image
# "peet"; reads and writes of calls of the same function are summed.
. "$(dirname "$0")/lib.sh"
# Recorded libraries have no ranges.
export PEET_FOREIGN=ranges
must "$peetcc" -O1 -D_GNU_SOURCE -fno-builtin -w -o ranges "$programs/ranges.c"
must "$PEET_PLAIN_CC" -O1 -D_GNU_SOURCE -fno-builtin -w -o plain.ranges "$programs/ranges.c"
cat >list.py <<'PY'
import json, sys
print(" ".join("%s:%d:%d:%d" % (f["name"].replace(" ", "-"), f["calls"], f["reads"], f["writes"])
    for f in json.load(open(sys.argv[1]))["counts"]["functions"] if f["image"] == "peet"))
PY
command -v python3 >/dev/null || { echo "python3 reads the results here"; exit 77; }
n=0
while read -r name want; do
    must ./plain.ranges "$name" >/dev/null
    must "$peet" run --quiet --machine ideal --observe counts,convention=plain -d out -- ./ranges "$name" >/dev/null
    equal "$name" "$(python3 list.py out/stats.json)" "$want"
    n=$((n + 1))
done <<'END'
none
memcpy memcpy:1:128:128
memcpy-long memcpy:1:6250:6250
memcpy-none
memmove memmove:1:125:125
mempcpy memcpy:1:125:125
memset memset:1:0:132
bzero memset:1:0:125
memcmp-equal memcmp:1:250:0
memcmp memcmp:1:12:0
bcmp memcmp:1:2:0
memchr memchr:1:7:0
memchr-not memchr:1:125:0
memrchr memchr:1:5:0
rawmemchr memchr:1:5:0
memmem strstr:1:7:0
memccpy memcpy:1:7:7
strlen strlen:1:3:0
strnlen strlen:1:3:0
strnlen-end strlen:1:3:0
strcpy strcpy:1:3:3
stpcpy strcpy:1:2:2
strncpy strcpy:1:5:5
strncpy-pad memset:0:0:14 strcpy:1:2:2
strcat strlen:0:3:0 strcat:1:2:2
strncat strlen:0:3:0 strcat:1:4:4 library-write:0:0:1
strcmp strcmp:1:12:0
strcmp-equal strcmp:1:6:0
strncmp strcmp:1:6:0
strcasecmp strcmp:1:12:0
strchr strchr:1:7:0
strchr-not strchr:1:3:0
strrchr strchr:1:3:0
strstr strstr:1:5:0
strstr-not strstr:1:5:0
strspn strchr:1:11:0
strcspn strchr:1:11:0
strpbrk strchr:1:7:0
strtok strchr:1:8:0 library-write:0:0:1
strdup memcpy:1:2:2 strlen:1:3:0 library-write:0:0:1
strtol library-read:1:6:0
wcslen strlen:1:6:0
wmemcpy memcpy:1:7:7
sprintf library-read:1:6:0 library-write:0:0:3
snprintf library-read:1:10:0 library-write:0:0:4
qsort memcpy:0:5:5 qsort:1:4:0 library-write:0:0:4
file read:3:0:16 write:1:125:0
stdio stdio-read:2:0:9 stdio-write:2:7:0
END
[ $n = 48 ] || fail "$n cases"

# many comparisons, which the program counts for itself
want=$(must ./plain.ranges strcmp-many print)
[ "$want" -gt 10000 ] || fail "so few references: $want"
must "$peet" run --quiet --machine ideal --observe counts,convention=plain -d out -- ./ranges strcmp-many
equal "many comparisons" "$(python3 list.py out/stats.json | sed 's/^strcmp:[0-9]*:/strcmp:/')" "strcmp:$want:0"

# sorts: elements that compare equal stay in their order, as without simulation
must "$peetcc" -O1 -D_GNU_SOURCE -w -o sorts "$programs/sorts.c"
must "$PEET_PLAIN_CC" -O1 -D_GNU_SOURCE -w -o plain.sorts "$programs/sorts.c"
equal sorts "$(must "$peet" run --quiet --machine ideal -d out -- ./sorts)" "$(must ./plain.sorts)"

# switched off, they are not there
must "$peet" run --quiet --machine ideal --ranges off --observe counts,convention=plain -d out -- ./ranges memcpy
equal "--ranges off" "$(python3 list.py out/stats.json)" ""
exit 0
