/* SPDX-License-Identifier: Apache-2.0 */
/* The schema file: what stays, what goes, and which files may be replaced.  Programs are made with the system's
 * compiler. */
#include "seal.h"
#include "suite.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct peet_error error;

static int seal(const char *program, const char *schema)
{
    memset(&error, 0, sizeof(error));
    return peetcc_seal(program, schema, &error);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
}

static void make_programs(void)
{
    write_text("with.c",
        "__asm__(\".pushsection .peet.schema,\\\"a\\\"\\n.ascii \\\"schema\\\"\\n.popsection\");\n"
        "char data[100000] = {1};\nint main(void) { return data[0] - 1; }\n");
    write_text("without.c", "int main(void) { return 0; }\n");
    CU_ASSERT_EQUAL_FATAL(system("cc -g -o with with.c && cc -o without without.c && cc -no-pie -s -o stripped with.c"),
        0);
}

/* Compare section by section. */
static void compare(const char *program, const char *schema)
{
    int fds[2] = {open(program, O_RDONLY), open(schema, O_RDONLY)};
    Elf *elfs[2] = {elf_begin(fds[0], ELF_C_READ, NULL), elf_begin(fds[1], ELF_C_READ, NULL)};
    Elf_Scn *scns[2] = {NULL, NULL};
    size_t names, kept = 0;
    CU_ASSERT_EQUAL_FATAL(elf_kind(elfs[1]), ELF_K_ELF);
    elf_getshdrstrndx(elfs[0], &names);
    while ((scns[0] = elf_nextscn(elfs[0], scns[0]))) {
        GElf_Shdr headers[2];
        scns[1] = elf_nextscn(elfs[1], scns[1]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(scns[1]);
        gelf_getshdr(scns[0], &headers[0]);
        gelf_getshdr(scns[1], &headers[1]);
        const char *name = elf_strptr(elfs[0], names, headers[0].sh_name);
        CU_ASSERT_EQUAL(headers[0].sh_addr, headers[1].sh_addr);
        CU_ASSERT_EQUAL(headers[0].sh_size, headers[1].sh_size);
        CU_ASSERT_EQUAL(headers[0].sh_flags, headers[1].sh_flags);
        if (strcmp(name, ".data") == 0)
            CU_ASSERT_EQUAL(headers[1].sh_type, SHT_NOBITS);
        if (strcmp(name, ".peet.schema") == 0 || strcmp(name, ".text") == 0 || strcmp(name, ".debug_info") == 0)
            CU_ASSERT_EQUAL(headers[1].sh_type, headers[0].sh_type);
        if (headers[1].sh_type == SHT_NOBITS || headers[0].sh_type == SHT_NOBITS)
            continue;
        Elf_Data *data[2] = {elf_rawdata(scns[0], NULL), elf_rawdata(scns[1], NULL)};
        CU_ASSERT_EQUAL(memcmp(data[0]->d_buf, data[1]->d_buf, data[0]->d_size), 0);
        kept++;
    }
    CU_ASSERT(kept >= 3);
    for (int i = 0; i < 2; i++) {
        elf_end(elfs[i]);
        close(fds[i]);
    }
}

static void test_copy(void)
{
    struct stat status;
    CU_ASSERT_EQUAL(seal("with", "with.schema"), 0);
    compare("with", "with.schema");
    CU_ASSERT_EQUAL(stat("with.schema", &status), 0);
    CU_ASSERT(status.st_size < 50000);
    CU_ASSERT_EQUAL(status.st_mode & 0111, 0);
    CU_ASSERT_EQUAL(seal("stripped", "stripped.schema"), 0);
    compare("stripped", "stripped.schema");
    /* A schema file's own schema is the same file. */
    CU_ASSERT_EQUAL(seal("with.schema", "twice.schema"), 0);
    CU_ASSERT_EQUAL(system("cmp with.schema twice.schema"), 0);
}

static void test_replace(void)
{
    CU_ASSERT_EQUAL(seal("with", "a.schema"), 0);
    CU_ASSERT_EQUAL(seal("with", "a.schema"), 0);
    CU_ASSERT_EQUAL(seal("without", "a.schema"), PEET_ENOTFOUND);
    CU_ASSERT_NOT_EQUAL(access("a.schema", F_OK), 0);
    write_text("b.schema", "mine");
    CU_ASSERT_EQUAL(seal("with", "b.schema"), PEET_EINVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "b.schema"));
    CU_ASSERT_EQUAL(seal("without", "b.schema"), PEET_ENOTFOUND);
    CU_ASSERT_EQUAL(system("grep -q mine b.schema"), 0);
    CU_ASSERT_EQUAL(system("cp without c.schema"), 0);
    CU_ASSERT_EQUAL(seal("with", "c.schema"), PEET_EINVALID);
    mkdir("d.schema", 0777);
    CU_ASSERT(seal("with", "d.schema") < 0);
    rmdir("d.schema");
}

static void test_failures(void)
{
    CU_ASSERT(seal("nowhere", "e.schema") < 0);
    CU_ASSERT_EQUAL(seal("with.c", "e.schema"), PEET_ENOTFOUND);
    CU_ASSERT_EQUAL(seal("with", "no/such/folder/e.schema"), PEET_EIO);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no/such/folder/e.schema"));
    for (int keep = 0; keep < 20000; keep += 313) { /* cut short anywhere: refused, or whole, never a crash */
        char command[100];
        snprintf(command, sizeof(command), "head -c %d with > cut", keep);
        CU_ASSERT_EQUAL(system(command), 0);
        seal("cut", "cut.schema");
    }
    CU_ASSERT_EQUAL(system("ls | grep -q 'schema\\.'"), 256); /* no temporary file */
}

int main(void)
{
    char scratch[] = "seal-test.XXXXXX";
    static const struct suite_test tests[] = {
        {"make programs", make_programs},
        {"copy", test_copy},
        {"replace", test_replace},
        {"failures", test_failures},
    };
    if (!mkdtemp(scratch) || chdir(scratch) != 0)
        return 1;
    int failed = RUN_SUITE("seal", tests);
    char command[100];
    snprintf(command, sizeof(command), "rm -rf %s", scratch);
    if (chdir("..") != 0 || system(command) != 0)
        failed = 1;
    return failed;
}
