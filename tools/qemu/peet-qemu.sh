#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Boots a Linux that runs programs, and brings the traces of their threads.
#
#   peet-qemu [--kernel FILE] [--cpus N] [--memory SIZE] [--limit SECONDS] -d DIR PROGRAM [ARG...] [--and PROGRAM [ARG...]]...
#
# All programs start at once.  They must be statically linked, and each thread that is to be traced has executed peet_marker(P * 256 + T)
# (peet/marker.h), P the program's place on the command line, from 1, and T the thread's number.  The trace of program P is
# DIR/P/trace.peet; what the system printed is DIR/console.txt.  Needs qemu-system-x86_64 and cpio, and no rights of root.
# --kernel: default: the newest /boot/vmlinuz-*, or that of Debian's package, which is unpacked in DIR.
set -u -o pipefail
describe() {
    awk 'NR > 2 && !/^#/ { exit } NR > 2 { sub(/^# ?/, ""); print }' "$0"
}
usage() {
    echo "peet-qemu: $*; \"peet-qemu --help\" says how it is called" >&2
    exit 2
}
fail() {
    echo "peet-qemu: $*" >&2
    exit 1
}
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
plugin=$here/../lib/peet/peet-qemu.so
[ -e "$plugin" ] || plugin=$(echo "$here"/../lib/*/peet/peet-qemu.so)
kernel= cpus=4 memory=512M limit=3600 dir=
while [ $# -gt 0 ]; do
    case $1 in
    --help)
        describe
        exit 0
        ;;
    --kernel | --cpus | --memory | --limit | -d)
        [ $# -ge 2 ] || usage "$1: a value is missing"
        case $1 in
        --kernel) kernel=$2 ;;
        --cpus) cpus=$2 ;;
        --memory) memory=$2 ;;
        --limit) limit=$2 ;;
        -d) dir=$2 ;;
        esac
        shift 2
        ;;
    -*) usage "there is no option $1" ;;
    *) break ;;
    esac
done
[ -n "$dir" ] || usage "-d says which folder gets the traces"
[ $# -gt 0 ] || usage "no program is named"
[ -e "$plugin" ] && [ -x "${plugin%/*}/peet-init" ] || fail "no plug-in $plugin: build it first"
for tool in qemu-system-x86_64 cpio gzip; do
    command -v $tool >/dev/null || fail "$tool is missing (Debian: qemu-system-x86, cpio)"
done
mkdir -p "$dir" || exit 1
dir=$(cd "$dir" && pwd)

# The newest kernel that is there, or Debian's, unpacked.
if [ -z "$kernel" ]; then
    kernel=$(find /boot "$dir"/kernel/boot -maxdepth 1 -name 'vmlinuz-*' -readable 2>/dev/null | sort -V | tail -n 1)
fi
if [ -z "$kernel" ]; then
    package=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends:/ && !found { print $2; found = 1 }')
    [ -n "$package" ] || fail "no kernel in /boot, and no package linux-image-amd64: give one by --kernel"
    mkdir -p "$dir/kernel"
    (cd "$dir/kernel" && apt-get download "$package" >apt.log 2>&1 && dpkg-deb -x "$package"_*.deb . && rm -f "$package"_*.deb && rm -rf lib) ||
        fail "the package $package cannot be had: $(tail -n 1 "$dir/kernel/apt.log")"
    kernel=$(echo "$dir"/kernel/boot/vmlinuz-*)
fi
[ -r "$kernel" ] || fail "$kernel cannot be read"

# A file system with the first process, the programs, and their list.
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
cp "${plugin%/*}/peet-init" "$root/init" || exit 1
options= number=0
commas() { # in options of QEMU a comma is two
    printf '%s' "${1//,/,,}"
}
add() { # add PROGRAM [ARG...]
    local IFS=$'\037' # between words of the list, so that these may have blanks
    number=$((number + 1))
    [ $# -le 64 ] || fail "$1: more than 63 arguments"
    case $* in *$'\n'*) fail "$1: an argument has a line feed in it" ;; esac
    [ -x "$1" ] || fail "$1 is no program"
    case $(od -An -tx1 -N4 "$1" | tr -d ' ') in 7f454c46) ;; *) fail "$1 is no ELF file" ;; esac
    ! grep -q INTERP < <(readelf -lW "$1" 2>/dev/null) || fail "$1 is linked dynamically: link it with -static"
    mkdir -p "$root/p$number" && cp "$1" "$root/p$number/${1##*/}" || exit 1
    options="$options,p$number=$(commas "$(readlink -f "$1")")"
    set -- "/p$number/${1##*/}" "${@:2}"
    printf '%s\n' "$*" >>"$root/programs"
}
one=()
for word in "$@" --and; do
    if [ "$word" = --and ]; then
        [ ${#one[@]} -gt 0 ] || usage "--and: no program is named"
        add "${one[@]}"
        one=()
    else
        one+=("$word")
    fi
done
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$dir/initrd.gz" || fail "the file system cannot be written"

for ((p = 1; p <= number; p++)); do
    rm -f "$dir/$p/trace.peet" || exit 1 # of an earlier system
done

# One thread of the host for all processors: their instructions come one after the other.  No huge pages: a stack that is gathered into one
# moves to another physical address, by which its thread is known, and the slower the host, the sooner that happens.
timeout "$limit" qemu-system-x86_64 -accel tcg,thread=single -cpu max -smp "$cpus" -m "$memory" -nodefaults -display none -no-reboot \
    -serial "file:$dir/console.txt" -kernel "$kernel" -initrd "$dir/initrd.gz" -append "console=ttyS0 panic=-1 mitigations=off norandmaps nowatchdog rcupdate.rcu_cpu_stall_suppress=1 transparent_hugepage=never" \
    -plugin "$(commas "$plugin"),out=$(commas "$dir")$options" </dev/null
status=$?
rm -f "$dir/initrd.gz"
[ $status != 124 ] || fail "the system did not come to its end in $limit seconds; see $dir/console.txt"
[ $status = 0 ] || fail "qemu-system-x86_64 ended with status $status; see $dir/console.txt"
grep -q 'peet-init: done' "$dir/console.txt" || fail "the system did not come to its end; see $dir/console.txt"
grep 'peet-init: p' "$dir/console.txt" >&2
for ((p = 1; p <= number; p++)); do
    [ -e "$dir/$p/trace.peet" ] || fail "program $p has executed no marker of its number; see $dir/console.txt"
done
# The first program on the command line that has failed says how all ends, as a shell would say it of that program.
exit "$(sed -n -e 's/.*peet-init: program \([0-9]*\) ended with status \([0-9]*\).*/\1 0 \2/p' \
    -e 's/.*peet-init: program \([0-9]*\) was killed by signal \([0-9]*\).*/\1 128 \2/p' "$dir/console.txt" |
    sort -n | awk 'NR == 1 { status = $2 + $3 } END { print status + 0 }')"
