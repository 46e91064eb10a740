// SPDX-License-Identifier: Apache-2.0
// -fpeet-domains: references that may meet other contexts' add the base of gs, the offset of the running
// context's view of memory (runtime/domain.h).  segments.cpp and derive.cpp ask which ones; after insert.cpp and emit.cpp have
// done their part, run() puts the prefix on original instructions, and a hook before calls and inline assembly that may
// lead to code which sees main memory alone.  Nothing here changes what is recorded: registers hold primary
// addresses.  A prefix is one byte, which the schema's lengths are without (InsnPlan::prefixed).
#include "pass.h"

#include <peet/raw.h>

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineMemOperand.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/PseudoSourceValue.h"
#include "llvm/CodeGen/TargetFrameLowering.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace peet {

// What no store ever changes, or nobody but the function itself refers to.
bool Accesses::isSettled(const MachineMemOperand &MMO)
{
    if (MMO.isVolatile())
        return false;
    if (MMO.isInvariant() && MMO.isLoad() && !MMO.isStore())
        return true;
    if (const Value *V = MMO.getValue())
        if (const auto *G = dyn_cast<GlobalVariable>(getUnderlyingObject(V)))
            return G->isConstant();
    return isPrivateStack(MMO);
}

bool Accesses::mayBeShared(const MachineInstr &MI)
{
    if (isViewed(MI))
        return true;
    if (MI.isInlineAsm() || MI.isCall() || T.info(MI).memOp < 0 || T.info(MI).noref)
        return false;
    for (const MachineMemOperand *MMO : MI.memoperands())
        if (isSharedStack(*MMO))
            return true;
    return false;
}

bool Accesses::isViewed(const MachineInstr &MI)
{
    if (MI.isInlineAsm())
        return false;
    const OpInfo &I = T.info(MI);
    if (I.implicit == Implicit::Movs || I.implicit == Implicit::Stos || I.implicit == Implicit::Lods)
        return true;
    if (I.memOp < 0)
        return StringRef(I.name).contains("MASKMOVDQU") || StringRef(I.name).contains("MMX_MASKMOV");
    if (I.noref || StringRef(I.name).starts_with("TLS"))
        return false;
    const MachineOperand *op = &MI.getOperand(I.memOp);
    if (op[4].getReg() || op[3].isCPI() || op[3].isJTI())
        return false; // thread-local, or constants
    if (op[0].isReg() && op[0].getReg()) {
        int base = T.gpr(op[0].getReg().asMCReg());
        if (base == RSP || (base == RBP && MF.getSubtarget().getFrameLowering()->hasFP(MF)))
            return false;
    }
    bool settled = !MI.memoperands_empty();
    for (const MachineMemOperand *MMO : MI.memoperands())
        settled = settled && isSettled(*MMO);
    return !settled;
}

namespace {

class Viewer {
  public:
    Viewer(Target &T, Function &F) : T(T), F(F), gs(T.reg("GS")), frames(*F.MF) {}
    void run();

  private:
    using Iter = MachineBasicBlock::iterator;
    void text(MachineBasicBlock &MBB, Iter at, const std::string &s)
    {
        BuildMI(MBB, at, DebugLoc(), T.TII->get(TargetOpcode::INLINEASM))
            .addExternalSymbol(F.MF->createExternalSymbolName(s))
            .addImm(InlineAsm::Extra_HasSideEffects);
    }
    std::string name(MCRegister R) const
    {
        return "%" + StringRef(T.TRI->getName(R)).lower();
    }
    bool callee(const MachineInstr &MI, std::string &push);
    bool operand(const MachineOperand *op, std::string &out);
    void strings(MachineInstr &MI, const OpInfo &I, bool flagsBefore, bool flagsAfter);
    void outside(MachineInstr &MI, bool flags);
    void back(MachineBasicBlock &MBB, Iter at);

    Target &T;
    Function &F;
    MCRegister gs;
    Frames frames;
    std::string slow;
    unsigned nslow = 0;
};

std::string quote(StringRef name)
{
    std::string out = "\"";
    for (char c : name)
        out += c == '$' ? std::string("$$") : c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return out + "\"";
}

// A memory operand in assembly text, 128 bytes further down the stack; false: not one that can be written down.
bool Viewer::operand(const MachineOperand *op, std::string &out)
{
    raw_string_ostream os(out);
    if (op[4].getReg())
        os << name(op[4].getReg().asMCReg()) << ":";
    else if (!(op[0].isReg() && (op[0].getReg() == T.gpr64[RSP])))
        os << "%gs:";
    int64_t disp = op[0].isReg() && op[0].getReg() == T.gpr64[RSP] ? 128 : 0;
    if (op[3].isGlobal()) {
        if (op[3].getTargetFlags())
            return false;
        os << quote(F.MF->getTarget().getSymbol(op[3].getGlobal())->getName()) << "+" << op[3].getOffset() + disp;
    } else if (op[3].isImm())
        os << op[3].getImm() + disp;
    else
        return false;
    if (!op[0].isReg() || (!op[0].getReg() && !op[2].getReg()))
        return op[0].isReg();
    os << "(";
    if (op[0].getReg())
        os << name(op[0].getReg().asMCReg());
    if (op[2].getReg())
        os << "," << name(op[2].getReg().asMCReg()) << "," << op[1].getImm();
    os << ")";
    return true;
}

// May this call lead to code that was not recorded?  Then `push` puts the callee's address on the stack.
bool Viewer::callee(const MachineInstr &MI, std::string &push)
{
    const OpInfo &I = T.info(MI);
    if (!MI.isCall() || MI.isInlineAsm() || StringRef(I.name).starts_with("TLS_"))
        return false;
    if (I.memOp >= 0) {
        const MachineOperand *op = &MI.getOperand(I.memOp);
        if (op[3].isGlobal() && op[3].getTargetFlags() && op[0].isReg() && op[0].getReg() == T.rip) {
            push = "pushq " + quote(F.MF->getTarget().getSymbol(op[3].getGlobal())->getName()) + "@GOTPCREL(%rip)";
            return true;
        }
        std::string text;
        if (!operand(op, text))
            return false; // a table of jumps: within the function
        push = "pushq " + text;
        return true;
    }
    for (const MachineOperand &MO : MI.explicit_operands()) {
        if (MO.isGlobal()) {
            const GlobalValue *G = MO.getGlobal();
            const auto *callee = dyn_cast_or_null<llvm::Function>(G->getAliaseeObject());
            if (callee && (callee->isIntrinsic() || (callee->doesNotAccessMemory() && !callee->isInterposable())))
                return false;
            if (callee && !callee->isDeclarationForLinker() && !callee->hasFnAttribute(Attribute::Naked))
                return false;
            push = "pushq " + quote(F.MF->getTarget().getSymbol(G)->getName()) + "@GOTPCREL(%rip)";
            return true;
        }
        if (MO.isSymbol()) {
            StringRef n = MO.getSymbolName();
            if (n.starts_with("__") &&
                (n.ends_with("ti3") || n.ends_with("tf2") || n.ends_with("tf3") || n.ends_with("ti")))
                return false; // arithmetic
            push = "pushq " + quote(n) + "@GOTPCREL(%rip)";
            return true;
        }
        if (MO.isReg() && MO.getReg()) {
            if (T.gpr(MO.getReg().asMCReg()) < 0)
                return false;
            push = "pushq " + name(MO.getReg().asMCReg());
            return true;
        }
    }
    return false;
}

// Behind a call, and at a landing pad, where no flags are live: a hook that is taken while the context is away.
void Viewer::back(MachineBasicBlock &MBB, Iter at)
{
    if (at == MBB.end() && MBB.succ_empty())
        return; // never reached
    MCSymbol *out = label(*F.MF, "y", nslow), *on = label(*F.MF, "z", nslow);
    nslow++;
    const unsigned frame = frames.at(MBB, at);
    auto cmp = BuildMI(MBB, at, DebugLoc(), T.TII->get(T.opcode("CMP32mi")));
    cmp.addReg(0).addImm(1).addReg(0).addImm(PEET_CONTROL_ADDRESS + PEET_CONTROL_AWAY).addReg(0).addImm(0);
    BuildMI(MBB, at, DebugLoc(), T.TII->get(T.opcode("JCC_1"))).addSym(out).addImm(5);
    BuildMI(MBB, at, DebugLoc(), T.TII->get(TargetOpcode::ANNOTATION_LABEL)).addSym(on);
    std::string call;
    raw_string_ostream(call) << "callq *" << PEET_CONTROL_ADDRESS + PEET_CONTROL_RETURN
                             << "\n\t.byte 0x0f,0x1f,0x80\n\t.long " << PEET_HOOK_VECTORS;
    slow += frames.become(frame) +
        (out->getName() + ": " + frames.below(frame, call) + "\n\tjmp " + on->getName() + "\n").str();
}

// A hook that is taken while the running context's view is not main memory.
void Viewer::outside(MachineInstr &MI, bool flags)
{
    std::string push;
    const bool tail = MI.isTerminator() || MI.isReturn() || MI.isInlineAsm(); // no hook behind it
    if (MI.isInlineAsm()) {
        if (!isReal(MI) ||
            !(MI.getOperand(InlineAsm::MIOp_ExtraInfo).getImm() &
                (InlineAsm::Extra_MayLoad | InlineAsm::Extra_MayStore)))
            return;
        push = "pushq $$0";
    } else if (!callee(MI, push))
        return;
    MachineBasicBlock &MBB = *MI.getParent();
    if (!tail)
        back(MBB, std::next(Iter(MI)));
    std::string call;
    const unsigned frame = frames.at(MBB, MI);
    raw_string_ostream(call) << push << frames.moved(frame, 8) << "\n\tcallq *"
                             << PEET_CONTROL_ADDRESS + PEET_CONTROL_OUTSIDE << "\n\t.byte 0x0f,0x1f,0x80\n\t.long "
                             << (PEET_HOOK_VECTORS | (tail ? 0 : PEET_HOOK_RETURNS));
    call = frames.below(frame, call, 8);
    if (flags) {
        text(MBB, MI, call);
        return;
    }
    MCSymbol *out = label(*F.MF, "w", nslow), *back = label(*F.MF, "x", nslow);
    nslow++;
    auto cmp = BuildMI(MBB, MI, MI.getDebugLoc(), T.TII->get(T.opcode("CMP32mi")));
    cmp.addReg(0).addImm(1).addReg(0).addImm(PEET_CONTROL_ADDRESS + PEET_CONTROL_VIEWED).addReg(0).addImm(0);
    BuildMI(MBB, MI, MI.getDebugLoc(), T.TII->get(T.opcode("JCC_1"))).addSym(out).addImm(5);
    BuildMI(MBB, MI, MI.getDebugLoc(), T.TII->get(TargetOpcode::ANNOTATION_LABEL)).addSym(back);
    slow += frames.become(frame) + (out->getName() + ": " + call + "\n\tjmp " + back->getName() + "\n").str();
}

// The destination of a string operation is relative to es, which has no base: its register takes the offset itself.
void Viewer::strings(MachineInstr &MI, const OpInfo &I, bool flagsBefore, bool flagsAfter)
{
    MachineBasicBlock &MBB = *MI.getParent();
    if (I.implicit != Implicit::Lods) {
        const bool flags = flagsBefore || flagsAfter;
        auto adjust = [&](Iter at, bool back) {
            const int offset = PEET_CONTROL_ADDRESS + (back ? PEET_CONTROL_VIEW_BACK : PEET_CONTROL_VIEW_OFFSET);
            if (!flags) {
                BuildMI(MBB, at, MI.getDebugLoc(), T.TII->get(T.opcode("ADD64rm")), T.gpr64[7])
                    .addReg(T.gpr64[7])
                    .addReg(0)
                    .addImm(1)
                    .addReg(0)
                    .addImm(offset)
                    .addReg(0);
                return;
            }
            std::string s;
            raw_string_ostream os(s);
            os << "leaq -128(%rsp),%rsp\n\tpushq %rax\n\tmovq " << offset
               << ",%rax\n\tleaq (%rdi,%rax),%rdi\n\tpopq %rax\n\tleaq 128(%rsp),%rsp";
            text(MBB, at, s);
        };
        Iter next = std::next(Iter(MI));
        adjust(next, true);
        adjust(MI, false);
    }
    if (I.implicit != Implicit::Stos)
        text(MBB, MI, ".byte 0x65");
}

void Viewer::run()
{
    // The liveness of flags, before anything changes.
    DenseMap<const MachineInstr *, std::pair<bool, bool>> flags;
    for (MachineBasicBlock *MBB : F.layout) {
        LiveRegUnits live(*T.TRI);
        live.addLiveOuts(*MBB);
        for (MachineInstr &MI : llvm::reverse(*MBB)) {
            bool after = !live.available(T.eflags);
            live.stepBackward(MI);
            flags[&MI] = {!live.available(T.eflags), after};
        }
    }
    for (Segment &S : F.segments)
        for (InsnPlan &P : S.insns) {
            MachineInstr &MI = *P.MI;
            auto [before, after] = flags.lookup(&MI);
            outside(MI, before);
            if (!P.viewed)
                continue;
            const OpInfo &I = T.info(MI);
            if (P.prefixed)
                MI.getOperand(I.memOp + 4).setReg(gs);
            else if (I.implicit == Implicit::Movs || I.implicit == Implicit::Stos || I.implicit == Implicit::Lods)
                strings(MI, I, before, after);
            else
                text(*MI.getParent(), MI, ".byte 0x65");
        }
    for (MachineBasicBlock *MBB : F.layout)
        if (MBB->isEHPad()) {
            Iter at = MBB->begin();
            while (at != MBB->end() && (at->isPosition() || at->isMetaInstruction()) &&
                at->getOpcode() != TargetOpcode::ANNOTATION_LABEL)
                ++at;
            back(*MBB, at);
        }
    // The runtime asks objects for this reference to know what was compiled so.
    static thread_local const Module *module;
    if (module != F.MF->getFunction().getParent()) {
        module = F.MF->getFunction().getParent();
        slow += ".pushsection .peet.domains,\"aR\",@progbits\n\t.long __peet_domains_1@GOTPCREL\n\t.popsection\n";
    }
    if (slow.empty())
        return;
    MachineBasicBlock *tail = F.MF->CreateMachineBasicBlock();
    F.MF->push_back(tail);
    appendAsm(*F.MF, *tail, slow + frames.settle());
}

} // namespace

void view(Target &T, Function &F)
{
    Viewer(T, F).run();
}

} // namespace peet
