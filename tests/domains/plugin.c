/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is linked, and one that is loaded: compiled with -fpeet-domains, and (as PLAIN) without peetcc at all. */
static long counter = 5;
long table[1000] = {1, 2, 3};

__attribute__((constructor)) static void begin(void)
{
    counter++;
}

long add(long *word, long n)
{
    *word += n;
    table[10] += n;
    counter += n;
    return counter;
}

long each(long *words, long n, long (*f)(long))
{
    long sum = 0;
    for (long i = 0; i < n; i++) {
        words[i] = f(words[i]);
        sum += words[i];
    }
    return sum;
}
