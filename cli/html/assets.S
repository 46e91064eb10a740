/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the page that `peet report --html` writes, as bytes: its script and style, and the charting library of the system. */
    .macro asset name, file
    .globl peet_html_\name
    .globl peet_html_\name\()_end
    .balign 8
peet_html_\name:
    .incbin "\file"
peet_html_\name\()_end:
    .byte 0
    .endm

    .section .rodata
    asset d3, PEET_D3_FILE
    asset script, PEET_SCRIPT_FILE
    asset style, PEET_STYLE_FILE
    .section .note.GNU-stack, "", @progbits
