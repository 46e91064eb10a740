/* SPDX-License-Identifier: Apache-2.0 */
/* How long random tests are. */
#ifndef PEET_TEST_SHARE_H
#define PEET_TEST_SHARE_H

/* Long random tests are so many times shorter than at night, when ./dev nightly tests sanitized sets this to 1.  Much
 * shorter in a sanitized build: each step costs several times as much there.
 * A test that also demands that rare cases have come up is
 * shorter by less. */
#ifndef TEST_SHARE
#ifdef PEET_SANITIZED
#define TEST_SHARE 12
#else
#define TEST_SHARE 3
#endif
#endif

#endif
