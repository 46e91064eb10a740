/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain layout against the assembler itself: random functions of opaque bytes, jumps and alignments
 * are assembled by clang, and the offset of every block must be the one that peet__layout() computes.
 */
#include "program/parts.h"

#include <CUnit/Basic.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 60, INSNS = 8 };

static uint64_t state;

static unsigned below(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

/* Offsets of the symbols b0.. of an object file. */
static int read_offsets(const char *path, uint32_t *offset, unsigned n)
{
    int found = 0, fd = open(path, O_RDONLY);
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) != NULL;) {
        GElf_Shdr sh;
        gelf_getshdr(scn, &sh);
        if (sh.sh_type != SHT_SYMTAB)
            continue;
        Elf_Data *data = elf_getdata(scn, NULL);
        for (unsigned k = 0; k < sh.sh_size / sh.sh_entsize; k++) {
            GElf_Sym sym;
            gelf_getsym(data, k, &sym);
            const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);
            unsigned index;
            if (name != NULL && sscanf(name, "b%u", &index) == 1 && index < n) {
                offset[index] = (uint32_t)sym.st_value;
                found++;
            }
        }
    }
    elf_end(elf);
    close(fd);
    return found;
}

static void one(unsigned seed)
{
    static struct peet__layout_block blocks[BLOCKS];
    static struct peet__layout_insn insns[BLOCKS * INSNS];
    char dir[] = "/tmp/peet-layout-XXXXXX", source[64], object[64], command[256];
    state = seed;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    snprintf(source, sizeof source, "%s/a.s", dir);
    snprintf(object, sizeof object, "%s/a.o", dir);
    FILE *f = fopen(source, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(f, "\t.text\n\t.p2align 6\n");
    unsigned n = 0;
    for (unsigned b = 0; b < BLOCKS; b++) {
        unsigned log2 = b != 0 && below(4) == 0 ? 3 + below(3) : 0,
                 max = log2 != 0 && below(3) == 0 ? 1 + below(15) : 0;
        blocks[b] = (struct peet__layout_block){1u << log2, max, n, 0, 0, 0};
        if (log2 != 0)
            fprintf(f, max != 0 ? "\t.p2align %u, , %u\n" : "\t.p2align %u\n", log2, max);
        fprintf(f, "\t.globl b%u\nb%u:\n.L%u:\n", b, b, b);
        for (unsigned k = 1 + below(INSNS - 1); k != 0; k--) {
            if (below(3) == 0) {
                unsigned reach = below(2) != 0 ? 6 : BLOCKS;
                int target = (int)b + (int)below(2 * reach) - (int)reach;
                target = target < 0 ? 0 : target >= BLOCKS ? BLOCKS - 1 : target;
                unsigned jcc = below(2);
                fprintf(f, "\t%s .L%d\n", jcc ? "jne" : "jmp", target);
                insns[n++] = (struct peet__layout_insn){0, 2, target, jcc ? 2 : 1};
            } else {
                unsigned length = 1 + below(15);
                fprintf(f, "\t.fill %u, 1, 0x90\n", length);
                insns[n++] = (struct peet__layout_insn){0, length, -1, 0};
            }
            blocks[b].ninsns++;
        }
    }
    fclose(f);
    snprintf(command, sizeof command, "clang-22 -c -o %s %s", object, source);
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    uint32_t offset[BLOCKS];
    CU_ASSERT_EQUAL(read_offsets(object, offset, BLOCKS), BLOCKS);
    peet__layout(blocks, BLOCKS, insns, 0);
    for (unsigned b = 0; b < BLOCKS; b++)
        CU_ASSERT_EQUAL(blocks[b].offset, offset[b]);
    unlink(source);
    unlink(object);
    rmdir(dir);
}

static void test_random_functions(void)
{
    for (unsigned seed = 1; seed <= 40; seed++)
        one(seed);
}

int main(void)
{
    CU_initialize_registry();
    CU_pSuite suite = CU_add_suite("layout", NULL, NULL);
    CU_add_test(suite, "random functions as the assembler lays them out", test_random_functions);
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed != 0;
}
