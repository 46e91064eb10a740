/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of costs as a file, lib/peet/costs.bin: every processor whose scheduling model LLVM has, every opcode.
 * Written by compiler-pass/costtable.cpp when peet is built, read by costs.c.
 *
 *   8 bytes magic, u32 version, u32 bytes of what follows; then ULEB128 numbers (u), zigzag-signed ones (i), strings (u
 *   length, bytes)
 *     llvm:string
 *     u:nopcodes { u:shared rest:string }         names, sorted by bytes; `shared` of the one before come first
 *     u:nmodels
 *     u:nnames { name:string u:model }            -mcpu names, sorted by bytes
 *     nmodels times: u:bytes and then so many bytes of
 *       u:dispatch u:window u:load u:mispredict u:retire u:load_queue u:store_queue u:moves u:in_order
 *       u:nresources { name:string u:units i:buffer u:nparts { u:resource } }
 *       u:ncosts { u:uops u:latency u:flags u:rthroughput_millicycles
 *                  u:nuses { u:resource u:first u:cycles u:units*2+reserved }
 *                  u:nbuffers { u:resource } u:nwrites { u:latency } u:nadvances { i:cycles } }
 *       nopcodes times: u:cost                    0: none; else index + 1
 *       u:nvaried { u:opcode u:n { u:variant u:cost } }   what differs from the opcode's own; both sorted
 */
#ifndef PEET_COSTS_FORMAT_H
#define PEET_COSTS_FORMAT_H

#define PEET_COSTS_MAGIC "PEETCOST"
#define PEET_COSTS_VERSION 1
#define PEET_COSTS_HEADER_BYTES 16

#define PEET_COSTS_ZERO_IDIOM 1
#define PEET_COSTS_ELIMINATED 2
#define PEET_COSTS_BEGINS_GROUP 4
#define PEET_COSTS_ENDS_GROUP 8

#endif
