# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases: the ordinary OpenMP library beside ours.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# The ordinary library limits teams to the processors that there are, the simulated machine has others.
# Its threads sleep at once when they wait: on a loaded machine those that turn keep the others from going on.
export KMP_TEAMS_THREAD_LIMIT=64 KMP_WARNINGS=0 KMP_BLOCKTIME=0
unset OMP_NUM_THREADS OMP_SCHEDULE OMP_DYNAMIC OMP_NESTED OMP_MAX_ACTIVE_LEVELS OMP_STACKSIZE OMP_THREAD_LIMIT OMP_CANCELLATION \
    OMP_PROC_BIND OMP_PLACES OMP_MAX_TASK_PRIORITY OMP_NUM_TEAMS OMP_TEAMS_THREAD_LIMIT OMP_DISPLAY_ENV OMP_DISPLAY_AFFINITY

# both SOURCE FLAGS...: builds ./plain with the plain compiler and ./recorded with peetcc
both() {
    local source=$1 plain=$PEET_PLAIN_CC recorded=$peetcc libraries="-lm"
    shift
    case $source in *.cpp) plain=$PEET_PLAIN_CXX recorded=$peetcxx ;; esac
    # What is wider than the processor's atomic instructions is a library's, in any program.
    grep -q -E '_Complex|long double' "$source" && libraries="$libraries -latomic"
    echo 'int main(void) { return 0; }' >probe.c
    "$PEET_PLAIN_CC" -fopenmp -o probe probe.c 2>/dev/null && echo '#include <omp.h>' | "$PEET_PLAIN_CC" -fopenmp -E - >/dev/null 2>&1 ||
        skip "the ordinary OpenMP library is not installed (Debian: libomp-22-dev)"
    must "$plain" -w -O1 -fopenmp "$@" -o plain "$source" $libraries
    must "$recorded" -w -O1 -fopenmp "$@" -fno-peet-schema-file -o recorded "$source" $libraries
}
