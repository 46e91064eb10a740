#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fortran programs, by peetflang: what they print plain and under simulation is what flang's own print, OpenMP included; and
# a loop's references are what it says it makes.
. "$(dirname "$0")/../tools/common.sh"
flang=$(command -v flang-22) || skip "flang-22 is not installed"
cat >"$work/scale.f90" <<'F'
subroutine scale(x, n)
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  integer :: i
  do i = 1, n
    x(i) = x(i) * 1.5d0
  end do
end subroutine
F
cat >"$work/subject.f90" <<'F'
program main
  implicit none
  integer :: i, n
  real(8), allocatable :: a(:,:), b(:,:), c(:,:)
  real(8) :: s, x(1000)
  n = 40
  allocate(a(n,n), b(n,n), c(n,n))
  do i = 1, n
    a(:,i) = i * 0.5d0
    b(i,:) = 1.0d0 / i
  end do
  c = matmul(a, b)
  s = 0
  !$omp parallel do reduction(+:s)
  do i = 1, n
    s = s + floor(sum(c(:,i)) + sqrt(a(1,i)))
  end do
  !$omp end parallel do
  x = 2
  call scale(x, 1000)
  write(*,'(f20.6,f12.2)') s, sum(x)
  deallocate(a, b, c)
end program
F
cd "$work" || exit 99
for flags in -O0 "-O1 -fopenmp" "-O2 -fopenmp"; do
    # shellcheck disable=SC2086
    "$flang" $flags -o plain subject.f90 scale.f90 || skip "flang-22 cannot compile and link here"
    # shellcheck disable=SC2086
    "$PEET_PREFIX/bin/peetflang" $flags -o subject subject.f90 scale.f90 || fail "peetflang $flags"
    ./plain >expected && ./subject >said || fail "$flags: a plain run"
    cmp expected said || fail "$flags: the recorded program prints something else"
    "$PEET" run --quiet --cores 4 --observe counts -d out -- ./subject >said || fail "$flags: peet run"
    cmp expected said || fail "$flags: under peet run it prints something else"
    [ -s subject.schema ] || fail "$flags: no schema beside the program"
    "$PEET" record --quiet -d real -- ./subject >said 2>errors || fail "$flags: peet record"
    cmp expected said || fail "$flags: under peet record it prints something else"
    [ ! -s errors ] || fail "$flags: under peet record it says: $(cat errors)"
done
"$PEET_PREFIX/bin/peetflang" -O1 -c scale.f90 && "$PEET_PREFIX/bin/peetflang" -O1 -o subject subject.f90 scale.o || fail "peetflang -O1"
"$PEET" run --quiet --observe counts -d out -- ./subject >said || fail "peet run"
awk '/"name": "scale_"/ { on = 1 } on && /"writes":/ { match($0, /[0-9]+/); print substr($0, RSTART, RLENGTH); exit }' out/stats.json >writes
grep -qx 1000 writes || fail "the loop stores 1000 elements; counted: $(cat writes)"
# What is called by its name alone (EXTERNAL) is the simulated machine's, too.
cat >"$work/external.f90" <<'F'
program main
  implicit none
  integer, external :: omp_get_thread_num, omp_get_num_threads, omp_get_max_threads, omp_get_ancestor_thread_num
  logical, external :: omp_in_parallel
  real(8), external :: omp_get_wtime
  integer(8) :: lock
  integer :: seen(0:63), n, k, chunk
  real(8) :: t
  seen = 0
  t = omp_get_wtime()
  call omp_init_lock(lock)
  call omp_set_num_threads(3)
  if (omp_get_max_threads() /= 3) stop 1
  call omp_set_schedule(2, 5)
  call omp_get_schedule(k, chunk)
  if (k /= 2 .or. chunk /= 5) stop 2
  !$omp parallel
  call omp_set_lock(lock)
  seen(omp_get_thread_num()) = seen(omp_get_thread_num()) + 1
  n = omp_get_num_threads()
  if (omp_get_ancestor_thread_num(1) /= omp_get_thread_num()) stop 3
  if (.not. omp_in_parallel()) stop 4
  call omp_unset_lock(lock)
  !$omp end parallel
  call omp_destroy_lock(lock)
  if (omp_get_wtime() < t) stop 5
  print '(5i3)', n, seen(0:3)
end program
F
"$flang" -fopenmp -o plain external.f90 || skip "flang-22 cannot compile and link here"
"$PEET_PREFIX/bin/peetflang" -fopenmp -o external external.f90 || fail "peetflang: external"
./plain >expected && ./external >said || fail "external: a plain run"
cmp expected said || fail "external: the recorded program prints something else"
for cores in 1 4; do
    "$PEET" run --quiet --cores $cores -d out -- ./external >said || fail "external: peet run, status $?"
    cmp expected said || fail "external: under peet run it prints something else: $(cat said)"
done
