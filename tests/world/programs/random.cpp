// SPDX-License-Identifier: Apache-2.0
// Random numbers from everywhere, on two threads; and the stack protector's word.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/auxv.h>
#include <sys/random.h>
#include <thread>
#include <unistd.h>

static unsigned long one()
{
    unsigned long a = 0, b = 0, c = 0;
    if (getrandom(&a, sizeof a, 0) != sizeof a || getentropy(&b, sizeof b) != 0)
        printf("no random numbers\n");
    int fd = open("/dev/urandom", O_RDONLY);
    if (read(fd, &c, sizeof c) != sizeof c)
        printf("no /dev/urandom\n");
    close(fd);
    std::random_device device;
    if (!a || !b || !c || a == b || b == c || a == c)
        printf("not random\n");
    return a ^ (b * 3) ^ (c * 5) ^ device() * 7ul;
}

// More than a million bytes, at once and one after the other.
static void much()
{
    static char bytes[5 << 19];
    int fd = open("/dev/urandom", O_RDONLY);
    FILE *f = fopen("/dev/urandom", "rb");
    if (read(fd, bytes, sizeof bytes) != sizeof bytes || memcmp(bytes, bytes + (1 << 20), 1 << 20) == 0)
        printf("an end of read()\n");
    for (int i = 0; i < 100; i++)
        if (read(fd, bytes, 50000) != 50000)
            printf("no numbers in round %d\n", i);
    if (fread(bytes, 1, sizeof bytes, f) != sizeof bytes || memcmp(bytes, bytes + (1 << 20), 1 << 20) == 0)
        printf("an end of fread()\n");
    fclose(f);
    close(fd);
}

int main(int argc, char **)
{
    unsigned long other = 0, mine = one(), again = one(), canary;
    std::thread t([&] { other = one(); });
    t.join();
    FILE *f = fopen("/dev/urandom", "rb");
    unsigned long streamed = 0;
    if (!f || fread(&streamed, sizeof streamed, 1, f) != 1)
        printf("no stream\n");
    fclose(f);
    much();
    unsigned long start;
    memcpy(&start, (void *)getauxval(AT_RANDOM), sizeof start);
    asm("movq %%fs:0x28, %0" : "=r"(canary));
    if (argc == 1)
        printf("%lx %lx %lx %lx\n", mine, again, other, streamed);
    printf("%lx %lx %d\n", start, canary, mine != again && again != other);
    printf("%d %d\n", rand(), rand());
    return 0;
}
