#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Why a value is wrong: the steps of an execution by the names of allocated data, values that are pointers by what they point to; two executions
# side by side, from where they part.
. "$(dirname "$0")/lib.sh"
json() { "$PEET_PREFIX/tests/json-get" "$1" "$2"; }
said() { grep -q -e "$1" table.txt || fail "the table does not say '$1': $(cat table.txt)"; }
# explain MODEL OPTIONS... -- PROGRAM: its table in table.txt, its output in stdout.txt
explain() {
    local model=$1
    shift
    must "$peet" run -d why --cores 3 --consistency "consistency,model=$model" --explain "$@" >stdout.txt 2>table.txt
}

# the top of a stack is the same again: the exchange succeeds, with a successor that has been taken
compile_for views stack "$here/programs/explained.c" -O1 -g -DCASE_STACK
explore out.stack 3 sc ./stack
token=$(token_of out.stack "taken twice")
[ -n "$token" ] || fail "nothing was taken twice: $(outcomes_of out.stack)"
explain sc --replay-token "$token" -- ./stack
equal "output of the stack, repeated" "$(cat stdout.txt)" "taken twice"
said "reads top: &node#2$"
said "reads node#2.next: &node#1$"
said "changes top to &node#1, locked$"
grep -q '"points_to": "node#1"' why/stats.json || fail "stats.json does not say what is pointed to"

# a sequence lock without barriers under pso: both values are written by one store, which leaves before the sequence does
compile_for views record "$here/programs/explained.c" -O1 -g -DCASE_RECORD
explore out.record 3 pso ./record
torn=$(token_of out.record torn) whole=$(token_of out.record whole)
[ -n "$torn" ] && [ -n "$whole" ] || fail "outcomes of the record: $(outcomes_of out.record)"
explain pso --replay-token "$torn" -- ./record
said "record#0.first = 1, record#0.second = 1 leaves the buffer"
said "reads record#0.second: 1$"

# side by side: what is alike in one row, the other value marked
explain pso --replay-token "$torn" --replay-token "$whole" -- ./record
equal "standard output of two executions" "$(cat stdout.txt)" ""
said "^the two executions are the same up to step "
said "reads record#0.second: 1  *\*  .*reads record#0.second: 0"
said "^      torn  *|       whole$"
equal "end of a comparison" "$(json why/stats.json end.reason) $(json why/stats.json comparison.status)" "comparison 0"
cp why/stats.json two.json
python3 - "$torn" "$whole" <<'END' || fail "the comparison in stats.json is wrong"
import json, sys
c = json.load(open("two.json"))["comparison"]
a, b = (e["steps"] for e in c["executions"])
n = c["common_steps"]
assert [e["token"] for e in c["executions"]] == sys.argv[1:3]
assert [e["output"] for e in c["executions"]] == ["torn\n", "whole\n"]
assert 0 < n < min(len(a), len(b)) and a[:n] == b[:n] and a[n] != b[n]
END
explain pso --replay-token "$torn" -- ./record
python3 - <<'END' || fail "steps of one execution alone are others"
import json
assert json.load(open("why/stats.json"))["explanation"] == json.load(open("two.json"))["comparison"]["executions"][0]["steps"]
END
explain pso --replay-token "$torn" --replay-token "$torn" -- ./record
said "^the two executions are the same$"
status=0
"$peet" run -d why --cores 3 --consistency consistency,model=pso --replay-token "$torn" --replay-token "${whole%.*}" -- ./record >stdout.txt 2>table.txt || status=$?
equal "status of what is no token" "$status" 2
said "is not a token"
status=0
"$peet" run -d why --cores 3 --consistency consistency,model=pso --replay-token "$torn" --replay-token "$whole" --replay-token "$torn" -- ./record >stdout.txt 2>table.txt || status=$?
equal "status of three tokens" "$status" 2

# what was freed keeps its name; one of several elements
compile_for views freed "$here/programs/explained.c" -O1 -g -DCASE_FREED
explore out.freed 3 sc ./freed
explain sc --replay-token "$(token_of out.freed read)" -- ./freed
said "writes items#0\[1\].counts\[3\] = 4$"
said "reads item#0.counts\[2\] (freed): "

# requests have the line of the call, also where it is inlined; what libraries do to their own data is left out
cat >locks.c <<'END'
#include <pthread.h>
static struct { pthread_mutex_t first, second; } locks = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int count;
static void both(pthread_mutex_t *a, pthread_mutex_t *b)
{
    pthread_mutex_lock(a);
    pthread_mutex_lock(b); /* the second */
    count++;
    pthread_mutex_unlock(b);
    pthread_mutex_unlock(a);
}
static void *other(void *argument)
{
    both(&locks.second, &locks.first);
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    both(&locks.first, &locks.second);
    return pthread_join(thread, NULL);
}
END
must "$peetcc" -O2 -g -pthread -o locks locks.c
"$peet" run -q -d found --cores 2 --explore all -- ./locks >out.locks 2>err.locks || [ $? = 4 ] || fail "the exploration: $(cat err.locks)"
token=$(sed -n 's/.*deadlock, token //p' out.locks err.locks)
[ -n "$token" ] || fail "no deadlock: $(cat out.locks err.locks)"
status=0
"$peet" run -q -d why --cores 2 --explain --replay-token "$token" -- ./locks >stdout.txt 2>table.txt || status=$?
cat stdout.txt >>table.txt
equal "status of the deadlock" $status 3
second=$(sed -n '/the second/=' locks.c)
said "  locks.c:$second  *mutex lock locks.second$"
said "  locks.c:$second  *mutex lock locks.first$"
! grep -q 'rtld\|stack 0x\|writes 0x' table.txt || fail "what libraries do is listed: $(cat table.txt)"

# places while main() is alone; what library functions do with the program's data
cat >alone.c <<'END'
#include <pthread.h>
#include <string.h>
static pthread_mutex_t lock;
static char from[64] = "something", to[64];
static volatile size_t bytes = 10;
static void *work(void *arg)
{
    return arg;
}
int main(void)
{
    pthread_t thread;
    pthread_mutex_lock(&lock); /* 13 */
    memcpy(to, from, bytes);
    pthread_mutex_unlock(&lock); /* 15 */
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return to[0] == 0;
}
END
must "$peetcc" -O1 -g -fno-builtin -pthread -o alone alone.c
must "$peet" run -q -d out.alone --cores 2 --explore all -- ./alone >/dev/null 2>&1
token=$(must jq -r '.exploration.list[0].token' out.alone/stats.json)
must "$peet" run -d why --cores 2 --explain --replay-token "$token" -- ./alone >stdout.txt 2>table.txt
said " alone.c:13  *mutex lock lock$"
said " alone.c:15  *mutex unlock lock$"
said " memcpy  *writes to.0. = "
exit 0
