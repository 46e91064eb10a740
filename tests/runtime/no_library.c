/* SPDX-License-Identifier: Apache-2.0 */
/* In place of library.cpp, for the cases that are not about libraries. */
int library_function(void);
int library_function(void)
{
    return 5;
}
