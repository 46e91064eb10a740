/* SPDX-License-Identifier: Apache-2.0 */
/* Text of unknown origin on a terminal; see text.h. */
#include "text.h"

#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEAST_COLUMNS = 80, MOST_COLUMNS = 200 };

/* One UTF-8 character.  Returns: its bytes; 0 if there is none here */
static int decode(const unsigned char *c, uint32_t *out)
{
    int n = *c < 0x80 ? 1 : *c >= 0xc2 && *c < 0xe0 ? 2 : *c >= 0xe0 && *c < 0xf0 ? 3 : *c >= 0xf0 && *c < 0xf5 ? 4 : 0;
    if (n < 2) {
        *out = *c;
        return n;
    }
    *out = *c & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
        *out = *out << 6 | (c[i] & 0x3fu);
    }
    return n;
}

/* Characters that do something, or show nothing. */
static int harmful(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
        (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || c == 0x61c || (c >= 0xe0000 && c <= 0xe0fff);
}

int peet_cli_text_clean(char *out, size_t bytes, const char *text, int columns)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t at = 0, cut = 0; /* cut: where "..." goes if there is more than fits */
    int n = 0;
    while (*c && n < columns) {
        uint32_t code;
        int length = decode(c, &code);
        if (at + 5 > bytes)
            break;
        if (n + 3 <= columns)
            cut = at;
        if (length && !harmful(code)) {
            memcpy(out + at, c, (size_t)length);
            at += (size_t)length;
        } else {
            out[at++] = code == '\n' || code == '\t' ? ' ' : '?';
        }
        c += length ? length : 1;
        n++;
    }
    if (*c && columns > 3 && bytes > cut + 4) {
        memcpy(out + cut, "...", 3);
        at = cut + 3;
    }
    out[at] = '\0';
    return peet_cli_text_columns(out);
}

int peet_cli_text_columns(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

int peet_cli_terminal_columns(FILE *out)
{
    struct winsize size;
    int fd = fileno(out);
    if (fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col < LEAST_COLUMNS)
        return LEAST_COLUMNS;
    return size.ws_col > MOST_COLUMNS ? MOST_COLUMNS : size.ws_col;
}
