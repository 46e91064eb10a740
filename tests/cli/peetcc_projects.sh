# SPDX-License-Identifier: Apache-2.0
# peetcc as the compiler of make (with its implicit rules) and of CMake (detection, checks, libraries, install).
. "$(dirname "$0")/lib.sh"
write_sum
must "$PEET_PLAIN_CC" -O2 -o sum_plain sum.c
./sum_plain 77 >expected
printf 'int three(void);\nint three(void) { return 3; }\n' >three.c
printf '#include <iostream>\nextern "C" int three(void);\nint main() { std::cout << three() << "\\n"; }\n' >print.cc

# make: implicit rules only.
mkdir make && cp sum.c three.c print.cc make/
cat >make/Makefile <<'END'
CFLAGS = -O2 -g -Wall -Werror
CXXFLAGS = -O2 -g -Wall -Werror
all: sum print
print: print.o three.o
	$(CXX) $(LDFLAGS) -o $@ $^
clean:
	$(RM) *.o sum print *.schema
END
must make -s -C make CC="$peetcc" CXX="$peetcxx"
make/sum 77 >got && same expected got "make"
[ "$(make/print)" = 3 ] || fail "make: print"
grep -q '\.peet\.schema' < <(readelf -SW make/sum) || fail "make/sum carries no schema"

# CMake.
mkdir cmake && cp sum.c three.c print.cc cmake/
cat >cmake/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.10)
project(project C CXX)
include(CheckFunctionExists)
include(CheckCSourceRuns)
include(CheckIPOSupported)
include(CheckCXXCompilerFlag)
check_function_exists(getline HAVE_GETLINE)
check_function_exists(no_such_function_anywhere HAVE_NONE)
check_c_source_runs("int main(void) { return 0; }" RUNS)
check_cxx_compiler_flag(-Wall HAVE_WALL)
check_cxx_compiler_flag(-fno-such-flag-anywhere HAVE_BAD)
check_ipo_supported(RESULT IPO OUTPUT reason)
find_package(Threads REQUIRED)
foreach(check CMAKE_C_COMPILER_ID HAVE_GETLINE HAVE_NONE RUNS HAVE_WALL HAVE_BAD IPO)
  message(STATUS "check ${check}=${${check}}")
endforeach()
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
add_library(three SHARED three.c)
add_executable(sum sum.c)
target_link_libraries(sum Threads::Threads)
add_executable(print print.cc)
target_link_libraries(print three)
install(TARGETS sum print three)
END
CC=$peetcc CXX=$peetcxx "$PEET_CMAKE" -S cmake -B cmake/build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX="$PWD/installed" \
    >configure.log 2>&1 || { cat configure.log; fail "cmake"; }
check() { sed -n "s/^-- check $1=//p" configure.log; }
[ "$(check CMAKE_C_COMPILER_ID)" = Clang ] || fail "compiler identity"
[ "$(check HAVE_GETLINE)" = 1 ] && [ -z "$(check HAVE_NONE)" ] || fail "check_function_exists"
[ "$(check RUNS)" = 1 ] || fail "check_c_source_runs"
[ "$(check HAVE_WALL)" = 1 ] && [ -z "$(check HAVE_BAD)" ] || fail "check_cxx_compiler_flag"
case $(check IPO) in NO | FALSE | "") ;; *) fail "link-time optimisation reported as supported" ;; esac
"$PEET_CMAKE" --build cmake/build >build.log 2>&1 || { cat build.log; fail "cmake --build"; }
"$PEET_CMAKE" --install cmake/build >install.log 2>&1 || { cat install.log; fail "cmake --install"; }
for place in cmake/build installed/bin; do
    $place/sum 77 >got && same expected got "$place/sum"
    [ "$($place/print)" = 3 ] || fail "$place/print"
done
