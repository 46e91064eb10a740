// SPDX-License-Identifier: Apache-2.0
// What a machine instruction references: explicit memory operands found through the operand types of
// its description, implicit ones (stack, strings) by opcode name, sizes from LLVM's own Intel-syntax
// printer ("dword ptr"), so that no table of opcodes needs upkeep here.
#include "pass.h"

#include <peet/module.h>

#include "llvm/CodeGen/MachineMemOperand.h"
#include "llvm/CodeGen/TargetFrameLowering.h"
#include "llvm/IR/Function.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include <mutex>

using namespace llvm;

namespace peet {

namespace {

// Facts that do not depend on the function: one per process, filled on demand.
struct Cache {
    std::vector<OpInfo> ops;
    StringMap<unsigned> opcodes;
    std::unique_ptr<MCInstPrinter> intel;
    const TargetInstrInfo *TII = nullptr;
};
thread_local Cache cache;

bool starts(StringRef s, std::initializer_list<const char *> prefixes)
{
    for (const char *p : prefixes)
        if (s.starts_with(p))
            return true;
    return false;
}

} // namespace

MCSymbol *label(MachineFunction &MF, const char *what, unsigned n)
{
    return MF.getContext().getOrCreateSymbol(Twine(".Lpeet") + Twine(MF.getFunctionNumber()) + what + Twine(n));
}

Target::Target(MachineFunction &MF) : MF(MF)
{
    TII = MF.getSubtarget().getInstrInfo();
    TRI = MF.getSubtarget().getRegisterInfo();
    if (cache.TII != TII || cache.ops.size() != TII->getNumOpcodes()) {
        cache.TII = TII;
        cache.ops.assign(TII->getNumOpcodes(), OpInfo());
        cache.opcodes.clear();
        for (unsigned i = 0; i < TII->getNumOpcodes(); i++)
            cache.opcodes[TII->getName(i)] = i;
        const TargetMachine &TM = MF.getTarget();
        cache.intel.reset(TM.getTarget().createMCInstPrinter(TM.getTargetTriple(), 1, *TM.getMCAsmInfo(),
            *TM.getMCInstrInfo(), *TM.getMCRegisterInfo()));
    }
    static const char *const names64[16] = {
        "RAX", "RCX", "RDX", "RBX", "RSP", "RBP", "RSI", "RDI", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15"};
    static const char *const names32[16] = {"EAX", "ECX", "EDX", "EBX", "ESP", "EBP", "ESI", "EDI", "R8D", "R9D",
        "R10D", "R11D", "R12D", "R13D", "R14D", "R15D"};
    static const char *const names8[16] = {"AL", "CL", "DL", "BL", "SPL", "BPL", "SIL", "DIL", "R8B", "R9B", "R10B",
        "R11B", "R12B", "R13B", "R14B", "R15B"};
    StringMap<unsigned> regs;
    for (unsigned r = 1; r < TRI->getNumRegs(); r++)
        regs[TRI->getName(r)] = r;
    for (int i = 0; i < 16; i++) {
        gpr64[i] = MCRegister(regs.lookup(names64[i]));
        gpr32[i] = MCRegister(regs.lookup(names32[i]));
        gpr8[i] = MCRegister(regs.lookup(names8[i]));
        for (MCPhysReg sub : TRI->subregs_inclusive(gpr64[i])) {
            int bits = sub == gpr64[i].id() ? 64 : sub == gpr32[i].id() ? 32 : 16;
            gprOf[sub] = {i, bits};
            peetRegOf[sub] = PEET_REG_GPR0 + i;
        }
    }
    for (int i = 0; i < 32; i++) {
        unsigned z = regs.lookup(("ZMM" + Twine(i)).str());
        if (z)
            vectors.push_back(MCRegister(z));
        if (z)
            for (MCPhysReg sub : TRI->subregs_inclusive(MCRegister(z)))
                peetRegOf[sub] = PEET_REG_VEC0 + i;
    }
    for (int i = 0; i < 8; i++) {
        unsigned k = regs.lookup(("K" + Twine(i)).str());
        vectors.push_back(MCRegister(k));
        peetRegOf[k] = PEET_REG_MASK0 + i;
        for (const char *p : {"FP", "ST", "MM"})
            if (unsigned r = regs.lookup((p + Twine(i)).str()))
                peetRegOf[r] = PEET_REG_X87;
    }
    for (const char *p : {"FPSW", "FPCW"})
        peetRegOf[regs.lookup(p)] = PEET_REG_X87;
    rip = MCRegister(regs.lookup("RIP"));
    eflags = MCRegister(regs.lookup("EFLAGS"));
    fs = MCRegister(regs.lookup("FS"));
    peetRegOf[eflags] = PEET_REG_FLAGS;
    avx512bw = MF.getSubtarget().checkFeatures("+avx512bw");
}

int Target::peetReg(MCRegister R) const
{
    auto I = peetRegOf.find(R);
    return I == peetRegOf.end() ? PEET_REG_OTHER : I->second;
}

unsigned Target::opcode(const char *name) const
{
    auto I = cache.opcodes.find(name);
    return I == cache.opcodes.end() ? 0 : I->second;
}

MCRegister Target::reg(StringRef name) const
{
    for (unsigned r = 1; r < TRI->getNumRegs(); r++)
        if (name == TRI->getName(r))
            return MCRegister(r);
    return MCRegister();
}

unsigned Target::vectorBytes(MCRegister R) const
{
    switch (TRI->getName(R)[0]) {
    case 'X':
        return 16;
    case 'Y':
        return 32;
    case 'Z':
        return 64;
    }
    return 0;
}

bool Target::isExtVector(MCRegister R) const
{
    int n = atoi(TRI->getName(R) + 3);
    return vectorBytes(R) == 64 || n >= 16;
}

const OpInfo &Target::info(const MachineInstr &MI)
{
    OpInfo &I = cache.ops[MI.getOpcode()];
    if (!I.done) {
        describe(MI.getOpcode(), I);
        I.done = true;
    }
    return I;
}

static uint8_t classOf(StringRef n, StringRef m, const MCInstrDesc &D)
{
    if (D.isCall() && !D.isTerminator())
        return PEET_INSN_CALL;
    if (D.isReturn() && !D.isCall())
        return PEET_INSN_RETURN;
    if (D.isConditionalBranch())
        return PEET_INSN_BRANCH;
    if (D.isBranch() || D.isCall())
        return PEET_INSN_JUMP;
    if (n.ends_with("Locked") ||
        starts(n, {"LOCK_", "LCMPXCHG", "LXADD", "CMPXCHG", "XCHG8rm", "XCHG16rm", "XCHG32rm", "XCHG64rm"}))
        return PEET_INSN_ATOMIC;
    if (starts(n, {"MFENCE", "SFENCE", "LFENCE"}))
        return PEET_INSN_FENCE;
    if (starts(n, {"REP_", "MOVSB", "MOVSW", "MOVSL", "MOVSQ", "STOS", "LODS", "SCAS", "CMPSB"}) &&
        !starts(n, {"MOVSX"}))
        return PEET_INSN_STRING;
    if (starts(n, {"NOOP", "ENDBR"}))
        return PEET_INSN_NOP;
    bool vec = false, fp = false;
    if (m.starts_with("v"))
        m = m.drop_front(), vec = true;
    if (m.ends_with("ss") || m.ends_with("sd") || m.ends_with("ps") || m.ends_with("pd"))
        fp = true;
    if (D.mayRaiseFPException() || fp || n.contains("_Fp") || n.contains("_F32") || n.contains("_F64")) {
        if (starts(m, {"mul", "fma", "fnma", "fms", "fnms", "fmul"}) || n.contains("FMADD"))
            return PEET_INSN_FP_MUL;
        if (starts(m, {"div", "sqrt", "fdiv", "fsqrt"}))
            return PEET_INSN_FP_DIV;
        if (starts(m, {"add", "sub", "fadd", "fsub", "min", "max", "hadd", "haddp"}))
            return PEET_INSN_FP_ADD;
        if (starts(m, {"mov"}))
            return PEET_INSN_MOVE;
        return PEET_INSN_FP_OTHER;
    }
    if (starts(m, {"mov", "push", "pop", "lea", "cmov"}))
        return PEET_INSN_MOVE;
    if (vec || starts(m, {"p", "unpck", "shuf", "and", "xor", "or"})) {
        if (vec || (starts(m, {"p"}) && !starts(m, {"popcnt", "pdep", "pext", "prefetch"})))
            return PEET_INSN_SIMD;
    }
    if (starts(m, {"imul", "mul"}))
        return PEET_INSN_INT_MUL;
    if (starts(m, {"idiv", "div"}))
        return PEET_INSN_INT_DIV;
    return PEET_INSN_INT;
}

void Target::describe(unsigned Opcode, OpInfo &I)
{
    const MCInstrDesc &D = TII->get(Opcode);
    StringRef n = TII->getName(Opcode);
    I.name = n.str();
    if (!D.isPseudo() || D.isBranch() || D.isCall()) {
        MCInst inst;
        inst.setOpcode(Opcode);
        if (cache.intel) {
            const char *m = cache.intel->getMnemonic(inst).first;
            I.mnemonic = m ? StringRef(m).trim().split('\t').first.split(' ').first.str() : "";
        }
    }
    if (I.mnemonic.empty()) {
        if (starts(n, {"TAILJMP", "JMP"}))
            I.mnemonic = "jmp";
        else if (starts(n, {"RET"}))
            I.mnemonic = "ret";
        else
            I.mnemonic = StringRef(n).lower();
    }
    I.klass = classOf(n, I.mnemonic, D);

    static const std::pair<const char *, Linear> linears[] = {{"MOV64rr", Linear::Copy}, {"MOV64ri", Linear::Imm64},
        {"MOV64ri32", Linear::Imm64}, {"MOV32ri", Linear::Imm32}, {"ADD64ri8", Linear::AddImm},
        {"ADD64ri32", Linear::AddImm}, {"SUB64ri8", Linear::SubImm}, {"SUB64ri32", Linear::SubImm},
        {"INC64r", Linear::Inc}, {"DEC64r", Linear::Dec}, {"ADD64rr", Linear::AddReg}, {"SUB64rr", Linear::SubReg},
        {"LEA64r", Linear::Lea}, {"SHL64ri", Linear::Shl}, {"XOR32rr", Linear::Zero}, {"XOR64rr", Linear::Zero}};
    for (auto &l : linears)
        if (n == l.first)
            I.linear = l.second;

    unsigned nops = D.getNumOperands();
    for (unsigned i = 0; i + 5 <= nops; i++)
        if (D.operands()[i].OperandType == MCOI::OPERAND_MEMORY &&
            D.operands()[i + 4].OperandType == MCOI::OPERAND_MEMORY) {
            I.memOp = i;
            break;
        }

    if (starts(n, {"PREFETCH"})) {
        I.prefetch = true;
        return;
    }
    if (starts(n, {"LEA", "NOOP", "CLFLUSH", "CLWB", "CLDEMOTE", "INVLPG"})) {
        I.noref = true;
        return;
    }
    if (starts(n, {"PUSH64rmm", "PUSH16rmm"}))
        I.implicit = Implicit::PushMem;
    else if (starts(n, {"PUSH64", "PUSHF64", "PUSH16", "PUSHF16", "PUSHP64"}))
        I.implicit = Implicit::Push;
    else if (starts(n, {"POP64rmm", "POP16rmm"}))
        I.implicit = Implicit::PopMem;
    else if (starts(n, {"POP64", "POPF64", "POP16", "POPF16", "POPP64"}))
        I.implicit = Implicit::Pop;
    else if (starts(n, {"LEAVE64"}))
        I.implicit = Implicit::Leave;
    else if (starts(n, {"REP_MOVS", "MOVSB", "MOVSW", "MOVSL", "MOVSQ"}) && !starts(n, {"MOVSX", "MOVSLDUP"}))
        I.implicit = Implicit::Movs;
    else if (starts(n, {"REP_STOS", "STOSB", "STOSW", "STOSL", "STOSQ"}))
        I.implicit = Implicit::Stos;
    else if (starts(n, {"LODSB", "LODSW", "LODSL", "LODSQ"}))
        I.implicit = Implicit::Lods;
    else if (D.isReturn() && !D.isCall())
        I.implicit = Implicit::Ret;
    else if (D.isCall() && !D.isTerminator())
        I.implicit = I.memOp >= 0 ? Implicit::CallMem : Implicit::Call;
    else if (starts(n, {"TAILJMPm", "JMP64m", "JMP32m"}))
        I.implicit = Implicit::JmpMem;
    else if (starts(n,
                 {"XSAVE", "XRSTOR", "FXSAVE", "FXRSTOR", "MASKMOVDQU", "VMASKMOVDQU", "MMX_MASKMOV", "XLAT",
                     "MOVDIR64B", "ENQCMD", "SCAS", "CMPSB", "CMPSW", "CMPSL", "CMPSQ", "INS", "OUTS", "TILELOAD",
                     "TILESTORE", "LDTILECFG", "STTILECFG", "AESENC128KL", "AESENCWIDE", "ENTER"}) &&
        !starts(n, {"INSERT"}))
        I.opaque = true;
    if (I.implicit == Implicit::Movs || I.implicit == Implicit::Stos || I.implicit == Implicit::Lods) {
        StringRef s = n;
        I.rep = s.consume_front("REP_");
        char c = s.size() > 4 ? s[4] : 'B';
        I.eltBytes = c == 'B' ? 1 : c == 'W' ? 2 : c == 'Q' ? 8 : 4;
    }

    // Gathers and scatters: V[P]GATHER<idx><elt>...; index D or Q, element PS PD D Q.
    StringRef g = n;
    if ((g.consume_front("VPGATHER") || g.consume_front("VGATHER")) && (g.starts_with("D") || g.starts_with("Q")))
        I.gather = true;
    else if ((g.consume_front("VPSCATTER") || g.consume_front("VSCATTER")) &&
        (g.starts_with("D") || g.starts_with("Q")))
        I.scatter = true;
    if (I.gather || I.scatter) {
        I.indexBytes = g[0] == 'D' ? 4 : 8;
        g = g.drop_front();
        I.laneBytes = g.starts_with("PD") || g.starts_with("Q") ? 8 : 4;
        if (g.starts_with("PF")) // gather prefetch
            I.gather = I.scatter = false, I.opaque = true;
    }
    if (starts(n, {"VMASKMOVPS", "VMASKMOVPD", "VPMASKMOVD", "VPMASKMOVQ"})) {
        I.vmask = true;
        I.laneBytes = starts(n, {"VMASKMOVPS", "VPMASKMOVD"}) ? 4 : 8;
    }
}

// The size of the memory operand, as LLVM's Intel-syntax printer spells it.
unsigned Target::memSize(const MachineInstr &MI, OpInfo &I)
{
    if (I.memSize >= 0)
        return I.memSize;
    I.memSize = 0;
    MCInst inst;
    inst.setOpcode(MI.getOpcode());
    unsigned n = MI.getDesc().getNumOperands();
    for (unsigned i = 0; i < n && i < MI.getNumOperands(); i++) {
        const MachineOperand &MO = MI.getOperand(i);
        if (MO.isReg())
            inst.addOperand(MCOperand::createReg(MO.getReg().asMCReg()));
        else if (MO.isImm())
            inst.addOperand(MCOperand::createImm(MO.getImm()));
        else
            inst.addOperand(MCOperand::createImm(0));
    }
    std::string text;
    raw_string_ostream os(text);
    cache.intel->printInst(&inst, 0, "", MF.getSubtarget(), os);
    static const std::pair<const char *, unsigned> sizes[] = {{"zmmword ptr", 64}, {"ymmword ptr", 32},
        {"xmmword ptr", 16}, {"tbyte ptr", 10}, {"fword ptr", 6}, {"qword ptr", 8}, {"dword ptr", 4}, {"word ptr", 2},
        {"byte ptr", 1}};
    for (auto &s : sizes)
        if (StringRef(text).contains(s.first)) {
            I.memSize = s.second;
            break;
        }
    if (I.memSize == 0) {
        if (starts(I.name, {"FLDENV", "FSTENV"}))
            I.memSize = 28;
        else if (starts(I.name, {"FSAVE", "FRSTOR"}))
            I.memSize = 108;
        else if (starts(I.name, {"FLDCW", "FNSTCW", "FNSTSW"}))
            I.memSize = 2;
        else if (starts(I.name, {"LDMXCSR", "STMXCSR", "VLDMXCSR", "VSTMXCSR"}))
            I.memSize = 4;
    }
    return I.memSize;
}

bool Target::refs(const MachineInstr &MI, const Accesses &A, SmallVectorImpl<MemRef> &out, bool &opaque,
    std::string &why)
{
    opaque = false;
    if (MI.isInlineAsm()) {
        opaque = true;
        return true;
    }
    const MCInstrDesc &D = MI.getDesc();
    StringRef name = TII->getName(MI.getOpcode());
    if (name == "TLS_addr64" || name == "TLS_base_addr64") {
        // lea x@tlsgd(%rip),%rdi ; call __tls_get_addr: one push; the loader sees a relaxed form.
        MemRef r;
        r.kind = PEET_REF_STORE, r.size = 8, r.flags = PEET_REF_STACK | PEET_REF_FETCH, r.base = RSP, r.disp = -8;
        out.push_back(r);
        return true;
    }
    OpInfo &I = const_cast<OpInfo &>(info(MI));
    if (I.noref)
        return true;
    if (I.opaque) {
        opaque = true;
        return true;
    }
    auto stack = [&](uint8_t kind, int base, int64_t disp, unsigned size, unsigned flags) {
        MemRef r;
        r.kind = kind, r.size = size, r.flags = PEET_REF_STACK | flags, r.base = base, r.disp = disp;
        out.push_back(r);
    };
    unsigned width = name.contains("16") && starts(name, {"PUSH16", "POP16", "PUSHF16", "POPF16"}) ? 2 : 8;
    switch (I.implicit) {
    case Implicit::Movs:
    case Implicit::Stos:
    case Implicit::Lods:
        for (int which = 0; which < 2; which++) {
            bool load = which == 0;
            if ((load && I.implicit == Implicit::Stos) || (!load && I.implicit == Implicit::Lods))
                continue;
            MemRef r;
            r.kind = load ? PEET_REF_LOAD : PEET_REF_STORE;
            r.size = I.eltBytes, r.base = load ? 6 : 7;
            if (I.rep)
                r.shape = Shape::Range, r.flags = PEET_REF_RANGE;
            out.push_back(r);
        }
        return true;
    case Implicit::Push:
    case Implicit::Call:
        stack(PEET_REF_STORE, RSP, -(int)width, width, I.implicit == Implicit::Call ? PEET_REF_FETCH : 0);
        return true;
    case Implicit::Pop:
    case Implicit::Ret:
        stack(PEET_REF_LOAD, RSP, 0, width, I.implicit == Implicit::Ret ? PEET_REF_FETCH : 0);
        return true;
    case Implicit::Leave:
        stack(PEET_REF_LOAD, RBP, 0, 8, 0);
        return true;
    default:
        break;
    }

    if (I.memOp < 0) {
        if ((D.mayLoad() || D.mayStore()) && !MI.memoperands_empty() && !D.isPseudo() && !D.isBarrier() &&
            !starts(name,
                {"MFENCE", "LFENCE", "SFENCE", "PAUSE", "INT", "UD", "TRAP", "SYSCALL", "RD", "WR", "XGETBV",
                    "EMMS"})) {
            why = "instruction " + name.str() + " references memory in a way that is not understood";
            return false;
        }
        if ((D.mayLoad() || D.mayStore()) &&
            starts(name, {"MOV64ao", "MOV32ao", "MOV16ao", "MOV8ao", "MOV64o", "MOV32o", "MOV16o", "MOV8o"})) {
            why = "instruction " + name.str() + " (absolute 64-bit offset) is not supported";
            return false;
        }
        return true;
    }

    const MachineOperand *op = &MI.getOperand(I.memOp);
    MemRef r;
    const MachineOperand &base = op[0], &scale = op[1], &index = op[2], &disp = op[3], &seg = op[4];
    if (!base.isReg() && !base.isFI()) {
        why = "instruction " + name.str() + " has an unexpected memory operand";
        return false;
    }
    if (base.getReg() == rip)
        r.rip = true;
    else if (base.getReg()) {
        r.base = gpr(base.getReg().asMCReg());
        if (r.base < 0 || gprBits(base.getReg().asMCReg()) != 64) {
            why = "32-bit or unknown base register " + std::string(TRI->getName(base.getReg())) + " in " + name.str();
            return false;
        }
    }
    r.scale = scale.getImm();
    if (index.getReg()) {
        r.index = gpr(index.getReg().asMCReg());
        if (r.index < 0) {
            if (!(I.gather || I.scatter)) {
                why = "unknown index register in " + name.str();
                return false;
            }
            r.vecIndex = index.getReg().asMCReg();
        } else if (gprBits(index.getReg().asMCReg()) != 64) {
            why = "32-bit index register in " + name.str();
            return false;
        }
    }
    if (disp.isImm())
        r.disp = disp.getImm();
    else
        r.symbolic = true;
    if (r.rip)
        r.symbolic = true;
    if (seg.getReg()) {
        if (seg.getReg() != fs) {
            opaque = true; // another segment's base is not known
            return true;
        }
        r.fs = true;
        r.flags |= PEET_REF_TLS;
    }
    if (r.base == RSP)
        r.flags |= PEET_REF_STACK;
    else if (r.base == RBP && MF.getSubtarget().getFrameLowering()->hasFP(MF))
        r.flags |= PEET_REF_STACK;
    if (!r.fs && (r.rip || (r.symbolic && r.base < 0) || (r.base < 0 && r.index < 0 && !r.vecIndex)))
        r.flags |= PEET_REF_GLOBAL;
    for (const MachineMemOperand *MMO : MI.memoperands()) {
        if (MMO->isVolatile())
            r.flags |= PEET_REF_VOLATILE;
        AtomicOrdering order = A.order(MI, *MMO);
        if (order != AtomicOrdering::NotAtomic && order != AtomicOrdering::Unordered) {
            r.flags |= PEET_REF_ATOMIC;
            r.order = std::max(r.order, orderOf(order));
        }
    }
    if (I.klass == PEET_INSN_ATOMIC) {
        r.flags |= PEET_REF_ATOMIC;
        if (!r.order) // assembly's, and fences that are locked operations
            r.order = PEET_ORDER_SEQ_CST;
    }

    if (I.gather || I.scatter) {
        r.kind = I.gather ? PEET_REF_LOAD : PEET_REF_STORE;
        r.shape = Shape::Lanes;
        r.size = I.laneBytes;
        r.flags |= PEET_REF_CONDITIONAL;
        // Lanes: as many as fit the wider of data and index vectors.
        unsigned data = 0;
        for (unsigned i = 0; i < D.getNumOperands(); i++) {
            const MachineOperand &MO = MI.getOperand(i);
            if (!MO.isReg() || !MO.getReg() || (i >= (unsigned)I.memOp && i < (unsigned)I.memOp + 5))
                continue;
            unsigned vb = vectorBytes(MO.getReg().asMCReg());
            if (peetReg(MO.getReg().asMCReg()) >= PEET_REG_MASK0 && peetReg(MO.getReg().asMCReg()) < PEET_REG_OTHER)
                r.mask = MO.getReg().asMCReg(), r.kmask = true;
            else if (vb)
                data = std::max(data, vb);
        }
        r.vecIndexBytes = vectorBytes(r.vecIndex);
        r.indexBytes = I.indexBytes;
        r.lanes = std::min(data / I.laneBytes, r.vecIndexBytes / I.indexBytes);
        if (!r.kmask) {
            // AVX2: the mask is the last register operand
            const MachineOperand &MO = MI.getOperand(D.getNumOperands() - 1);
            r.mask = MO.getReg().asMCReg();
            r.maskVecBytes = vectorBytes(r.mask);
            r.maskEltBytes = I.laneBytes;
        }
        if (!r.mask || !r.vecIndex || r.lanes == 0) {
            why = "gather or scatter " + name.str() + " is not understood";
            return false;
        }
        out.push_back(r);
        return true;
    }
    if (I.vmask) {
        bool load = I.memOp != 0; // (data, mask, memory) or (memory, mask, data)
        const MachineOperand &MO = MI.getOperand(load ? I.memOp - 1 : I.memOp + 5);
        r.kind = load ? PEET_REF_LOAD : PEET_REF_STORE;
        r.shape = Shape::Lanes;
        r.size = I.laneBytes;
        r.flags |= PEET_REF_CONDITIONAL;
        r.mask = MO.getReg().asMCReg();
        r.maskVecBytes = vectorBytes(r.mask);
        r.maskEltBytes = I.laneBytes;
        r.lanes = r.maskVecBytes / I.laneBytes;
        out.push_back(r);
        return true;
    }

    r.size = memSize(MI, I);
    if (r.size == 0 && !MI.memoperands_empty() && (*MI.memoperands_begin())->getSize().hasValue())
        r.size = (*MI.memoperands_begin())->getSize().getValue();
    if (I.implicit == Implicit::CallMem || I.implicit == Implicit::JmpMem || I.implicit == Implicit::PushMem ||
        I.implicit == Implicit::PopMem)
        r.size = width;
    if (r.size == 0) {
        why = "the size of the reference of " + name.str() + " is not known";
        return false;
    }
    for (unsigned i = 0; i < D.getNumOperands(); i++) {
        const MachineOperand &MO = MI.getOperand(i);
        if (MO.isReg() && MO.getReg() && MO.isUse() && !starts(name, {"KMOV"})) {
            int pr = peetReg(MO.getReg().asMCReg());
            if (pr > PEET_REG_MASK0 && pr < PEET_REG_OTHER) {
                r.mask = MO.getReg().asMCReg(), r.kmask = true;
                r.shape = Shape::Conditional;
                r.flags |= PEET_REF_CONDITIONAL;
            }
        }
    }
    switch (I.implicit) {
    case Implicit::CallMem:
    case Implicit::PushMem:
        r.kind = PEET_REF_LOAD;
        out.push_back(r);
        stack(PEET_REF_STORE, RSP, -(int)width, width, I.implicit == Implicit::CallMem ? PEET_REF_FETCH : 0);
        return true;
    case Implicit::PopMem:
        stack(PEET_REF_LOAD, RSP, 0, width, 0);
        r.kind = PEET_REF_STORE;
        if (r.base == RSP)
            r.disp += width;
        out.push_back(r);
        return true;
    case Implicit::JmpMem:
        r.kind = PEET_REF_LOAD;
        out.push_back(r);
        return true;
    default:
        break;
    }
    if (I.prefetch)
        r.kind = PEET_REF_PREFETCH;
    else if (D.mayLoad() && D.mayStore())
        r.kind = PEET_REF_MODIFY;
    else if (D.mayStore() || starts(name, {"FNSTCW", "FNSTSW", "STMXCSR", "VSTMXCSR", "FSTENV", "FSAVE"}))
        r.kind = PEET_REF_STORE;
    else if (D.mayLoad() || starts(name, {"LDMXCSR", "VLDMXCSR", "FLDCW", "FLDENV", "FRSTOR"}))
        r.kind = PEET_REF_LOAD;
    else if (name.ends_with("Locked"))
        r.kind = PEET_REF_MODIFY;
    else {
        why = "instruction " + name.str() + " has a memory operand but neither loads nor stores";
        return false;
    }
    if (starts(name, {"LDMXCSR", "VLDMXCSR", "FLDCW"}))
        r.kind = PEET_REF_LOAD;
    if (starts(name, {"STMXCSR", "VSTMXCSR", "FNSTCW", "FNSTSW"}))
        r.kind = PEET_REF_STORE;
    out.push_back(r);
    return true;
}

} // namespace peet
