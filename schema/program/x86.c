/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads just enough of an x86-64 instruction to find its displacement.  Linkers rewrite instructions
 * with symbolic operands (a load from the GOT becomes lea, a call through it a direct call, thread-local
 * sequences shrink), so the final bytes are asked, not the relocation.  Source: Intel SDM volume 2,
 * chapter 2 (prefixes, ModRM, SIB, VEX, EVEX); x86-64 psABI, appendix B (relaxations).
 */
#include "program/parts.h"

#include <string.h>

int peet__x86_operand(const uint8_t *code, size_t bytes, struct peet__x86_operand *out)
{
    size_t i = 0;
    memset(out, 0, sizeof *out);
    while (i < bytes &&
        (code[i] == 0x66 || code[i] == 0xf2 || code[i] == 0xf3 || code[i] == 0x2e || code[i] == 0x36 ||
            code[i] == 0x3e || code[i] == 0x26 || code[i] == 0x64 || code[i] == 0x65 || code[i] == 0x67 ||
            code[i] == 0xf0)) {
        i++;
    }
    if (i < bytes && (code[i] & 0xf0) == 0x40)
        i++;
    if (i >= bytes)
        return -1;
    if (code[i] == 0xc5) {
        i += 3; /* C5 xx opcode */
    } else if (code[i] == 0xc4) {
        i += 4; /* C4 xx xx opcode */
    } else if (code[i] == 0x62) {
        i += 5; /* 62 xx xx xx opcode */
    } else if (code[i] == 0x0f) {
        if (i + 1 >= bytes)
            return -1;
        i += code[i + 1] == 0x38 || code[i + 1] == 0x3a ? 3 : 2;
    } else {
        uint8_t op = code[i];
        if (op == 0xe8 || op == 0xe9 || op == 0x90 || (op & 0xf8) == 0xb8) /* addr32 call, jmp, nop, mov imm */
            return 0;
        if (op == 0x8d) /* lea */
            return 0;
        i++;
    }
    if (i >= bytes)
        return -1;
    unsigned mod = code[i] >> 6, rm = code[i] & 7;
    i++;
    if (mod == 3)
        return 0;
    out->present = 1;
    int disp32 = mod == 2;
    if (rm == 4) {
        if (i >= bytes)
            return -1;
        if (mod == 0 && (code[i] & 7) == 5)
            disp32 = 1;
        i++;
    } else if (mod == 0 && rm == 5) {
        disp32 = 1;
        out->rip = 1;
    }
    if (disp32) {
        int32_t d;
        if (bytes - i < 4)
            return -1;
        memcpy(&d, code + i, 4);
        out->disp = d;
    } else if (mod == 1) {
        if (i >= bytes)
            return -1;
        out->disp = (int8_t)code[i];
    }
    return 0;
}

enum peet__tls peet__x86_tls(const uint8_t *c, size_t bytes, unsigned *out_first_length)
{
    static const uint8_t fs0[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0};
    static const uint8_t ld[] = {0x66, 0x66, 0x66, 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0};
    if (bytes == 16 && memcmp(c, fs0, sizeof fs0) == 0) {
        *out_first_length = 9;
        return c[10] == 0x03 ? PEET__TLS_IE : PEET__TLS_LE;
    }
    if (bytes >= 12 && memcmp(c, ld, sizeof ld) == 0) {
        *out_first_length = bytes;
        return PEET__TLS_LD_LE;
    }
    if (bytes == 16 && c[0] == 0x66 && c[1] == 0x48 && c[2] == 0x8d && c[3] == 0x3d) {
        *out_first_length = 8;
        return c[11] == 0xe8 ? PEET__TLS_CALL : c[10] == 0xff || c[11] == 0xff ? PEET__TLS_CALL_GOT : PEET__TLS_UNKNOWN;
    }
    if (bytes >= 12 && c[0] == 0x48 && c[1] == 0x8d && c[2] == 0x3d) {
        *out_first_length = 7;
        return c[7] == 0xe8 ? PEET__TLS_CALL : c[7] == 0xff || c[8] == 0xff ? PEET__TLS_CALL_GOT : PEET__TLS_UNKNOWN;
    }
    return PEET__TLS_UNKNOWN;
}
