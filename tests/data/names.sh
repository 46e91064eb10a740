# SPDX-License-Identifier: Apache-2.0
# Globals, statics, thread-local variables, heap blocks of every allocation function, mappings, stack: their names, types,
# lines and numbers, and how often they are referenced, which the program's text says, at -O0 and -O2, with -g and without.
. "$(dirname "$0")/lib.sh"
cat >names.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
struct node { int value; struct node *next; double weight[4]; };
volatile double grid[10][20];
static volatile struct node ring[7];
volatile int *volatile pointer;
__thread volatile long private_count;
static volatile unsigned char bytes[3], others[5];
__attribute__((noinline)) static int counter(void) { static volatile int calls = 3; calls = 4; return 0; }
__attribute__((noinline)) static volatile struct node *fresh(int value)
{
    volatile struct node *made = malloc(sizeof *made);
    made->value = value;
    return made;
}
__attribute__((noinline)) static void chain(void)
{
    volatile int *vector = NULL;
    for (int n = 10; n <= 10000; n *= 10) {
        vector = realloc((void *)vector,
            n * sizeof *vector);
        for (int i = 0; i < 10; i++)
            vector[n - 1 - i] = i;
    }
    free((void *)vector);
}
int main(int argc, char **argv)
{
    volatile char *text;
    volatile long *aligned = NULL;
    struct node *all[5];
    for (int i = 0; i < 10; i++)
        for (int k = 0; k < 20; k++)
            grid[i][k] = i;
    for (int i = 0; i < 7; i++) {
        ring[i].value = i;
        ring[i].weight[2] = ring[i].value;
    }
    pointer = NULL;
    private_count = 5;
    for (int i = 0; i < 3; i++)
        bytes[i] = others[i + 2] = 1;
    counter();
    for (int i = 0; i < 5; i++)
        all[i] = (struct node *)fresh(i);
    for (int i = 0; i < 3; i++)
        free(all[i]);
    chain();
    volatile short *zeros = calloc(100, sizeof *zeros);
    zeros[50] = zeros[70];
    if (posix_memalign((void **)&aligned, 256, 1000)) return 1;
    aligned[3] = 7;
    text = strdup(argv[0]);
    text[0] = '-';
    volatile float *wide = aligned_alloc(64, 640);
    wide[5] = 1;
    volatile char *pages = mmap(NULL, 50000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 5; i++)
        pages[10000 * i] = 1;
    munmap((void *)pages, 20480);
    volatile int *automatic = __builtin_alloca(argc * 400);
    automatic[50] = 1;
    volatile char *more = sbrk(100);
    more[99] = 1;
    free((void *)text);
    return 0;
}
END
for flags in '-O0 -g' '-O2 -g' '-O2 -g -fPIE -pie' '-O2 -gdwarf-4'; do
    # shellcheck disable=SC2086
    must "$peetcc" $flags -o names names.c
    observe out -- ./names
    line() { grep -n "$1" names.c | sed -n 1p | cut -d: -f1; }
    has out global grid type 'volatile double' element 8 bytes 1600 objects 1 references 200 line "$(line 'grid\[10')" function - file "$PWD/names.c"
    has out global ring type 'volatile struct node' element 48 bytes 336 references 21 members '.value=14 .weight[2]=7 ' flags 2
    has out global pointer type 'volatile int *volatile' bytes 8 references 1
    has out global bytes type 'volatile unsigned char' bytes 3 references 3
    has out global others bytes 5 references 3
    has out global calls function counter type 'volatile int' references 1 line "$(line 'static volatile int calls')"
    has out tls private_count type 'volatile long' references 1 objects 1
    has out heap made type 'volatile struct node' element 48 function fresh line "$(line 'malloc(')" objects 5 live 2 bytes 240 bytes_live 96 peak 240 \
        references 5 members '.value=5 ' flags 2
    has out heap vector type 'volatile int' objects 1 live 0 bytes 40000 bytes_live 0 peak 40000 function chain line "$(line 'realloc(')"
    has out heap zeros type 'volatile short' bytes 200 references 2
    has out heap aligned type 'volatile long' bytes 1000 references 1
    has out heap text type 'volatile char' bytes 8 live 0 function main line "$(line strdup)"
    has out heap wide type 'volatile float' bytes 640 references 1
    has out mapped pages type 'volatile char' bytes 50000 bytes_live 32768 references 5
    has out mapped more bytes 100 references 1
    has out stack '\(stack\)' objects 0
done

# the same code without debug information: the same objects and references, under the names that are left
must "$peetcc" -O2 -g -o names names.c
observe with -- ./names
must "$peetcc" -O2 -o names names.c
observe without -- ./names
has without global grid type - element 0 bytes 1600 references 200
has without global calls function counter references 1
has without tls private_count references 1
for pair in 'made fresh' 'vector chain'; do
    read -r name function <<<"$pair"
    for what in objects live bytes peak references; do
        equal "$what of $name" "$(field with heap "$name" $what)" "$(field without heap "$function[+]0x[0-9a-f]+" $what)"
    done
done
equal "all references" "$(awk -F'\t' '{ n += $13 } END { print n }' with/structures.txt)" "$(awk -F'\t' '{ n += $13 } END { print n }' without/structures.txt)"

# the source is gone: debug information alone says who receives the pointer
must "$peetcc" -O2 -g -o names names.c
mv names.c elsewhere.c
observe blind -- ./names
has blind heap made type 'volatile struct node' objects 5 references 5
