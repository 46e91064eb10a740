# SPDX-License-Identifier: Apache-2.0
# Debug information that is compressed by zstd, or has been taken out of a program or a library into a file of its own, as
# debuggers find it: beside the file, by .gnu_debuglink, or where packages install it, by the build identity.
. "$(dirname "$0")/lib.sh"
cat >library.c <<'END'
static int hidden[100];
static __attribute__((noinline)) int touch(int *p)
{
    return *p;
}
int use(int *p)
{
    for (int i = 0; i < 100; i++)
        ((volatile int *)hidden)[i] += i;
    return touch(p);
}
END
printf 'int use(int *);\nint main(int argc, char **argv)\n{\n    int x = 3;\n    return use(argc > 1 ? (int *)8 : &x) != 3;\n}\n' >main.c
whole() { must "$peetcc" -O1 -g "$@" -Wl,--build-id -o program main.c library.c; }
# lines OPTION...: the backtrace has both lines
lines() {
    "$peet" run -q -d out "$@" -- ./program crash >out.txt 2>said
    grep -q 'in touch (.*library.c:4)' said && grep -q 'in main (main.c:5)' said
}
typed() {
    must "$peet" schema ./program >schema
    grep -q 'hidden: int \[100\] (.*library.c:1)' schema
}

whole -gz=zstd
[[ $(readelf -SW program | awk '$2 == ".debug_info" || $3 == ".debug_info"') == *C* ]] || skip "this compiler does not compress by zstd"
lines && typed || fail "compressed by zstd: $(cat said)"
must "$peet" run -q --machine bus -o dtrack -d named -- ./program
grep -q '"hidden"' named/stats.json || fail "compressed by zstd: no name of a structure"

# beside it, and in .debug there; not one of another program
whole
cp program original
for folder in . .debug; do
    mkdir -p $folder
    cp original program
    must objcopy --only-keep-debug original $folder/program.debug
    must strip program
    lines && fail "lines without debug information"
    must objcopy --add-gnu-debuglink=$folder/program.debug program
    lines && typed || fail "debug information in $folder: $(cat said)"
    echo >>$folder/program.debug
    lines && fail "debug information of another file is taken"
    rm $folder/program.debug
done

# where packages have it: lines and names of functions
id=$(readelf -n original | sed -n 's/.*Build ID: //p')
mkdir -p "debug/.build-id/${id:0:2}"
must objcopy --only-keep-debug original "debug/.build-id/${id:0:2}/${id:2}.debug"
cp original program
must strip program
PEET_DEBUG_DIR=$PWD/debug lines || fail "installed debug information: $(cat said)"
PEET_DEBUG_DIR=/nonexistent lines && fail "lines without debug information"
# ... of a library that peetcc has not compiled
must "$PEET_PLAIN_CC" -O1 -g -shared -fPIC -Wl,--build-id -o library.so library.c
must "$peetcc" -O1 -g -o program main.c ./library.so
id=$(readelf -n library.so | sed -n 's/.*Build ID: //p')
mkdir -p "debug/.build-id/${id:0:2}"
must objcopy --only-keep-debug library.so "debug/.build-id/${id:0:2}/${id:2}.debug"
must strip library.so
PEET_DEBUG_DIR=$PWD/debug lines || fail "a library's installed debug information: $(cat said)"
exit 0
