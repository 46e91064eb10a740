/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module ABI's layout, written down.  Modules built against version 1 read these offsets: a field
 * that moves needs a new version in peet/module.h and a new table here; a field that is appended needs
 * a new size.  headers.sh compiles this file; it is never linked.
 */
#include <peet/module.h>
#include <peet/raw.h>

#define FIELD(type, field, offset) _Static_assert(offsetof(struct type, field) == (offset), #type "." #field " has moved")
#define SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), "size of " #type " has changed")

_Static_assert(PEET_MODULE_ABI == 1, "a new version needs its own table");

FIELD(peet_opcode, name, 0);
FIELD(peet_opcode, mnemonic, 8);
FIELD(peet_opcode, latency_cycles, 16);
FIELD(peet_opcode, rthroughput_millicycles, 20);
FIELD(peet_opcode, uops, 24);
FIELD(peet_opcode, ports, 32);
FIELD(peet_opcode, klass, 40);
SIZE(peet_opcode, 48);
FIELD(peet_insn, pc, 0);
FIELD(peet_insn, opcode, 8);
FIELD(peet_insn, line, 16);
FIELD(peet_insn, flags, 20);
FIELD(peet_insn, first_ref, 24);
FIELD(peet_insn, nrefs, 26);
FIELD(peet_insn, length_bytes, 28);
FIELD(peet_insn, nreads, 29);
FIELD(peet_insn, nwrites, 30);
FIELD(peet_insn, regs, 32);
SIZE(peet_insn, 40);
FIELD(peet_ref, insn, 0);
FIELD(peet_ref, size_bytes, 4);
FIELD(peet_ref, flags, 6);
FIELD(peet_ref, value, 8);
FIELD(peet_ref, kind, 10);
FIELD(peet_ref, order, 11);
FIELD(peet_ref, group, 12);
SIZE(peet_ref, 16);
FIELD(peet_block, function, 0);
FIELD(peet_block, pc, 8);
FIELD(peet_block, id, 16);
FIELD(peet_block, index, 20);
FIELD(peet_block, line, 24);
FIELD(peet_block, flags, 28);
FIELD(peet_block, ninsns, 32);
FIELD(peet_block, nrefs, 36);
FIELD(peet_block, nvalues, 40);
FIELD(peet_block, reads, 44);
FIELD(peet_block, writes, 48);
FIELD(peet_block, modifies, 52);
FIELD(peet_block, cost_cycles, 56);
FIELD(peet_block, code_bytes, 60);
FIELD(peet_block, insns, 64);
FIELD(peet_block, refs, 72);
SIZE(peet_block, 80);
FIELD(peet_function, name, 0);
FIELD(peet_function, file, 8);
FIELD(peet_function, image, 16);
FIELD(peet_function, pc, 24);
FIELD(peet_function, runtime_pc, 32);
FIELD(peet_function, id, 40);
FIELD(peet_function, line, 44);
FIELD(peet_function, code_bytes, 48);
FIELD(peet_function, nblocks, 52);
FIELD(peet_function, blocks, 56);
SIZE(peet_function, 64);
FIELD(peet_block_event, block, 0);
FIELD(peet_block_event, values, 8);
FIELD(peet_block_event, context, 16);
FIELD(peet_block_event, turns, 24);
FIELD(peet_block_event, strides, 32);
SIZE(peet_block_event, 40);
FIELD(peet_abstract_event, type, 0);
FIELD(peet_abstract_event, context, 4);
FIELD(peet_abstract_event, nargs, 8);
FIELD(peet_abstract_event, args, 16);
SIZE(peet_abstract_event, 24);
FIELD(peet_pull, kind, 0);
FIELD(peet_pull, block, 8);
FIELD(peet_pull, abstract, 8);
FIELD(peet_pull, idle_until_cycles, 8);
SIZE(peet_pull, 48);
FIELD(peet_param, name, 0);
FIELD(peet_param, type, 8);
FIELD(peet_param, unit, 16);
FIELD(peet_param, def, 24);
FIELD(peet_param, range, 32);
FIELD(peet_param, help, 40);
SIZE(peet_param, 48);
FIELD(peet_env, abi, 0);
FIELD(peet_env, struct_size, 4);
FIELD(peet_env, cores, 8);
FIELD(peet_env, hw_contexts, 12);
FIELD(peet_env, seed, 16);
FIELD(peet_env, output_dir, 24);
FIELD(peet_env, fail, 32);
FIELD(peet_env, stats_object, 40);
FIELD(peet_env, stats_array, 48);
FIELD(peet_env, stats_u64, 56);
FIELD(peet_env, stats_f64, 64);
FIELD(peet_env, stats_string, 72);
FIELD(peet_env, not_ready_until, 80);
FIELD(peet_env, clock, 88);
FIELD(peet_env, pull, 96);
FIELD(peet_env, charge, 104);
FIELD(peet_env, function_of_pc, 112);
FIELD(peet_env, host, 120);
SIZE(peet_env, 128);
FIELD(peet_module, abi, 0);
FIELD(peet_module, struct_size, 4);
FIELD(peet_module, name, 8);
FIELD(peet_module, summary, 16);
FIELD(peet_module, kind, 24);
FIELD(peet_module, needs, 28);
FIELD(peet_module, params, 32);
FIELD(peet_module, create, 40);
FIELD(peet_module, destroy, 48);
FIELD(peet_module, hw_contexts, 56);
FIELD(peet_module, block, 64);
FIELD(peet_module, abstract, 72);
FIELD(peet_module, pick_context, 80);
FIELD(peet_module, pick_winner, 88);
FIELD(peet_module, main, 96);
FIELD(peet_module, finish, 104);
FIELD(peet_module, stats, 112);
FIELD(peet_module, loop, 120);
FIELD(peet_module, blocks, 128);
SIZE(peet_module, 136);
SIZE(peet_ref_iter, 24);
_Static_assert(sizeof(union peet_value) == 8, "size of peet_value has changed");

/* Numbers that modules and compiled code have seen. */
_Static_assert(PEET_MACHINE == 1 && PEET_OBSERVER == 2, "module kinds");
_Static_assert(PEET_NEEDS_BLOCKS == 1 && PEET_NEEDS_ADDRESSES == 2 && PEET_NEEDS_ABSTRACT == 4, "needs");
_Static_assert(PEET_INSN_ASM == 18 && PEET_INSN_CLASSES == 19, "instruction classes");
_Static_assert(PEET_REF_LOAD == 0 && PEET_REF_STORE == 1 && PEET_REF_MODIFY == 2 && PEET_REF_PREFETCH == 3, "reference kinds");
_Static_assert(PEET_REF_RANGE == 16 && PEET_REF_CONDITIONAL == 32 && PEET_REF_TLS == 128, "reference flags");
_Static_assert(PEET_ABSTRACT_DOALL_FORK == 3 && PEET_ABSTRACT_PROGRAM_EXIT == 15 && PEET_ABSTRACT_YIELD == 19, "abstract events");
_Static_assert(PEET_PARAM_U64 == 0 && PEET_PARAM_STRING == 5, "parameter types");
_Static_assert(PEET_PULL_BLOCK == 0 && PEET_PULL_END == 3, "what a pull returns");
_Static_assert(PEET_RAW_ABI == 2 && PEET_CONTROL_ADDRESS == 0x7ffd0000, "seam");
_Static_assert(PEET_CONTROL_CURSOR == 0 && PEET_CONTROL_LIMIT == 8 && PEET_CONTROL_STUB == 16, "control page");
