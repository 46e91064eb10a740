# SPDX-License-Identifier: Apache-2.0
# What peetcc does not support it refuses before anything is made, and clang's own failures pass through.
. "$(dirname "$0")/lib.sh"
write_sum
refuses 1 '^peetcc: -flto is not supported' "$peetcc" -O2 -flto -c sum.c
refuses 1 '^peetcc: -flto=thin is not supported' "$peetcc" -flto=thin -o sum sum.c
echo '-flto' >options
refuses 1 '^peetcc: -flto is not supported' "$peetcc" @options -c sum.c
refuses 1 '^peetcc: -m32 .*x86_64-linux-gnu' "$peetcc" -m32 -c sum.c
refuses 1 '^peetcc: -mx32 ' "$peetcc" -mx32 -c sum.c
refuses 1 '^peetcc: --target=aarch64-linux-gnu ' "$peetcc" --target=aarch64-linux-gnu -c sum.c
refuses 1 '^peetcc: x86_64-linux-gnux32 ' "$peetcc" -target x86_64-linux-gnux32 -c sum.c
refuses 1 '^peetcc: x86_64-apple-darwin ' "$peetcc" -target x86_64-apple-darwin -c sum.c
refuses 1 '^peetcc: -static .*link dynamically' "$peetcc" -static -o sum sum.c
refuses 1 '^peetcc: -static-pie ' "$peetcc" -static-pie -o sum sum.c
refuses 1 '^peetcc: -fbasic-block-sections=all ' "$peetcc" -fbasic-block-sections=all -c sum.c
refuses 1 '^peetcc: -fsplit-machine-functions ' "$peetcc" -O2 -fsplit-machine-functions -c sum.c
refuses 1 '^peetcc: .*unknown granularity' "$peetcc" -fpeet-granularity=word -c sum.c
refuses 1 '^peetcc: .*0 or 1' "$peetcc" -fpeet-derive=2 -c sum.c
refuses 1 '^peetcc: unknown option -fpeet-granularty=ref' "$peetcc" -fpeet-granularty=ref -c sum.c
PEETCC_CLANG=/nonexistent/clang refuses 1 '^peetcc: PEETCC_CLANG=/nonexistent/clang: no such program' "$peetcc" -c sum.c
absent sum sum.o sum.schema a.out

# The last of a family decides, as with clang; what only looks like a refused option is not one.
must "$peetcc" -flto -fno-lto -c sum.c
must "$peetcc" -m32 -m64 -c sum.c
must "$peetcc" --target=x86_64-unknown-linux-gnu -c sum.c
must "$peetcc" -static -c sum.c
must "$peetcc" -DNAME -MD -MF -flto -c sum.c
[ -f ./-flto ] || fail "-MF -flto"

# clang's own errors and statuses.
refuses 1 'no input files' "$peetcc"
refuses 1 'no such file' "$peetcc" -c missing.c
echo 'int main(void) { return undeclared; }' >wrong.c
refuses 1 'undeclared' "$peetcc" -c wrong.c
echo 'int missing(void); int main(void) { return missing(); }' >unlinked.c
refuses 1 'undefined reference' "$peetcc" -o unlinked unlinked.c
absent unlinked unlinked.schema wrong.o
