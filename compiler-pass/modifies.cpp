// SPDX-License-Identifier: Apache-2.0
// At granularity ref an instruction that reads memory, changes the value and writes it back without a lock becomes
// three: a load into a free register, the operation on it, a store.  On a processor these are steps between which
// others act, and only what is an instruction of its own can be a step here.  Called by pass.cpp before anything is
// planned.  Where no register is free, or LLVM knows no such form, the instruction stays whole, and an exploration that
// executes it says so.
#include "pass.h"

#include <peet/module.h>

#include "llvm/CodeGen/MachineInstrBuilder.h"

using namespace llvm;

namespace peet {

namespace {

constexpr unsigned X86Operands = 5; // of an address in memory

bool isHighByte(const Target &T, MCRegister R)
{
    StringRef name = T.TRI->getName(R);
    return name == "AH" || name == "BH" || name == "CH" || name == "DH";
}

bool usesHighByte(const Target &T, const MachineInstr &MI)
{
    for (const MachineOperand &MO : MI.operands())
        if (MO.isReg() && MO.getReg() && isHighByte(T, MO.getReg().asMCReg()))
            return true;
    return false;
}

// The part of a free register that the class holds; 0: none is free.
MCRegister freeRegister(const Target &T, const LiveRegUnits &live, const TargetRegisterClass &RC)
{
    for (int r : deadRegisters(T, live, 0))
        for (MCPhysReg part : T.TRI->subregs_inclusive(T.gpr64[r]))
            if (RC.contains(part) && !isHighByte(T, part))
                return part;
    return MCRegister();
}

bool isModify(Target &T, Accesses &A, const MachineInstr &MI)
{
    if (MI.isInlineAsm() || MI.isCall() || MI.isTerminator() || !MI.mayLoad() || !MI.mayStore())
        return false;
    const OpInfo &I = T.info(MI);
    return I.klass != PEET_INSN_ATOMIC && I.memOp >= 0 && !I.noref && (A.mayBeShared(MI) || A.waits(MI)) &&
        !usesHighByte(T, MI);
}

// LLVM's names say what belongs together: ADD32mi is ADD32ri with memory in place of the register that it reads and
// writes.
unsigned registerForm(Target &T, const MachineInstr &MI, unsigned &bits)
{
    StringRef name = T.TII->getName(MI.getOpcode());
    const size_t digits = name.find_first_of("0123456789"), end = name.find_first_not_of("0123456789", digits);
    if (digits == StringRef::npos || end == StringRef::npos || name[end] != 'm' ||
        name.slice(digits, end).getAsInteger(10, bits))
        return 0;
    if (name.starts_with("BT") && name.substr(end).starts_with("mr"))
        return 0; // of strings of bits: the register form is another operation
    const unsigned opcode = T.opcode((name.take_front(end) + "r" + name.substr(end + 1)).str().c_str());
    if (!opcode)
        return 0;
    const MCInstrDesc &from = MI.getDesc(), &to = T.TII->get(opcode);
    const bool same = to.getNumDefs() == 1 && from.getNumDefs() == 0 &&
        to.getOperandConstraint(1, MCOI::TIED_TO) == 0 &&
        to.getNumOperands() == from.getNumOperands() - X86Operands + 2 && !to.mayLoad() && !to.mayStore();
    return same && T.info(MI).memOp == 0 ? opcode : 0;
}

bool split(Target &T, MachineInstr &MI, const LiveRegUnits &live)
{
    unsigned bits = 0;
    const unsigned opcode = registerForm(T, MI, bits);
    const unsigned load = T.opcode(("MOV" + std::to_string(bits) + "rm").c_str()),
                   store = T.opcode(("MOV" + std::to_string(bits) + "mr").c_str());
    const TargetRegisterClass *RC = opcode ? T.TII->getRegClass(T.TII->get(opcode), 0) : nullptr;
    const MCRegister R = RC ? freeRegister(T, live, *RC) : MCRegister();
    if (!R || !load || !store)
        return false;
    MachineBasicBlock &MBB = *MI.getParent();
    auto first = BuildMI(MBB, MI, MI.getDebugLoc(), T.TII->get(load), R);
    auto second = BuildMI(MBB, MI, MI.getDebugLoc(), T.TII->get(opcode), R).addReg(R);
    auto third = BuildMI(MBB, MI, MI.getDebugLoc(), T.TII->get(store));
    for (unsigned i = 0; i < MI.getNumExplicitOperands(); i++) {
        MachineOperand MO = MI.getOperand(i);
        if (i >= X86Operands) {
            second.add(MO);
            continue;
        }
        third.add(MO);
        if (MO.isReg())
            MO.setIsKill(false);
        first.add(MO);
    }
    third.addReg(R, getKillRegState(true));
    if (MI.registerDefIsDead(T.eflags, T.TRI))
        second->addRegisterDead(T.eflags, T.TRI);
    for (MachineMemOperand *MMO : MI.memoperands()) {
        const auto flags = MMO->getFlags();
        if (MMO->isLoad())
            first.addMemOperand(T.MF.getMachineMemOperand(MMO, flags & ~MachineMemOperand::MOStore));
        if (MMO->isStore())
            third.addMemOperand(T.MF.getMachineMemOperand(MMO, flags & ~MachineMemOperand::MOLoad));
    }
    MI.eraseFromParent();
    return true;
}

} // namespace

void splitModifies(Target &T, MachineFunction &MF)
{
    Accesses A(T, MF);
    for (MachineBasicBlock &MBB : MF) {
        LiveRegUnits live(*T.TRI);
        live.addLiveOuts(MBB);
        for (MachineInstr &MI : make_early_inc_range(llvm::reverse(MBB))) {
            LiveRegUnits around = live;
            live.stepBackward(MI);
            around.addUnits(live.getBitVector());
            if (isModify(T, A, MI))
                split(T, MI, around);
        }
    }
}

} // namespace peet
