// SPDX-License-Identifier: Apache-2.0
// Where the caller's frame is, for code that recording adds: what a debugger, an exception or a cancelled thread finds
// there must be as true as in the code that the compiler made.  Code behind the function's end says of itself in which
// state it was jumped to; code in the middle says by how much it has moved the stack pointer.
#include "pass.h"

#include "llvm/CodeGen/TargetOpcodes.h"
#include "llvm/MC/MCDwarf.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace peet {

enum { DwarfRsp = 7 };

Frames::Frames(const MachineFunction &MF)
{
    State state;
    SmallVector<State, 2> remembered;

    known = MF.needsFrameMoves();
    states.push_back(state);
    for (const MachineBasicBlock &MBB : MF) {
        for (const MachineInstr &MI : MBB) {
            before[&MI] = states.size() - 1;
            if (!MI.isCFIInstruction())
                continue;
            const MCCFIInstruction &rule = MF.getFrameInstructions()[MI.getOperand(0).getCFIIndex()];
            switch (rule.getOperation()) {
            case MCCFIInstruction::OpDefCfa:
                state.reg = rule.getRegister(), state.offset = rule.getOffset();
                break;
            case MCCFIInstruction::OpDefCfaRegister:
                state.reg = rule.getRegister();
                break;
            case MCCFIInstruction::OpDefCfaOffset:
                state.offset = rule.getOffset();
                break;
            case MCCFIInstruction::OpAdjustCfaOffset:
                state.offset += rule.getOffset();
                break;
            case MCCFIInstruction::OpOffset:
                state.saved[rule.getRegister()] = rule.getOffset();
                break;
            case MCCFIInstruction::OpRestore:
            case MCCFIInstruction::OpSameValue:
                state.saved.erase(rule.getRegister());
                break;
            case MCCFIInstruction::OpRememberState:
                remembered.push_back(state);
                break;
            case MCCFIInstruction::OpRestoreState:
                if (!remembered.empty())
                    state = remembered.pop_back_val();
                break;
            case MCCFIInstruction::OpGnuArgsSize:
                break;
            default: // an expression: nothing can be said of what is moved
                known = false;
            }
            states.push_back(state);
        }
        atEnd[&MBB] = states.size() - 1;
    }
    now = end = states.size() - 1;
}

unsigned Frames::at(const MachineBasicBlock &MBB, MachineBasicBlock::const_iterator it) const
{
    for (; it != MBB.end(); ++it) {
        auto found = before.find(&*it);
        if (found != before.end() &&
            !it->isCFIInstruction()) // a rule that comes next is of the instruction in front of us
            return found->second;
    }
    auto found = atEnd.find(&MBB);
    return found == atEnd.end() ? end : found->second;
}

std::string Frames::become(unsigned wanted, int down)
{
    std::string text;
    raw_string_ostream os(text);

    if (!known)
        return text;
    const State &to = states[wanted];
    os << "\t.cfi_def_cfa " << to.reg << ", " << to.offset + (to.reg == DwarfRsp ? down : 0) << "\n";
    for (const auto &[reg, offset] : states[now].saved)
        if (!to.saved.count(reg))
            os << "\t.cfi_same_value " << reg << "\n";
    for (const auto &[reg, offset] : to.saved) {
        auto found = states[now].saved.find(reg);
        if (found == states[now].saved.end() || found->second != offset)
            os << "\t.cfi_offset " << reg << ", " << offset << "\n";
    }
    now = wanted;
    return text;
}

std::string Frames::below(unsigned state, const std::string &code, int pushed) const
{
    return "leaq -128(%rsp),%rsp" + moved(state, 128) + "\n\t" + code + "\n\tleaq " + std::to_string(128 + pushed) +
        "(%rsp),%rsp" + moved(state, -128 - pushed);
}

std::string Frames::moved(unsigned state, int bytes) const
{
    if (!known || states[state].reg != DwarfRsp)
        return "";
    return "\n\t.cfi_adjust_cfa_offset " + std::to_string(bytes);
}

} // namespace peet
