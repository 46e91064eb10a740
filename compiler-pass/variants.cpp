// SPDX-License-Identifier: Apache-2.0
// What costs depend on beside the opcode, found by asking LLVM's scheduling models: instructions are made up with
// each shape of operands, and those shapes matter to which some model gives another class.  The targets' own headers
// are not installed; operands are told by their descriptions, registers by name.
#include "variants.h"

#include "llvm/ADT/APInt.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCInstBuilder.h"
#include "llvm/MC/MCTargetOptions.h"
#include <algorithm>
#include <map>

using namespace llvm;

namespace peet {

bool ignoredRegister(StringRef n)
{
    static const char *const names[] = {"RIP", "EIP", "IP", "SSP", "MXCSR", "DF", "FPCW", "CS", "DS", "ES", "FS", "GS", "SS",
        "FS_BASE", "GS_BASE"};
    return std::any_of(std::begin(names), std::end(names), [&](const char *x) { return n == x; });
}

bool implicitAddress(const MCInstrDesc &D, StringRef n)
{
    if (!D.mayLoad() && !D.mayStore() && !D.isCall() && !D.isReturn())
        return false;
    return n == "RSP" || n == "ESP" || n == "RSI" || n == "ESI" || n == "RDI" || n == "EDI" || n == "RBP" || n == "EBP";
}

Processors *Processors::get(std::string &why)
{
    static std::unique_ptr<Processors> P;
    static std::string failed;
    static bool tried;
    if (!tried) {
        tried = true;
        std::unique_ptr<Processors> N(new Processors());
        Triple triple("x86_64-unknown-linux-gnu");
        N->target = TargetRegistry::lookupTarget(triple, failed);
        if (N->target) {
            MCTargetOptions options;
            N->registers.reset(N->target->createMCRegInfo(triple));
            N->instructions.reset(N->target->createMCInstrInfo());
            N->analysis.reset(N->target->createMCInstrAnalysis(N->instructions.get()));
            std::unique_ptr<MCSubtargetInfo> S(N->target->createMCSubtargetInfo(triple, "x86-64", ""));
            N->assembly.reset(N->target->createMCAsmInfo(*N->registers, triple, options));
            N->context.reset(new MCContext(triple, N->assembly.get(), N->registers.get(), S.get()));
            std::map<unsigned, unsigned> byId;
            for (const SubtargetSubTypeKV &CPU : S->getAllProcessorDescriptions()) {
                std::unique_ptr<MCSubtargetInfo> T(N->target->createMCSubtargetInfo(triple, CPU.Key, ""));
                if (!T->getSchedModel().hasInstrSchedModel())
                    continue;
                auto [at, fresh] = byId.try_emplace(T->getSchedModel().getProcessorID(), N->models.size());
                if (fresh)
                    N->models.push_back({std::string(CPU.Key), std::move(T)});
                N->names.push_back({std::string(CPU.Key), at->second});
            }
            std::sort(N->names.begin(), N->names.end());
            N->matters.resize(N->instructions->getNumOpcodes());
            if (!N->analysis || N->models.empty())
                failed = "LLVM has no scheduling models for x86-64";
            else
                P = std::move(N);
        }
    }
    why = failed;
    return P.get();
}

MCRegister Processors::named(const char *name) const
{
    for (unsigned r = 1; r < registers->getNumRegs(); r++)
        if (StringRef(registers->getName(r)) == name)
            return r;
    return MCRegister();
}

int Processors::firstMemory(const MCInstrDesc &D) const
{
    for (unsigned i = 0; i + 5 <= D.getNumOperands(); i++)
        if (D.operands()[i].OperandType == MCOI::OPERAND_MEMORY && D.operands()[i + 4].OperandType == MCOI::OPERAND_MEMORY)
            return i;
    return -1;
}

bool Processors::computesAddress(const MCInstrDesc &D) const
{
    return firstMemory(D) >= 0 && !D.mayLoad() && !D.mayStore();
}

MCInst Processors::sample(unsigned opcode, unsigned variant) const
{
    static const MCRegister RAX = named("RAX"), RBP = named("RBP"), RCX = named("RCX"), RIP = named("RIP");
    const MCInstrDesc &D = instructions->get(opcode);
    bool address = computesAddress(D);
    int memory = firstMemory(D);
    MCInst I;
    I.setOpcode(opcode);
    for (unsigned i = 0; i < D.getNumOperands(); i++) {
        const MCOperandInfo &O = D.operands()[i];
        int tied = D.getOperandConstraint(i, MCOI::TIED_TO);
        if (memory >= 0 && (int)i >= memory && (int)i < memory + 5) {
            unsigned v = address ? variant : 1u | VariantIndex;
            switch (i - memory) {
            case 0:
                I.addOperand(MCOperand::createReg((v & VariantBase) == 0 ? MCRegister() : (v & VariantBase) == 1 ? RAX
                        : (v & VariantBase) == 2                                          ? RBP
                                                                                          : RIP));
                break;
            case 1:
                I.addOperand(MCOperand::createImm(1 << (v >> VariantScaleShift & 3)));
                break;
            case 2:
                I.addOperand(MCOperand::createReg(v & VariantIndex ? RCX : MCRegister()));
                break;
            case 3:
                if ((v >> VariantDispShift & 3) == 2)
                    I.addOperand(MCOperand::createExpr(MCSymbolRefExpr::create(context->getOrCreateSymbol("peet"), *context)));
                else
                    I.addOperand(MCOperand::createImm(v >> VariantDispShift & 3 ? 64 : 0));
                break;
            default:
                I.addOperand(MCOperand::createReg(MCRegister()));
            }
        } else if (O.OperandType == MCOI::OPERAND_REGISTER || tied >= 0) {
            MCRegister R;
            if (tied >= 0)
                R = I.getOperand(tied).getReg();
            else if (O.isLookupRegClassByHwMode() || O.RegClass < 0)
                R = RAX;
            else {
                const MCRegisterClass &C = registers->getRegClass(O.RegClass);
                R = C.getRegister((i + 1) % C.getNumRegs());
            }
            if (i == 2 && (variant & VariantSame) && I.getOperand(1).isReg())
                R = I.getOperand(1).getReg();
            I.addOperand(MCOperand::createReg(R));
        } else
            I.addOperand(MCOperand::createImm(i + 1 == D.getNumOperands() && !address ? variant & VariantImm : 0));
    }
    return I;
}

unsigned Processors::schedClass(const Model &m, const MCInst &I) const
{
    const MCSchedModel &SM = m.subtarget->getSchedModel();
    unsigned c = instructions->get(I.getOpcode()).getSchedClass();
    while (c && SM.getSchedClassDesc(c)->isVariant())
        c = m.subtarget->resolveVariantSchedClass(c, &I, instructions.get(), SM.getProcessorID());
    return c && SM.getSchedClassDesc(c)->isValid() ? c : 0;
}

bool Processors::differs(unsigned opcode, unsigned a, unsigned b) const
{
    MCInst x = sample(opcode, a), y = sample(opcode, b);
    for (const Model &m : models) {
        APInt ma, mb;
        unsigned id = m.subtarget->getSchedModel().getProcessorID();
        if (schedClass(m, x) != schedClass(m, y) || analysis->isZeroIdiom(x, ma, id) != analysis->isZeroIdiom(y, mb, id) ||
            analysis->isDependencyBreaking(x, ma, id) != analysis->isDependencyBreaking(y, mb, id) ||
            analysis->isOptimizableRegisterMove(x, id) != analysis->isOptimizableRegisterMove(y, id))
            return true;
    }
    return false;
}

const Processors::Matter &Processors::matter(unsigned opcode)
{
    Matter &M = matters[opcode];
    if (M.done)
        return M;
    M.done = true;
    const MCInstrDesc &D = instructions->get(opcode);
    unsigned n = D.getNumOperands();
    bool variant = false;
    for (const Model &m : models)
        variant |= m.subtarget->getSchedModel().getSchedClassDesc(D.getSchedClass())->isVariant();
    auto isRegister = [&](unsigned i) { return D.operands()[i].OperandType == MCOI::OPERAND_REGISTER; };
    if (n >= 3 && isRegister(1) && isRegister(2) && D.operands()[1].RegClass == D.operands()[2].RegClass)
        M.same = differs(opcode, 0, VariantSame);
    if (computesAddress(D))
        M.address = variant;
    else if (variant && n && !isRegister(n - 1) && D.operands()[n - 1].OperandType != MCOI::OPERAND_MEMORY)
        for (unsigned i = 1; i < 256 && !M.imm; i++)
            M.imm = differs(opcode, 0, i) || (M.same && differs(opcode, VariantSame, VariantSame | i));
    return M;
}

std::vector<unsigned> Processors::all(unsigned opcode)
{
    const Matter &M = matter(opcode);
    std::vector<unsigned> v;
    if (M.address) {
        for (unsigned shape = 0; shape < 96; shape++)
            v.push_back(shape);
        return v;
    }
    for (unsigned same = 0; same <= (M.same ? VariantSame : 0u); same += VariantSame)
        for (unsigned i = 0; i < (M.imm ? 256u : 1u); i++)
            v.push_back(same | i);
    return v;
}

unsigned variantOf(const MachineInstr &MI)
{
    std::string why;
    Processors *P = Processors::get(why);
    if (!P || MI.isInlineAsm() || MI.getOpcode() >= P->instructions->getNumOpcodes())
        return 0;
    const MCInstrDesc &D = P->instructions->get(MI.getOpcode());
    const Processors::Matter &M = P->matter(MI.getOpcode());
    unsigned v = 0;
    if (M.address) {
        int at = P->firstMemory(D);
        auto reg = [&](unsigned i) {
            Register r = MI.getOperand(at + i).getReg();
            return r.isValid() ? StringRef(P->registers->getName(r.asMCReg())) : StringRef();
        };
        StringRef base = MI.getOperand(at).isReg() ? reg(0) : StringRef("frame");
        v = base.empty() ? 0 : base == "RBP" || base == "EBP" || base == "R13" || base == "R13D" ? 2 : base == "RIP" || base == "EIP" ? 3 : 1;
        if (!reg(2).empty())
            v |= VariantIndex;
        for (unsigned s = MI.getOperand(at + 1).getImm(), log = 0; s > 1; s >>= 1)
            v = (v & ~(3u << VariantScaleShift)) | ++log << VariantScaleShift;
        const MachineOperand &disp = MI.getOperand(at + 3);
        v |= (!disp.isImm() ? 2u : disp.getImm() ? 1u : 0u) << VariantDispShift;
        return v;
    }
    if (M.same && MI.getNumOperands() >= 3 && MI.getOperand(1).isReg() && MI.getOperand(2).isReg() &&
        MI.getOperand(1).getReg() == MI.getOperand(2).getReg())
        v |= VariantSame;
    if (M.imm && D.getNumOperands() && MI.getOperand(D.getNumOperands() - 1).isImm())
        v |= MI.getOperand(D.getNumOperands() - 1).getImm() & VariantImm;
    return v;
}

} // namespace peet
