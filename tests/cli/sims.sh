# SPDX-License-Identifier: Apache-2.0
# peet sims: the modules of the installation, for people and as JSON; both say the same.
. "$(dirname "$0")/lib.sh"
must "$peet" sims >list
ls "$PEET_PREFIX/lib/peet/modules" | sed -n 's/\.so$//p' | sort >files
awk '{ print $1 }' list | sort >names
same files names "one line for every module"
for name in ideal counts bus; do
    grep -q "^$name " list || fail "$name is missing"
done
grep -q '^counts *observer ' list && grep -q '^bus *machine ' list || fail "kinds"
must "$peet" sims --json >list.json
"$json_get" -r list.json . name kind 2>/dev/null | sort >json.names
if [ -s json.names ]; then
    awk '{ print $1 "\t" $2 }' list | sort >text.names
    same json.names text.names "list and --json"
fi
while read -r name; do
    must "$peet" sims "$name" >table
    must "$peet" sims --json "$name" >table.json
    [ "$(value table.json name)" = "$name" ] || fail "$name: JSON"
    awk 'length($0) > 100 { exit 1 }' table || fail "$name: wider than 100 columns"
    if "$json_get" -r table.json parameters name type default >parameters 2>/dev/null && [ -s parameters ]; then
        while IFS=$'\t' read -r parameter _ default; do
            grep -q -F -e "  $parameter " table || fail "$name: $parameter is not in the table"
            grep -q -F -e "default ${default:-none}" < <(grep -F -e "  $parameter " table) || fail "$name: default of $parameter"
        done <parameters
    fi
done <files
value table.json abi >/dev/null
grep -q 'berkeley' <("$peet" sims bus) || fail "bus has no protocol berkeley"
must "$peet" sims "$PEET_PREFIX/lib/peet/modules/bus.so" >path
must "$peet" sims bus >name
same path name "by path and by name"
refuses 2 "no module 'bos'" "$peet" sims bos
refuses 2 'nowhere.so' "$peet" sims ./nowhere.so
refuses 2 'one module' "$peet" sims bus counts
