#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whether a run is the same on other hosts: programs on this computer, and in systems that QEMU emulates with other processors, under one simulated
# machine.  Prints for each program and host the run's hash, and what differs from this computer's run: the output, the hash, the numbers (stats.json).
#
#   bench/hosts.sh [--prefix DIR] [--kernel FILE] [--hosts NAMES] [--machine MACHINE] [--into DIR] [PROGRAM...]
#
# --hosts: processors as `qemu-system-x86_64 -cpu help` names them, each with how many there are behind a slash (default: "max/1 Haswell-noTSX/4 EPYC/2
# Skylake-Client/1"; one without AVX2, such as Nehalem/1, has other variants of the C library's functions).  DIR of --prefix is a build directory or an
# installation (default: build/ of this tree).  --kernel: default: the newest /boot/vmlinuz-* or PEET_TEST_KERNEL.  --machine: default: bus, with four
# processors.  --into: where what the systems printed stays (default: a folder that is removed).  A program takes 1 to 3 s in a system.
# Needs qemu-system-x86_64, cpio and a kernel; is skipped (status 77) where they are not there.  Status 1: something differs.
. "$(dirname "$0")/lib.sh"
kernel=${PEET_TEST_KERNEL:-} hosts='max/1 Haswell-noTSX/4 EPYC/2 Skylake-Client/1' machine=bus into= selected=
options "prefix kernel hosts machine into" "$@"

# name | source | flags | arguments
list() {
    cat <<'END'
malloc       | bench/libraries/library.c             | -lm          | malloc 5000
printf       | bench/libraries/library.c             | -lm          | printf 400
pow          | bench/libraries/library.c             | -lm          | pow 2000
sin          | bench/libraries/library.c             | -lm          | sin 2000
strings      | bench/libraries/library.c             | -lm          | strings 200
qsort        | bench/libraries/library.c             | -lm          | qsort 3
map          | bench/libraries/library.cc            |              | map 3000
ostream      | bench/libraries/library.cc            |              | ostream 20
regex        | bench/libraries/library.cc            |              | regex 20
mathematics  | tests/foreign/programs/mathematics.c  | -lm          |
texts        | tests/foreign/programs/texts.c        | -lm          |
objects      | tests/foreign/programs/objects.cpp    |              |
copies       | tests/foreign/programs/many.c         | -DWORK=copies -lm          |
comparisons  | tests/foreign/programs/many.c         | -DWORK=comparisons -lm     |
searches     | tests/foreign/programs/many.c         | -DWORK=searches -lm        |
wide_text    | tests/foreign/programs/many.c         | -DWORK=wide_text -lm       |
reals        | tests/foreign/programs/many.c         | -DWORK=text_as_numbers -lm |
complex      | tests/foreign/programs/many.c         | -DWORK=complex_numbers -lm |
handlers     | tests/foreign/programs/many.c         | -DWORK=handlers -lm        |
exceptions   | tests/foreign/programs/many.cpp       | -DWORK=exceptions          |
ways         | tests/foreign/programs/ways.cpp       |              |
crew         | tests/foreign/programs/crew.cpp       | -pthread     |
matmul       | bench/programs/matmul.c               | -lm          | 32 16 2
fft          | bench/threads/fft.c                   | -pthread -lm | 4 8 2
tasks        | bench/threads/tasks.c                 | -pthread     | 4 5000
cg           | bench/threads/cg.c                    | -fopenmp -lm | 4 200 3 2
END
}

known $(list | sed 's/ *|.*//')
[ -n "$kernel" ] || kernel=$(find /boot -maxdepth 1 -name 'vmlinuz-*' -readable 2>/dev/null | sort -V | tail -n 1)
for tool in qemu-system-x86_64 cpio; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
[ -r "$kernel" ] || { echo "skipped: no kernel in /boot, and --kernel names none"; exit 77; }
# In memory, as in the systems: on a disk's file system, newer kernels put libraries of 2 MiB and more where huge pages begin.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
begin
kernel=$(readlink -f "$kernel")
into=${into:-$work/into}
mkdir -p "$into" "$work/programs" && into=$(cd "$into" && pwd) || exit 2

# The programs, and what runs them in the same way on each host: the same paths and the same environment.
names=
while IFS='|' read -r name source flags arguments; do
    name=${name// /} source=${source// /}
    [[ -z $selected || $selected == *" $name "* ]] || continue
    compiler=peetcc
    [[ $source == *.c ]] || compiler=peetcc++
    # shellcheck disable=SC2086
    "$prefix/bin/$compiler" -O2 -w -o "$work/programs/$name" "$here/../$source" $flags || exit 2
    names="$names $name"
    printf '%s\n' "$arguments" >"$work/programs/$name.arguments"
done < <(list)
mkdir "$work/large"
for name in $names; do ldd "$work/programs/$name"; done | awk '$3 ~ /^\// && !seen[$3]++ { print $3 }' |
    xargs -I '{}' find -L '{}' -size +2047k -exec cp -L '{}' "$work/large" ';'
cat >"$work/programs/run" <<END
cd $work/programs && unset OLDPWD
ulimit -S -s 8192
for name in $names; do
    timeout 100 $prefix/bin/peet run -q -m $machine -n 4 --observe hash --observe counts -d $work/result -- ./\$name \$(cat \$name.arguments) >$work/printed 2>&1
    status=\$?
    hash=\$(sed -n 's/^ *"hash": "\([0-9a-f]*\)".*/\1/p' $work/result/stats.json)
    printed=\$(md5sum <$work/printed) numbers=\$(md5sum <$work/result/stats.json)
    echo "hosts: \$name \$status \${hash:--} \${printed%% *} \${numbers%% *}"
    rm -rf $work/result
done
echo "hosts: done"
END
run=(/usr/bin/env -i PATH=/usr/bin:/bin HOME=/ LC_ALL=C PEET_DEBUG_DIR=/nonexistent LD_LIBRARY_PATH="$work/large" /bin/bash "$work/programs/run")

# A file system with them, peet, and what both need, each where it is here.
root=$work/root
put() { # put FILE...: and what links lead to on the way
    local file real
    for file; do
        real=$(readlink -f "$file")
        mkdir -p "$root${real%/*}" && cp "$real" "$root$real" || exit 2
        [ "$real" = "$file" ] || [ -e "$root$file" ] || { mkdir -p "$root${file%/*}" && ln -sf "$real" "$root$file"; }
    done
}
mkdir -p "$root"/{proc,devices,dev,etc,usr/bin,usr/lib,usr/lib64}
for folder in bin lib lib64; do
    if [ -L /$folder ]; then ln -s usr/$folder "$root/$folder"; else mkdir -p "$root/$folder"; fi
done
ln -s /devices/null "$root/dev/null"
tools=$(for tool in bash sh env mount cat sed md5sum timeout rm; do command -v $tool; done)
# shellcheck disable=SC2086
put $tools /etc/ld.so.cache "$prefix"/bin/peet "$prefix"/lib/libpeet-*.so "$prefix"/lib/peet/costs.bin "$prefix"/lib/peet/modules/*.so "$work"/programs/* "$work"/large/*
put $(find "$prefix/share/peet" -type f) $(find /usr/lib/locale/C.utf8 /etc/localtime /usr/lib/x86_64-linux-gnu/gconv/gconv-modules.cache -type f 2>/dev/null)
# shellcheck disable=SC2046,SC2086
put $(for file in $tools "$prefix"/bin/peet "$prefix"/lib/libpeet-*.so "$work"/programs/*; do ldd "$file" 2>/dev/null; done | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }' | sort -u) \
    $(ldconfig -p 2>/dev/null | awk '/libgcc_s.so.1 .*x86-64/ && !seen++ { print $NF }')
cat >"$root/init" <<END
#!/bin/bash
export PATH=/usr/bin:/bin
mount -t proc proc /proc && mount -t devtmpfs devices /devices
exec >/devices/ttyS0 2>&1 </devices/null
${run[*]}
echo o >/proc/sysrq-trigger
while :; do :; done
END
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd.gz" || exit 2

echo "this computer: $(uname -r), $(awk -F ': ' '/^model name/ && !seen++ { print $2 }' /proc/cpuinfo)"
"${run[@]}" >"$into/here.txt" || exit 2
columns=
for host in $hosts; do
    name=${host%/*}
    timeout 1200 qemu-system-x86_64 -accel tcg -cpu "$name" -smp "${host#"$name"/}" -m 1G -nodefaults -display none -no-reboot \
        -serial "file:$into/$name.txt" -kernel "$kernel" -initrd "$work/initrd.gz" -append "console=ttyS0 quiet panic=-1 mitigations=off nowatchdog" </dev/null 2>"$into/$name.said"
    tr -d '\r' <"$into/$name.txt" | grep -a -o 'hosts: .*' >"$work/$name.txt"
    if grep -q '^hosts: done' "$work/$name.txt"; then columns="$columns $name"; else
        echo "$name: the system did not come to its end; see $into/$name.txt"
        failed=1
    fi
done

printf '%-12s %-16s' program here
printf ' %-24s' $columns
echo
# shellcheck disable=SC2086
awk -v columns="here $columns" -v names="$names" '
    FNR == 1 { file++ }
    $1 == "hosts:" && $3 != "" { status[$2, file] = $3; hash[$2, file] = $4; printed[$2, file] = $5; numbers[$2, file] = $6 }
    END {
        nhosts = split(columns, host); n = split(names, name)
        for (i = 1; i <= n; i++) {
            p = name[i]
            line = sprintf("%-12s %-16s", p, hash[p, 1])
            for (h = 2; h <= nhosts; h++) {
                said = hash[p, h] == hash[p, 1] ? "=" : hash[p, h]
                if (status[p, h] != status[p, 1]) said = said " status " status[p, h]
                else if (printed[p, h] != printed[p, 1]) said = said " output"
                else if (hash[p, h] == hash[p, 1] && numbers[p, h] != numbers[p, 1]) said = said " numbers"
                different += said != "="
                line = line sprintf(" %-24s", said)
            }
            sub(/ *$/, "", line); print line
        }
        printf "%d of %d runs differ\n", different, n * (nhosts - 1)
        exit different > 0
    }' "$into/here.txt" $(for name in $columns; do echo "$work/$name.txt"; done) || failed=1
exit ${failed:-0}
