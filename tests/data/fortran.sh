# SPDX-License-Identifier: Apache-2.0
# Fortran: variables of common blocks, each by its name.
. "$(dirname "$0")/lib.sh"
[ -x "$PEET_PREFIX/bin/peetflang" ] && command -v flang-22 >/dev/null || skip "no flang"
cat >common.f90 <<'END'
subroutine fill(n)
  integer :: n, i
  real(8) :: a, b
  common /grid/ a(100), b(50)
  do i = 1, n
    a(i) = i * 2.0d0
  end do
  b(n) = a(n)
end subroutine
program main
  real(8) :: a, b
  common /grid/ a(100), b(50)
  call fill(20)
  if (b(20) /= 40.0d0) stop 1
end program
END
"$PEET_PREFIX/bin/peetflang" -O1 -g -o common common.f90 2>log || { cat log; skip "flang cannot link here"; }
observe out -- ./common
if grep -q '^global	grid%a' out/structures.txt; then
    has out global 'grid%a' bytes 800
    has out global 'grid%b' bytes 400
    has out global 'grid%a' references 21 function - type 'real(kind=8)'
else # this flang describes no common blocks: the symbol is there
    has out global 'grid_' bytes 1200
fi

# modules, and arrays that are allocated
cat >modules.f90 <<'END'
module store
  real(8), allocatable :: field(:,:)
  real(8) :: fixed(30)
end module
program main
  use store
  integer :: i
  real(4), pointer :: part(:)
  allocate(field(100, 50))
  allocate(part(20))
  do i = 1, 100
    field(i, 3) = i
  end do
  fixed = 2.0d0
  part = 1.0
  if (field(5,3) + part(3) + fixed(7) < 0) stop 1
  deallocate(field)
end program
END
must "$PEET_PREFIX/bin/peetflang" -O1 -g -o modules modules.f90
observe out -- ./modules
has out global 'store::fixed' bytes 240 type 'real(kind=8)'
has out heap field type 'real(kind=8)' bytes 40000 live 0 line 9
has out heap part type real line 10
