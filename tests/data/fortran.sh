# SPDX-License-Identifier: Apache-2.0
# Fortran: variables of common blocks, each by its name.
. "$(dirname "$0")/lib.sh"
[ -x "$PEET_PREFIX/bin/peetflang" ] && command -v flang-22 >/dev/null || skip "no flang"
cat >common.f90 <<'END'
subroutine fill(n)
  integer :: n, i
  real(8) :: a, b
  common /work/ a(100), b(50)
  do i = 1, n
    a(i) = i * 2.0d0
  end do
  b(n) = a(n)
end subroutine
program main
  real(8) :: a, b
  common /work/ a(100), b(50)
  call fill(20)
  if (b(20) /= 40.0d0) stop 1
end program
END
"$PEET_PREFIX/bin/peetflang" -O1 -g -o common common.f90 2>log || { cat log; skip "flang cannot link here"; }
observe out -- ./common
if grep -q '^global	work%a' out/structures.txt; then
    has out global 'work%a' bytes 800
    has out global 'work%b' bytes 400
else # this flang describes no common blocks: the symbol is there
    has out global 'work_' bytes 1200
fi
