# SPDX-License-Identifier: Apache-2.0
# An installed peet works from wherever it is moved to, with no reference to the tree that it was built in.
# Outside the build tree, whose path is looked for.
outside=$(mktemp -d "${TMPDIR:-/tmp}/peet-install.XXXXXX") || exit 1
trap 'rm -rf "$outside"' EXIT
set -- "$outside"
. "$(dirname "$0")/lib.sh"
write_sum
must "$PEET_CMAKE" --install "$PEET_PREFIX" --prefix "$PWD/first" >install.log
mv first "moved here"
prefix="$PWD/moved here"
build=$PEET_PREFIX
peet=$prefix/bin/peet peetcc=$prefix/bin/peetcc

# What is there.
for file in bin/peet bin/peetcc bin/peetcc++ bin/peetc++ lib/libpeet-rt.so lib/libpeet-host.so lib/peet/peet-pass.so \
    lib/peet/modules/bus.so lib/peet/modules/counts.so lib/peet/modules/ideal.so include/peet/module.h include/peet/doall.h \
    share/man/man1/peet.1 share/man/man1/peet-run.1 share/man/man1/peetcc.1; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
done

# Every command has its page, and each of its options stands there; pages, examples and completion come along.
for file in "$prefix"/bin/*; do
    name=$(basename "$file")
    page=$prefix/share/man/man1/$name.1
    [ -s "$page" ] || fail "there is no manual page of $name"
    case $(head -n 1 "$page") in
    .so*) [ -s "$prefix/share/man/$(sed -n 's/^[.]so //p' "$page")" ] || fail "the page of $name leads nowhere" ;;
    esac
done
verbs=$("$peet" help | awk '/^  [a-z]/ && $1 != "help" { print $1 }')
[ "$(echo "$verbs" | wc -l)" -ge 11 ] || fail "verbs: $verbs"
for verb in $verbs; do
    page=$prefix/share/man/man1/peet-$verb.1
    [ -s "$page" ] || fail "there is no manual page of peet $verb"
    grep -q -e "^.Xr peet-$verb 1" "$prefix/share/man/man1/peet.1" || fail "peet(1) does not name $verb"
    for option in $("$peet" "$verb" --help | grep -o -E -- '^ +(-[a-zA-Z?], +)?--[a-z-]+' | grep -o -e '--[a-z-]*' | sort -u); do
        case $option in --help | --usage | --version) continue ;; esac
        grep -q -e "-${option#--}\b" "$page" || fail "peet-$verb(1) does not name $option"
    done
done
for page in GUIDE TOOLKIT X86 CONSISTENCY; do
    [ -s "$prefix/share/doc/peet/$page.md" ] || fail "$page is not installed"
done
# links of the pages lead somewhere
for page in "$prefix"/share/doc/peet/*.md; do
    for link in $(grep -o '](\([^)#:]*\)[)#]' "$page" | sed 's/^](//; s/[)#]$//' | sort -u); do
        [ -z "$link" ] || [ -e "$prefix/share/doc/peet/$link" ] || case $link in ../*) ;; *) fail "$(basename "$page"): $link is not installed" ;; esac
    done
done
for example in module/minimal.c scheduling/fair.c toolkit/third.c toolkit/conflicts.cc shallow/shallow.c; do
    cmp -s "$PEET_SOURCE/examples/$example" "$prefix/share/doc/peet/examples/$example" || fail "the example $example is not installed"
done
must "$PEET_PLAIN_CXX" -std=c++20 -shared -fPIC -O2 -I"$prefix/include" -o conflicts.so "$prefix/share/doc/peet/examples/toolkit/conflicts.cc" \
    -L"$prefix/lib" -lpeet-toolkit
grep -q '^  size ' < <(must "$peet" sims ./conflicts.so) || fail "a module of the installed examples"

# completes LINE: what bash offers for its last word
completes() {
    PATH=$prefix/bin:$PATH bash --norc -c '
        . "$1"
        read -r -a COMP_WORDS <<<"$2"
        [[ $2 != *" " ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        compopt() { :; }
        $(complete -p peet | sed "s/.*-F \([^ ]*\) .*/\1/")
        ((${#COMPREPLY[@]} == 0)) || printf "%s\n" "${COMPREPLY[@]}"' bash "$prefix/share/bash-completion/completions/peet" "$1" | tr '\n' ' '
}
equal "verbs" "$(completes 'peet sch')" "schema "
equal "options" "$(completes 'peet run --spin')" "--spin-quantum "
equal "options of another verb" "$(completes 'peet report --thr')" ""
equal "machines" "$(completes 'peet run --machine bu')" "bus "
equal "observers" "$(completes 'peet run -o dt')" "dtrack "
equal "a machine is no observer" "$(completes 'peet run -o bu')" ""
equal "parameters" "$(completes 'peet run -m bus,prot')" "bus,protocol= "
equal "choices" "$(completes 'peet run --policy r')" "rr "
equal "sims" "$(completes 'peet sims tim')" "timeline "
equal "all verbs" "$(completes 'peet help ' | tr ' ' '\n' | grep -c -x -F -e "$verbs")" "$(echo "$verbs" | wc -l)"

# No path of the build or source tree, but in debug information.
while read -r file; do
    case $(file -b "$file") in
    *ELF* | *'ar archive'*)
        objcopy --strip-debug "$file" stripped || fail "objcopy $file"
        grep -q -a -F -e "$build" stripped && fail "$file refers to $build"
        grep -q -F -e "$build" < <(readelf -d "$file" | grep -E 'RUNPATH|RPATH') && fail "run path of $file"
        ;;
    *) grep -q -F -e "$build" -e "$PEET_SOURCE" "$file" && fail "$file refers to the tree" ;;
    esac
done < <(find "$prefix" -type f)

# Everything works, also with a blank in the path; neither variable of ours nor the build tree helps.
unset PEET_PREFIX
[ "$("$peetcc" --peet-prefix)" = "$prefix" ] || fail "--peet-prefix"
must "$peetcc" -O2 -g -o sum sum.c
grep -q -F -e "$build" < <(readelf -d sum | grep RUNPATH) && fail "the program's run path"
[ "$(./sum 40)" = "$("$PEET_PLAIN_CC" -O2 -o plain sum.c && ./plain 40)" ] || fail "the program by itself"
must "$peet" run -q -n 2 --machine bus --observe counts -d out -- ./sum 40 >got
[ "$(cat got)" = "$(./plain 40)" ] || fail "the program's output"
[ -s out/stats.json ] || fail "no results"
must "$peet" sims >/dev/null
must "$peet" schema sum >/dev/null
grep -q -F -e "$build" out/config.cfg && fail "config.cfg refers to the build tree"

# Pages refer to what is installed.
for page in "$prefix"/share/doc/peet/*.md; do
    while read -r link; do
        [ -e "$prefix/share/doc/peet/$link" ] || fail "$(basename "$page") refers to $link, which is not there"
    done < <(grep -o ']([^)# ]*' "$page" | sed 's/](//' | grep -v '^http' | grep .)
done

# A module outside the tree, with one compiler call against the installed headers.
cat >mine.c <<'END'
#include <peet/module.h>
static const struct peet_param params[] = { { "step", PEET_PARAM_U64, "cycles", "3", "1..", "Cost of a block" }, { 0 } };
static uint64_t step;
static void *create(const struct peet_env *env, const union peet_value *values) { step = values[0].u64; return &step; }
static void destroy(void *self) {}
static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now) { return step; }
const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof(struct peet_module), .name = "mine", .summary = "One of our own",
    .kind = PEET_MACHINE, .needs = PEET_NEEDS_BLOCKS, .params = params, .create = create, .destroy = destroy, .block = block,
};
END
must cc -shared -fPIC -O2 -I"$prefix/include" -o mine.so mine.c
must "$peet" sims ./mine.so >listed
grep -q '^  step ' listed || fail "parameters of a module of our own"
must "$peet" run -q -d out --machine ./mine.so,step=5 -- ./sum 40 >/dev/null

# A program that was linked with another installation runs with the runtime of this one.
mv "moved here" "moved again"
peet="$PWD/moved again/bin/peet"
must "$peet" run -q -d out -- ./sum 40 >got
[ "$(cat got)" = "$(./plain 40)" ] || fail "after moving again"

# Every header compiles by itself, as C and as C++.
for header in "moved again"/include/peet/*.h; do
    name=$(basename "$header")
    echo "#include <peet/$name>" >header.c
    must "$PEET_PLAIN_CC" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"moved again/include" header.c
    cp header.c header.cc
    must "$PEET_PLAIN_CXX" -std=c++17 -Wall -Werror -fsyntax-only -I"moved again/include" header.cc
done
