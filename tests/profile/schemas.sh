# SPDX-License-Identifier: Apache-2.0
# The JSON of peet report, diff, whatif and sweep is what the schemas in docs/ say, and what is damaged is not.
. "$(dirname "$0")/../lib.sh"
python3 -c 'import jsonschema' 2>/dev/null || { echo "python3-jsonschema is not installed"; exit 77; }
cat >subject.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static void *work(void *arg)
{
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&lock);
        sum += i;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}
int main(int argc, char **argv)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return argc > 1 ? atoi(argv[1]) : 0;
}
END
must "$peetcc" -O1 -g -pthread -o subject subject.c
must "$peet" run -q --machine bus --cores 2 --observe profile --observe dtrack --observe graph -d first -- ./subject
must "$peet" run -q --machine bus,cache=1KiB --cores 2 --observe profile -d second -- ./subject
must "$peet" run -q --machine x86 --cores 2 --observe dtrack -d third -- ./subject
must "$peet" report --json first >report.one
must "$peet" report --json third >report.x86
must "$peet" report --json first second third >report.all
"$peet" diff --json first second >diff.json || [ $? = 1 ] || fail "diff"
must "$peet" whatif --json --try free=lock --try cores=1+lock-model=tas --machine bus --cores 2 -d changes -- ./subject >whatif.json 2>said.txt
cat >plan.cfg <<'END'
grid = { machine = ("ideal", "bus"); arguments = ("0", "3"); };
END
"$peet" sweep --json --jobs 1 -d study plan.cfg -- ./subject >sweep.json 2>said.txt
python3 - "$PEET_SOURCE" <<'PY' || fail "the schemas"
import copy, json, sys
import jsonschema
def check(name, files, *damages):
    schema = json.load(open(sys.argv[1] + "/docs/" + name + ".schema.json"))
    jsonschema.Draft202012Validator.check_schema(schema)
    v = jsonschema.Draft202012Validator(schema)
    for f in files:
        found = json.load(open(f))
        assert found, f
        for error in v.iter_errors(found):
            raise AssertionError((f, list(error.absolute_path), error.message[:300]))
    for damage in damages:
        damaged = copy.deepcopy(found)
        damage(damaged)
        assert not v.is_valid(damaged), (name, damaged)
check("report", ["report.all", "report.x86", "report.one"], lambda j: j[0].pop("title"), lambda j: j[0]["rows"].append({}), lambda j: j[0]["columns"].clear())
check("diff", ["diff.json"], lambda j: j[0].pop("weight"), lambda j: j[0].update(first="5"), lambda j: j[0].update(more=1))
check("whatif", ["changes/whatif.json", "whatif.json"], lambda j: j.update(version=2), lambda j: j["runs"].clear(), lambda j: j["runs"][0].update(cycles=-1))
check("sweep", ["study/plan.json"], lambda j: j.pop("varying"), lambda j: j["runs"][0].update(key="x"))
check("sweep", ["study/table.json", "sweep.json"], lambda j: j[0].update(state="lost"), lambda j: j[0]["figures"].update(cycles="5"))
assert [r["state"] for r in json.load(open("sweep.json"))].count("failed") in (0, 2)
PY
exit 0
