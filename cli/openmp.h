/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that bring an OpenMP library without being compiled for peet's: the program itself has no directives, but a library
 * of its does (FFTW's, OpenBLAS's).  The ordinary OpenMP libraries wait in the kernel and in loops for threads that run in
 * simulated time only; peet's is loaded before them.
 */
#ifndef PEET_CLI_OPENMP_H
#define PEET_CLI_OPENMP_H

/** peet_cli_openmp_borrowed() - Returns: 1 if an OpenMP library is loaded with the program, and not peet's; 0 if not, or if
 * nobody can say */
int peet_cli_openmp_borrowed(const char *program);

#endif
