// SPDX-License-Identifier: Apache-2.0
// What costs depend on beside the opcode: two equal sources that make a zero, an immediate, the parts of an address.
// Called by: emit.cpp, which notes it in the schema, and costtable.cpp, which tabulates costs for each such variant.
// variants.cpp finds out what matters by asking the scheduling models of all processors. A variant is a number: enum peet_variant.
#ifndef PEET_VARIANTS_H
#define PEET_VARIANTS_H

#include <peet/module.h>

#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include <memory>
#include <string>
#include <vector>

namespace peet {

// x86-64's machine code layer: what is the same for all processors, and one subtarget for each model.
class Processors {
  public:
    static Processors *get(std::string &why); // made on first use; nullptr and a reason
    const llvm::Target *target;
    std::unique_ptr<llvm::MCRegisterInfo> registers;
    std::unique_ptr<llvm::MCInstrInfo> instructions;
    std::unique_ptr<llvm::MCInstrAnalysis> analysis;
    struct Model {
        std::string name; // of the first processor that has it
        std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
    };
    std::vector<Model> models;
    std::vector<std::pair<std::string, unsigned>> names; // every -mcpu and its model, sorted
    std::unique_ptr<llvm::MCContext> context;
    std::unique_ptr<llvm::MCAsmInfo> assembly;

    // The encodings that the assembler prefers: of an immediate of one byte, of a shift by one; the opcode itself if
    // there are none.  LLVM has them as opcodes of their own, with costs of their own, chosen behind our pass.
    unsigned shortForm(unsigned opcode) const;
    unsigned oneForm(unsigned opcode) const;
    unsigned accumulatorForm(unsigned opcode) const;
    unsigned compareForm(unsigned opcode,
        unsigned imm) const; // a comparison of vectors by number that has a name: equal, greater
    unsigned plainForm(unsigned opcode)
        const; // what a disassembler has for tail calls, locked instructions, scalars in vectors
    // What a scan for bits is, with the prefix that it gets where its flags do not matter, to processors that know it:
    // tzcnt.
    unsigned prefixedForm(unsigned opcode) const;
    // An instruction of that opcode and variant, operands made up, as the assembler encodes it.
    llvm::MCInst sample(unsigned opcode, unsigned variant) const;
    // All that may matter of an opcode: the variants that differ for some model.
    struct Matter {
        bool done = false, address = false, imm = false, same = false, wide = false, accumulator = false,
             prefix = false;
    };
    const Matter &matter(unsigned opcode);
    // The scheduling class of an instruction once its variants are resolved; 0: none.
    unsigned schedClass(const Model &m, const llvm::MCInst &I) const;
    // The variants of an opcode to tell apart, 0 first.
    std::vector<unsigned> all(unsigned opcode);
    // Does the address count as data, as of lea?
    bool computesAddress(const llvm::MCInstrDesc &D) const;
    int firstMemory(const llvm::MCInstrDesc &D) const; // operand; -1 none

  private:
    Processors() = default;
    bool differs(unsigned opcode, unsigned a, unsigned b) const;
    llvm::MCRegister named(const char *name) const;
    unsigned sibling(unsigned opcode, llvm::StringRef end,
        llvm::StringRef otherEnd) const; // the opcode itself if there is none
    std::vector<Matter> matters;
    llvm::StringMap<unsigned> opcodes;
};

// The variant of an instruction; 0 if nothing matters.
unsigned variantOf(const llvm::MachineInstr &MI);

// Is a register's use or definition none that a dependence could come from?
bool ignoredRegister(llvm::StringRef name);
// Is an implicit use of that register an address?
bool implicitAddress(const llvm::MCInstrDesc &D, llvm::StringRef name);

} // namespace peet
#endif
