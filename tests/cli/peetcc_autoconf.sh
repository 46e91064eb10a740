# SPDX-License-Identifier: Apache-2.0
# The probes that configure scripts make, in the order and form in which autoconf writes them.
. "$(dirname "$0")/lib.sh"
CC=$peetcc

# Default output name and executable suffix: only a.out and conftest may be found.
echo 'int main(void) { return 0; }' >conftest.c
must "$CC" conftest.c
found=
for file in a.out conftest.exe conftest a.exe a_out.exe b.out conftest.*; do
    test -f "$file" || continue
    case $file in
    *.c | *.o | *.d) ;;
    [ab].out) found=$file && break ;;
    *) fail "default output: $file" ;;
    esac
done
[ "$found" = a.out ] || fail "default output not found"
rm -f a.out
must "$CC" -o conftest conftest.c
for file in conftest.exe conftest conftest.*; do
    test -f "$file" || continue
    case $file in
    *.c | *.o | *.d) ;;
    *.*) fail "suffix of executables: $file" ;;
    *) break ;;
    esac
done
must ./conftest
rm -f conftest conftest.*

# Object suffix; does the compiler accept a flag; cross compiling.
echo 'int x;' >conftest.c
must "$CC" -c conftest.c
for file in conftest.o conftest.obj conftest.*; do
    test -f "$file" || continue
    case $file in
    *.c) ;;
    *.o) break ;;
    *) fail "object suffix: $file" ;;
    esac
done
must "$CC" -c -g conftest.c 2>conftest.err
[ ! -s conftest.err ] || fail "-g warns: $(cat conftest.err)"
"$CC" -c -Werror -fno-such-flag conftest.c 2>/dev/null && fail "an unknown flag was accepted"
"$CC" -Werror -Wunused-command-line-argument -c conftest.c || fail "our own options warn"

# Preprocessor, headers, functions, libraries.
printf '#include <limits.h>\nSyntax error\n' >conftest.c
must "$CC" -E conftest.c >/dev/null
printf '#include <ac_nonexistent.h>\n' >conftest.c
"$CC" -E conftest.c >/dev/null 2>&1 && fail "a missing header was found"
printf 'char strdup(); int main(void) { return strdup() != 0; }\n' >conftest.c
must "$CC" -o conftest -Wno-everything conftest.c
printf 'char no_such_function(); int main(void) { return no_such_function(); }\n' >conftest.c
"$CC" -o conftest conftest.c 2>/dev/null && fail "a missing function was found"
printf 'double sqrt(double); int main(int c, char **v) { return sqrt(c) > 2; }\n' >conftest.c
must "$CC" -o conftest conftest.c -lm
must ./conftest
"$CC" -o conftest conftest.c -lno_such_library 2>/dev/null && fail "a missing library was found"

# libtool asks what kind of linker it is, and for a shared library in steps.
grep -q 'GNU\|LLD' < <("$CC" -Wl,--version 2>/dev/null) || fail "-Wl,--version"
grep -q ld < <("$CC" -print-prog-name=ld) || fail "-print-prog-name"
printf 'int f(void);\nint f(void) { return 5; }\n' >f.c
printf 'int f(void);\nint main(void) { return f() - 5; }\n' >main.c
mkdir .libs
must "$CC" -c f.c -fPIC -DPIC -o .libs/f.o
must "$CC" -shared -fPIC -DPIC .libs/f.o -Wl,-soname -Wl,libf.so.1 -o .libs/libf.so.1.0.0
(cd .libs && ln -s libf.so.1.0.0 libf.so.1 && ln -s libf.so.1.0.0 libf.so)
must "$CC" -o main main.c .libs/libf.so -Wl,-rpath -Wl,"$PWD/.libs"
must ./main

# A real configure script, where autoconf is installed.
if command -v autoconf >/dev/null; then
    mkdir real && cd real || exit 1
    printf 'AC_INIT([real],[1])\nAC_CONFIG_SRCDIR([main.c])\nAC_PROG_CC\nAC_CHECK_FUNCS([getline strlcpy_no])\nAC_CHECK_HEADERS([stdint.h])\nAC_C_BIGENDIAN\nAC_CHECK_SIZEOF([long])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n' >configure.ac
    printf 'CC=@CC@\nCFLAGS=@CFLAGS@\nmain: main.c\n' >Makefile.in
    echo 'int main(void) { return 0; }' >main.c
    must autoconf
    ./configure CC="$CC" >configure.out 2>&1 || { cat configure.out; fail "configure"; }
    must make -s && must ./main
fi
