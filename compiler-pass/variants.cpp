// SPDX-License-Identifier: Apache-2.0
// What costs depend on beside the opcode, found by asking LLVM's scheduling models: instructions are made up with
// each shape of operands, and those shapes matter to which some model gives another class.  The targets' own headers
// are not installed; operands are told by their descriptions, registers by name.
#include "variants.h"

#include "llvm/ADT/APInt.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCInstBuilder.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <map>

using namespace llvm;

namespace peet {

bool ignoredRegister(StringRef n)
{
    static const char *const names[] = {
        "RIP", "EIP", "IP", "SSP", "MXCSR", "DF", "FPCW", "CS", "DS", "ES", "FS", "GS", "SS", "FS_BASE", "GS_BASE"};
    return std::any_of(std::begin(names), std::end(names), [&](const char *x) { return n == x; });
}

static bool isAccumulator(StringRef n)
{
    return n == "AL" || n == "AX" || n == "EAX" || n == "RAX";
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
            for (unsigned o = 0; o < N->instructions->getNumOpcodes(); o++)
                N->opcodes[N->instructions->getName(o)] = o;
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

unsigned Processors::sibling(unsigned opcode, StringRef end, StringRef otherEnd) const
{
    StringRef name = instructions->getName(opcode);
    if (!name.ends_with(end))
        return opcode;
    auto at = opcodes.find((name.drop_back(end.size()) + otherEnd).str());
    return at == opcodes.end() ? opcode : at->second;
}

unsigned Processors::shortForm(unsigned opcode) const
{
    StringRef name = instructions->getName(opcode);
    if (name.ends_with("8ri") || name.ends_with("8mi"))
        return opcode; // its other form is none of 64-bit code
    for (auto [wide, narrow] : {std::pair("i32", "i8"), std::pair("ri", "ri8"), std::pair("mi", "mi8")})
        if (unsigned o = sibling(opcode, wide, narrow);
            o != opcode && instructions->get(o).getNumOperands() == instructions->get(opcode).getNumOperands())
            return o;
    return opcode;
}

unsigned Processors::oneForm(unsigned opcode) const
{
    for (auto [by, one] : {std::pair("ri", "r1"), std::pair("mi", "m1")})
        if (unsigned o = sibling(opcode, by, one); o != opcode && !instructions->get(o).isPseudo() &&
            instructions->get(o).getNumOperands() + 1 == instructions->get(opcode).getNumOperands())
            return o;
    return opcode;
}

unsigned Processors::accumulatorForm(unsigned opcode) const
{
    for (auto [any, own] :
        {std::pair("MOVSX16rr8", "CBW"), std::pair("MOVSX32rr16", "CWDE"), std::pair("MOVSX64rr32", "CDQE")})
        if (instructions->getName(opcode) == any)
            return opcodes.lookup(own);
    for (auto [any, own] :
        {std::pair("8ri", "8i8"), std::pair("16ri", "16i16"), std::pair("32ri", "32i32"), std::pair("64ri32", "64i32")})
        if (unsigned o = sibling(opcode, any, own); o != opcode)
            return o;
    return opcode;
}

unsigned Processors::compareForm(unsigned opcode, unsigned imm) const
{
    StringRef rest = instructions->getName(opcode);
    if ((imm != 0 && imm != 6) || !rest.consume_front("VPCMP") || rest.size() < 2 || rest[1] != 'Z')
        return opcode;
    std::string name = (imm ? "VPCMPGT" : "VPCMPEQ") + rest.str();
    name.erase(name.rfind('i'), 1); // no number any more
    auto at = opcodes.find(name);
    return at == opcodes.end() ? opcode : at->second;
}

unsigned Processors::plainForm(unsigned opcode) const
{
    StringRef name = instructions->getName(opcode), rest = name;
    std::string plain;
    if (rest.consume_front("TAILJMP"))
        plain = rest.ends_with("_CC") ? "JCC_1"
            : rest.starts_with("d")   ? "JMP_1"
            : rest.starts_with("m")   ? "JMP64m"
                                      : "JMP64r";
    else if (rest.consume_front("LOCK_") || rest.consume_front("ACQUIRE_") || rest.consume_front("RELEASE_"))
        plain = rest.str();
    else if (name.starts_with("LXADD") || name.starts_with("LCMPXCHG"))
        plain = name.drop_front().str() + (name.ends_with("B") ? "" : "rm");
    else if (rest.consume_front("MULX")) { // the half that nobody wants is computed all the same
        plain = name.str();
        plain.erase(std::min(plain.find('H'), plain.size()), 1);
    } else
        plain = name.str() + "_Int";
    auto at = opcodes.find(plain);
    if (at == opcodes.end() ||
        (name.data() == rest.data() &&
            instructions->get(at->second).getNumOperands() != instructions->get(opcode).getNumOperands()))
        return opcode;
    return at->second;
}

unsigned Processors::prefixedForm(unsigned opcode) const
{
    StringRef name = instructions->getName(opcode);
    if (!name.starts_with("BSF"))
        return opcode;
    auto at = opcodes.find(("TZCNT" + name.drop_front(3)).str());
    return at == opcodes.end() ? opcode : at->second;
}

// The operands of lea's address are of no declared type.
int Processors::firstMemory(const MCInstrDesc &D) const
{
    if (D.getNumOperands() == 6 && !D.mayLoad() && !D.mayStore() &&
        instructions->getName(D.getOpcode()).starts_with("LEA"))
        return 1;
    for (unsigned i = 0; i + 5 <= D.getNumOperands(); i++)
        if (D.operands()[i].OperandType == MCOI::OPERAND_MEMORY &&
            D.operands()[i + 4].OperandType == MCOI::OPERAND_MEMORY)
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
    opcode = plainForm(opcode);
    if (!(variant & PEET_VARIANT_WIDE) && shortForm(opcode) != opcode)
        opcode = shortForm(opcode);
    else if (variant & PEET_VARIANT_ACCUMULATOR)
        opcode = accumulatorForm(opcode);
    if ((variant & PEET_VARIANT_IMM) == 1)
        opcode = prefixedForm(oneForm(opcode));
    opcode = compareForm(opcode, variant & PEET_VARIANT_IMM);
    const MCInstrDesc &D = instructions->get(opcode);
    bool address = computesAddress(D);
    int memory = firstMemory(D);
    MCInst I;
    I.setOpcode(opcode);
    for (unsigned i = 0; i < D.getNumOperands(); i++) {
        const MCOperandInfo &O = D.operands()[i];
        int tied = D.getOperandConstraint(i, MCOI::TIED_TO);
        if (memory >= 0 && (int)i >= memory && (int)i < memory + 5) {
            unsigned v = address ? variant : 1u | PEET_VARIANT_INDEX;
            switch (i - memory) {
            case 0:
                I.addOperand(MCOperand::createReg((v & PEET_VARIANT_BASE) == 0 ? MCRegister()
                        : (v & PEET_VARIANT_BASE) == 1                         ? RAX
                        : (v & PEET_VARIANT_BASE) == 2                         ? RBP
                                                                               : RIP));
                break;
            case 1:
                I.addOperand(MCOperand::createImm(1 << (v >> PEET_VARIANT_SCALE_SHIFT & 3)));
                break;
            case 2:
                I.addOperand(MCOperand::createReg(v & PEET_VARIANT_INDEX ? RCX : MCRegister()));
                break;
            case 3:
                if ((v >> PEET_VARIANT_DISP_SHIFT & 3) == 2)
                    I.addOperand(MCOperand::createExpr(MCSymbolRefExpr::create(context->getOrCreateSymbol("peet"),
                        *context)));
                else
                    I.addOperand(MCOperand::createImm(v >> PEET_VARIANT_DISP_SHIFT & 3 ? 64 : 0));
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
            if (i == 2 && (variant & PEET_VARIANT_SAME) && I.getOperand(1).isReg())
                R = I.getOperand(1).getReg();
            I.addOperand(MCOperand::createReg(R));
        } else
            I.addOperand(MCOperand::createImm(i + 1 != D.getNumOperands() || address ? 0
                    : variant & PEET_VARIANT_WIDE                                    ? 0x1234
                                                                                     : variant & PEET_VARIANT_IMM));
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
        if (schedClass(m, x) != schedClass(m, y) ||
            analysis->isZeroIdiom(x, ma, id) != analysis->isZeroIdiom(y, mb, id) ||
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
    bool variant = oneForm(opcode) != opcode || compareForm(opcode, 0) != opcode;
    M.prefix = prefixedForm(opcode) != opcode;
    for (const Model &m : models)
        variant |= m.subtarget->getSchedModel().getSchedClassDesc(D.getSchedClass())->isVariant();
    auto isRegister = [&](unsigned i) { return D.operands()[i].OperandType == MCOI::OPERAND_REGISTER; };
    if (n >= 3 && isRegister(1) && isRegister(2) && D.operands()[1].RegClass == D.operands()[2].RegClass)
        M.same = differs(opcode, 0, PEET_VARIANT_SAME);
    if (computesAddress(D))
        M.address = variant;
    else if (variant && n && !isRegister(n - 1) && D.operands()[n - 1].OperandType != MCOI::OPERAND_MEMORY)
        for (unsigned i = 1; i < 256 && !M.imm; i++)
            M.imm = differs(opcode, 0, i) || (M.same && differs(opcode, PEET_VARIANT_SAME, PEET_VARIANT_SAME | i));
    M.wide = shortForm(opcode) != opcode && differs(opcode, 2, PEET_VARIANT_WIDE);
    unsigned other = shortForm(opcode) != opcode ? PEET_VARIANT_WIDE : 2u;
    M.accumulator = accumulatorForm(opcode) != opcode && differs(opcode, other, other | PEET_VARIANT_ACCUMULATOR);
    M.wide |= M.accumulator && other == PEET_VARIANT_WIDE;
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
    for (unsigned same = 0; same <= (M.same ? PEET_VARIANT_SAME : 0u); same += PEET_VARIANT_SAME)
        for (unsigned i = 0; i < (M.imm ? 256u : 1u); i++)
            v.push_back(same | i);
    if (M.accumulator && !M.wide)
        for (unsigned i = 0; i < (M.imm ? 256u : 1u); i++)
            v.push_back(PEET_VARIANT_ACCUMULATOR | i);
    if (M.wide)
        v.push_back(PEET_VARIANT_WIDE);
    if (M.wide && M.accumulator)
        v.push_back(PEET_VARIANT_WIDE | PEET_VARIANT_ACCUMULATOR);
    if (M.prefix)
        v.push_back(1);
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
        v = base.empty()                                                        ? 0
            : base == "RBP" || base == "EBP" || base == "R13" || base == "R13D" ? 2
            : base == "RIP" || base == "EIP"                                    ? 3
                                                                                : 1;
        if (!reg(2).empty())
            v |= PEET_VARIANT_INDEX;
        for (unsigned s = MI.getOperand(at + 1).getImm(), log = 0; s > 1; s >>= 1)
            v = (v & ~(3u << PEET_VARIANT_SCALE_SHIFT)) | ++log << PEET_VARIANT_SCALE_SHIFT;
        const MachineOperand &disp = MI.getOperand(at + 3);
        v |= (!disp.isImm() ? 2u : disp.getImm() ? 1u : 0u) << PEET_VARIANT_DISP_SHIFT;
        return v;
    }
    if (M.prefix && !MI.getMF()->getFunction().hasOptSize())
        for (const MachineOperand &MO : MI.operands())
            if (MO.isReg() && MO.isDef() && MO.isDead() &&
                StringRef(P->registers->getName(MO.getReg().asMCReg())) == "EFLAGS")
                return 1;
    if (M.same && MI.getNumOperands() >= 3 && MI.getOperand(1).isReg() && MI.getOperand(2).isReg() &&
        MI.getOperand(1).getReg() == MI.getOperand(2).getReg())
        v |= PEET_VARIANT_SAME;
    if ((M.imm || M.wide || M.accumulator) && D.getNumOperands()) {
        const MachineOperand &last = MI.getOperand(D.getNumOperands() - 1);
        bool narrow = P->shortForm(MI.getOpcode()) != MI.getOpcode() && last.isImm() && isInt<8>(last.getImm());
        bool extends = last.isReg(); // the accumulator's lower half
        if (extends && !isAccumulator(P->registers->getName(last.getReg().asMCReg())))
            return v;
        if (M.accumulator && !narrow && MI.getOperand(0).isReg() &&
            isAccumulator(P->registers->getName(MI.getOperand(0).getReg().asMCReg())))
            v |= PEET_VARIANT_ACCUMULATOR;
        if (P->shortForm(MI.getOpcode()) != MI.getOpcode() && !narrow)
            v |= M.wide ? PEET_VARIANT_WIDE : M.imm ? 2u : 0; // a number like any other
        else if (M.imm && last.isImm())
            v |= last.getImm() & PEET_VARIANT_IMM;
    }
    return v;
}

} // namespace peet
