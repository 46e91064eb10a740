/* SPDX-License-Identifier: Apache-2.0 */
/* peetcc's reading of clang's command line: modes, outputs, options with values, response files, refusals. */
#include "args.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct peetcc_args args;
static struct peet_error error;

static void release(void)
{
    for (int i = 0; i < args.words.count; i++)
        free(args.words.items[i]);
    free(args.words.items);
    free(args.user.items);
    memset(&args, 0, sizeof(args));
}

/* Blanks part the arguments.  The copy lives as long as the results. */
static char line[4096];
static int read_line(const char *text)
{
    char *argv[64];
    int argc = 0;
    release();
    memset(&error, 0, sizeof(error));
    snprintf(line, sizeof(line), "peetcc %s", text);
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    return peetcc_args_read(argc, argv, &args, &error);
}

static int links(const char *text)
{
    CU_ASSERT_EQUAL(read_line(text), 0);
    return peetcc_args_link(&args);
}

static void test_modes(void)
{
    static const char *const linking[] = {"a.c", "a.c -o a", "a.o b.o -lm", "-shared -fPIC a.c -o a.so", "-x c -",
        "-Wl,--version", "-Xlinker --version", "-O2 -Xlinker -rpath -Xlinker . a.c", "-MD a.c", "-MMD -MF c a.c",
        "-o -c a.c", "-include x.h a.c", "-D -c a.c", "-MF -E -MD a.c", "-Xclang -S a.c", "a.c -v", "-- -c"};
    static const char *const others[] = {"", "-v", "--version", "-dumpmachine", "-print-prog-name=ld", "-c a.c",
        "-S a.c", "-E a.c", "-M a.c", "-MM a.c", "-fsyntax-only a.c", "-r a.o", "-Wl,-r a.o",
        "-Wl,--relocatable,-z,x a.o", "-Xlinker -r a.o", "-cc1 -emit-obj a.c", "--compile a.c", "-o out"};
    for (size_t i = 0; i < sizeof(linking) / sizeof(linking[0]); i++)
        if (!links(linking[i])) {
            printf("[%s] ", linking[i]);
            CU_FAIL("does link");
        }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (links(others[i])) {
            printf("[%s] ", others[i]);
            CU_FAIL("does not link");
        }
}

static void test_output(void)
{
    CU_ASSERT(links("a.c -o out"));
    CU_ASSERT_STRING_EQUAL(args.output, "out");
    CU_ASSERT(links("-oout a.c"));
    CU_ASSERT_STRING_EQUAL(args.output, "out");
    CU_ASSERT(links("--output=out a.c"));
    CU_ASSERT_STRING_EQUAL(args.output, "out");
    CU_ASSERT(links("--output out a.c"));
    CU_ASSERT_STRING_EQUAL(args.output, "out");
    CU_ASSERT(links("-o first -o second a.c"));
    CU_ASSERT_STRING_EQUAL(args.output, "second");
    CU_ASSERT(links("a.c -Xlinker -o -Xlinker x"));
    CU_ASSERT_PTR_NULL(args.output);
}

static void test_own_options(void)
{
    CU_ASSERT(links("-O2 -fpeet-granularity=ref a.c -fpeet-derive=0 -fno-peet-schema-file -o a"));
    CU_ASSERT_EQUAL(args.user.count, 4);
    CU_ASSERT_STRING_EQUAL(args.user.items[0], "-O2");
    CU_ASSERT_STRING_EQUAL(args.user.items[3], "a");
    CU_ASSERT_PTR_NULL(args.user.items[4]);
    CU_ASSERT_STRING_EQUAL(args.granularity, "ref");
    CU_ASSERT_STRING_EQUAL(args.derive, "0");
    CU_ASSERT_EQUAL(args.schema_file, 0);
    CU_ASSERT(links("-fno-peet-schema-file -fpeet-schema-file a.c"));
    CU_ASSERT_EQUAL(args.schema_file, 1);
    CU_ASSERT_EQUAL(read_line("--peet-prefix"), 0);
    CU_ASSERT_EQUAL(args.asks_prefix, 1);
    CU_ASSERT_EQUAL(args.user.count, 0);
    CU_ASSERT(read_line("-fpeet-granularity=blocks a.c") < 0);
    CU_ASSERT(read_line("-fpeet-derive=yes a.c") < 0);
    CU_ASSERT(read_line("-fpeet-anything a.c") < 0);
    CU_ASSERT(read_line("--peet-anything") < 0);
    /* An option's value is never taken for one. */
    CU_ASSERT_EQUAL(read_line("-D -fpeet-anything -c a.c"), 0);
    CU_ASSERT_EQUAL(args.user.count, 4);
}

static void test_separator(void)
{
    CU_ASSERT(links("-O2 -o a -- -flto -c"));
    CU_ASSERT_EQUAL(args.separator, 3);
    CU_ASSERT_EQUAL(args.user.count, 6);
    CU_ASSERT(links("-O2 a.c"));
    CU_ASSERT_EQUAL(args.separator, 2);
}

static void test_refusals(void)
{
    static const char *const refused[] = {"-flto a.c", "-flto=thin -c a.c", "-flto=full a.o", "-fno-lto -flto a.c",
        "-fthinlto-index=x -c a.c", "-m32 a.c", "-mx32 -c a.c", "-m64 -m32 a.c", "--target=i686-linux-gnu a.c",
        "-target aarch64-linux-gnu -c a.c", "-target x86_64-linux-gnux32 -c a.c", "-target x86_64-linux-android a.c",
        "-target x86_64-linux-musl a.c", "-static a.c", "-static-pie a.o", "--static a.o",
        "-fbasic-block-sections=all -c a.c", "-fsplit-machine-functions -c a.c"};
    static const char *const taken[] = {"-flto -fno-lto a.c", "-m32 -m64 a.c", "-static -c a.c", "-static-libgcc a.c",
        "-target x86_64-linux-gnu a.c", "--target=x86_64-pc-linux-gnu a.c",
        "-target i686-linux-gnu --target=x86_64-unknown-linux-gnu a.c", "-fbasic-block-sections=none a.c",
        "-fbasic-block-sections=all -fbasic-block-sections=none a.c",
        "-fsplit-machine-functions -fno-split-machine-functions a.c", "-MF -flto -MD -c a.c", "-o -static a.c"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (read_line(refused[i]) >= 0 || error.message[0] == '\0') {
            printf("[%s] ", refused[i]);
            CU_FAIL("is refused with a message");
        }
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        if (read_line(taken[i]) < 0) {
            printf("[%s] %s ", taken[i], error.message);
            CU_FAIL("is taken");
        }
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void test_response_files(void)
{
    write_text("args_plain.rsp", "-O2 \"a file.c\" 'single \\ quoted'\n-o a\\ b");
    CU_ASSERT(links("-g @args_plain.rsp"));
    CU_ASSERT_STRING_EQUAL(args.output, "a b");
    CU_ASSERT_EQUAL(args.user.count, 2);
    CU_ASSERT_STRING_EQUAL(args.user.items[1], "@args_plain.rsp");

    /* Options of ours must not reach clang: the contents stand in the file's place. */
    write_text("args_own.rsp", "-O2 -fpeet-granularity=block 'a file.c' @args_plain.rsp");
    CU_ASSERT(links("-g @args_own.rsp -lm"));
    CU_ASSERT_STRING_EQUAL(args.granularity, "block");
    CU_ASSERT_EQUAL(args.user.count, 5);
    CU_ASSERT_STRING_EQUAL(args.user.items[1], "-O2");
    CU_ASSERT_STRING_EQUAL(args.user.items[2], "a file.c");
    CU_ASSERT_STRING_EQUAL(args.user.items[3], "@args_plain.rsp");
    CU_ASSERT_STRING_EQUAL(args.user.items[4], "-lm");

    write_text("args_lto.rsp", "-c -flto");
    CU_ASSERT(read_line("a.c @args_lto.rsp") < 0);
    CU_ASSERT_EQUAL(read_line("-c @args_missing.rsp"), 0);
    write_text("args_self.rsp", "-c @args_self.rsp");
    CU_ASSERT_EQUAL(read_line("@args_self.rsp a.c"), 0);
    write_text("args_empty.rsp", " \n\t");
    CU_ASSERT_EQUAL(links("@args_empty.rsp"), 0);
    write_text("args_open.rsp", "a.c \"not closed \\");
    CU_ASSERT(links("@args_open.rsp"));
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"which command lines link", test_modes},
        {"where the output goes", test_output},
        {"peetcc's own options", test_own_options},
        {"double dash", test_separator},
        {"what is refused", test_refusals},
        {"response files", test_response_files},
    };
    int failed = RUN_SUITE("args", tests);
    release();
    return failed;
}
