# SPDX-License-Identifier: Apache-2.0
# `peet schema` shows the globals as nm and the program's text have them.
. "$(dirname "$0")/lib.sh"
cat >globals.c <<'END'
struct pair { int a; double b; };
struct pair pairs[12];
static const char *const names[2] = { "x", "y" };
__thread int own;
int (*handler)(int, const char *);
unsigned long (*table[3])(void);
const volatile struct { union { int i; float f; }; unsigned low : 3, high : 5; } odd;
int main(int argc, char **argv) { static short calls; calls++; pairs[argc].a = calls + own; return names[argc - 1][0] == 'z' || handler || table[1] || odd.i; }
END
must "$peetcc" -O0 -g -o globals globals.c
must "$peet" schema --json ./globals >schema.json
for line in 'pairs|struct pair [12]|192' 'names|const char *const [2]|16' 'own|int|4' 'handler|int (*)(int, const char *)|8' 'table|unsigned long (*[3])(void)|24' \
    'odd|const volatile struct {...}|8' 'calls|short|2'; do
    IFS='|' read -r name type bytes <<<"$line"
    grep -F "\"name\": \"$name\"," schema.json >entry || fail "no global $name"
    grep -qF "\"type\": \"$type\"," entry || fail "$name: $(cat entry)"
    grep -qF "\"bytes\": $bytes," entry || fail "$name: $(cat entry)"
done
"$peet" schema ./globals >text
grep -q 'main.calls: short (.*globals.c:8)' text || fail "no static of a function in the text"
grep -q 'own: int; thread-local' text || fail "no thread-local variable in the text"
# without debug information: what nm says
must "$peetcc" -O2 -o globals globals.c
must "$peet" schema --json ./globals >schema.json
nm -S --defined-only globals | awk '$3 ~ /[BbDdRr]/ && NF == 4 && $4 !~ /[.]/ { print $2, $4 }' | while read -r bytes name; do echo "$((16#$bytes)) $name"; done | sort >nm.txt
"$PEET_PREFIX/tests/json-get" -r schema.json globals bytes name | awk '{ print $1, $2 }' | sort >ours.txt
while read -r bytes name; do
    grep -qx "$bytes $name" ours.txt || fail "nm has $name with $bytes bytes: $(cat ours.txt)"
done <nm.txt
[ -s nm.txt ] || fail "nm says nothing"
