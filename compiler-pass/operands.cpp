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

// The opcodes' names and the printer: once for each target.
static void fillCache(const TargetInstrInfo *TII, const TargetMachine &TM)
{
    if (cache.TII == TII && cache.ops.size() == TII->getNumOpcodes())
        return;
    cache.TII = TII;
    cache.ops.assign(TII->getNumOpcodes(), OpInfo());
    cache.opcodes.clear();
    for (unsigned i = 0; i < TII->getNumOpcodes(); i++)
        cache.opcodes[TII->getName(i)] = i;
    cache.intel.reset(TM.getTarget().createMCInstPrinter(TM.getTargetTriple(), 1, *TM.getMCAsmInfo(),
        *TM.getMCInstrInfo(), *TM.getMCRegisterInfo()));
}

Target::Target(MachineFunction &MF) : MF(MF)
{
    TII = MF.getSubtarget().getInstrInfo();
    TRI = MF.getSubtarget().getRegisterInfo();
    fillCache(TII, MF.getTarget());
    findRegisters();
    avx = MF.getSubtarget().checkFeatures("+avx");
    avx512bw = MF.getSubtarget().checkFeatures("+avx512bw");
}

void Target::findRegisters()
{
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
    findVectors(regs);
    rip = MCRegister(regs.lookup("RIP"));
    eflags = MCRegister(regs.lookup("EFLAGS"));
    fpsw = MCRegister(regs.lookup("FPSW"));
    fs = MCRegister(regs.lookup("FS"));
    peetRegOf[eflags] = PEET_REG_FLAGS;
}

// Vectors, masks, and the x87's registers.
void Target::findVectors(const StringMap<unsigned> &regs)
{
    for (int i = 0; i < 32; i++) {
        unsigned z = regs.lookup(("ZMM" + Twine(i)).str());
        if (!z)
            continue;
        vectors.push_back(MCRegister(z));
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

// The class of an instruction that computes, by its mnemonic m.
static uint8_t computesClass(StringRef n, StringRef m, const MCInstrDesc &D)
{
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
    return computesClass(n, m, D);
}

// How the printer names an opcode; if it has no name for it, LLVM's own in small letters.
static std::string mnemonicOf(unsigned Opcode, StringRef n, const MCInstrDesc &D)
{
    std::string mnemonic;
    if (cache.intel && (!D.isPseudo() || D.isBranch() || D.isCall())) {
        MCInst inst;
        inst.setOpcode(Opcode);
        if (const char *m = cache.intel->getMnemonic(inst).first)
            mnemonic = StringRef(m).trim().split('\t').first.split(' ').first.str();
    }
    if (!mnemonic.empty())
        return mnemonic;
    return starts(n, {"TAILJMP", "JMP"}) ? "jmp" : starts(n, {"RET"}) ? "ret" : n.lower();
}

static Linear linearOf(StringRef n)
{
    static const std::pair<const char *, Linear> linears[] = {{"MOV64rr", Linear::Copy}, {"MOV64ri", Linear::Imm64},
        {"MOV64ri32", Linear::Imm64}, {"MOV32ri", Linear::Imm32}, {"ADD64ri8", Linear::AddImm},
        {"ADD64ri32", Linear::AddImm}, {"SUB64ri8", Linear::SubImm}, {"SUB64ri32", Linear::SubImm},
        {"INC64r", Linear::Inc}, {"DEC64r", Linear::Dec}, {"ADD64rr", Linear::AddReg}, {"SUB64rr", Linear::SubReg},
        {"LEA64r", Linear::Lea}, {"SHL64ri", Linear::Shl}, {"XOR32rr", Linear::Zero}, {"XOR64rr", Linear::Zero}};
    for (auto &l : linears)
        if (n == l.first)
            return l.second;
    return Linear::None;
}

// The first of the five operands that make an address, or -1.
static int memOperandOf(const MCInstrDesc &D)
{
    for (unsigned i = 0; i + 5 <= D.getNumOperands(); i++)
        if (D.operands()[i].OperandType == MCOI::OPERAND_MEMORY &&
            D.operands()[i + 4].OperandType == MCOI::OPERAND_MEMORY)
            return i;
    return -1;
}

// The references that an opcode makes beside its memory operand.
static Implicit implicitOf(StringRef n, const MCInstrDesc &D, bool memory)
{
    if (starts(n, {"PUSH64rmm", "PUSH16rmm"}))
        return Implicit::PushMem;
    if (starts(n, {"PUSH64", "PUSHF64", "PUSH16", "PUSHF16", "PUSHP64"}))
        return Implicit::Push;
    if (starts(n, {"POP64rmm", "POP16rmm"}))
        return Implicit::PopMem;
    if (starts(n, {"POP64", "POPF64", "POP16", "POPF16", "POPP64"}))
        return Implicit::Pop;
    if (starts(n, {"LEAVE64"}))
        return Implicit::Leave;
    if (starts(n, {"REP_MOVS", "MOVSB", "MOVSW", "MOVSL", "MOVSQ"}) && !starts(n, {"MOVSX", "MOVSLDUP"}))
        return Implicit::Movs;
    if (starts(n, {"REP_STOS", "STOSB", "STOSW", "STOSL", "STOSQ"}))
        return Implicit::Stos;
    if (starts(n, {"LODSB", "LODSW", "LODSL", "LODSQ"}))
        return Implicit::Lods;
    if (D.isReturn() && !D.isCall())
        return Implicit::Ret;
    if (D.isCall() && !D.isTerminator())
        return memory ? Implicit::CallMem : Implicit::Call;
    if (starts(n, {"TAILJMPm", "JMP64m", "JMP32m"}))
        return Implicit::JmpMem;
    return Implicit::None;
}

// Does an opcode without implicit references refer to memory in a way that no description here fits?
static bool isOpaque(StringRef n)
{
    return starts(n,
               {"XSAVE", "XRSTOR", "FXSAVE", "FXRSTOR", "MMX_MASKMOV", "XLAT", "MOVDIR64B", "ENQCMD", "SCAS", "CMPSB",
                   "CMPSW", "CMPSL", "CMPSQ", "INS", "OUTS", "TILELOAD", "TILESTORE", "LDTILECFG", "STTILECFG",
                   "AESENC128KL", "AESENCWIDE", "ENTER"}) &&
        !starts(n, {"INSERT"});
}

static void describeString(StringRef n, OpInfo &I)
{
    I.rep = n.consume_front("REP_");
    char c = n.size() > 4 ? n[4] : 'B';
    I.eltBytes = c == 'B' ? 1 : c == 'W' ? 2 : c == 'Q' ? 8 : 4;
}

// Gathers and scatters: V[P]GATHER<idx><elt>...; index D or Q, element PS PD D Q.  Moves under a mask vector.
static void describeLanes(StringRef n, OpInfo &I)
{
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
    if (starts(n, {"VMASKMOVPS", "VMASKMOVPD", "VPMASKMOVD", "VPMASKMOVQ", "MASKMOVDQU", "VMASKMOVDQU"})) {
        I.vmask = true;
        I.laneBytes = starts(n, {"VMASKMOVPS", "VPMASKMOVD"}) ? 4 : starts(n, {"VMASKMOVPD", "VPMASKMOVQ"}) ? 8 : 1;
    }
}

void Target::describe(unsigned Opcode, OpInfo &I)
{
    const MCInstrDesc &D = TII->get(Opcode);
    StringRef n = TII->getName(Opcode);
    I.name = n.str();
    I.mnemonic = mnemonicOf(Opcode, n, D);
    I.klass = classOf(n, I.mnemonic, D);
    I.linear = linearOf(n);
    I.memOp = memOperandOf(D);
    if (starts(n, {"PREFETCH"})) {
        I.prefetch = true;
        return;
    }
    if (starts(n, {"LEA", "NOOP", "CLFLUSH", "CLWB", "CLDEMOTE", "INVLPG"})) {
        I.noref = true;
        return;
    }
    I.implicit = implicitOf(n, D, I.memOp >= 0);
    I.opaque = I.implicit == Implicit::None && isOpaque(n);
    if (I.implicit == Implicit::Movs || I.implicit == Implicit::Stos || I.implicit == Implicit::Lods)
        describeString(n, I);
    describeLanes(n, I);
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

// The references of one instruction, in program order.
class References {
  public:
    References(Target &T, const Accesses &A, const MachineInstr &MI, SmallVectorImpl<MemRef> &out, std::string &why)
        : T(T), A(A), MI(MI), I(const_cast<OpInfo &>(T.info(MI))), D(MI.getDesc()),
          name(T.TII->getName(MI.getOpcode())), out(out), why(why)
    {
        width = starts(name, {"PUSH16", "POP16", "PUSHF16", "POPF16"}) ? 2 : 8;
    }
    bool find();
    bool opaque = false;

  private:
    bool fail(const Twine &reason);
    void stack(uint8_t kind, int base, int64_t disp, unsigned flags);
    void strings();
    bool implicitOnly();
    bool noOperand();
    bool address(MemRef &r);
    bool index(MemRef &r, const MachineOperand &index);
    void place(MemRef &r);
    void order(MemRef &r);
    bool lanes(MemRef &r);
    unsigned dataAndMask(MemRef &r);
    void maskedMove(MemRef &r);
    void maskedBytes();
    bool size(MemRef &r);
    void predicate(MemRef &r);
    bool withStack(MemRef &r);
    bool kind(MemRef &r);

    Target &T;
    const Accesses &A;
    const MachineInstr &MI;
    OpInfo &I;
    const MCInstrDesc &D;
    StringRef name;
    SmallVectorImpl<MemRef> &out;
    std::string &why;
    unsigned width; // of a push or pop
};

bool References::fail(const Twine &reason)
{
    why = reason.str();
    return false;
}

void References::stack(uint8_t kind, int base, int64_t disp, unsigned flags)
{
    MemRef r;
    r.kind = kind, r.size = width, r.flags = PEET_REF_STACK | flags, r.base = base, r.disp = disp;
    out.push_back(r);
}

void References::strings()
{
    for (bool load : {true, false}) {
        if (I.implicit == (load ? Implicit::Stos : Implicit::Lods))
            continue;
        MemRef r;
        r.kind = load ? PEET_REF_LOAD : PEET_REF_STORE;
        r.size = I.eltBytes, r.base = load ? 6 : 7;
        if (I.rep)
            r.shape = Shape::Range, r.flags = PEET_REF_RANGE;
        out.push_back(r);
    }
}

// Instructions that have only implicit references: whether this is one.
bool References::implicitOnly()
{
    switch (I.implicit) {
    case Implicit::Movs:
    case Implicit::Stos:
    case Implicit::Lods:
        strings();
        return true;
    case Implicit::Push:
    case Implicit::Call:
        stack(PEET_REF_STORE, RSP, -(int)width, I.implicit == Implicit::Call ? PEET_REF_FETCH : 0);
        return true;
    case Implicit::Pop:
    case Implicit::Ret:
        stack(PEET_REF_LOAD, RSP, 0, I.implicit == Implicit::Ret ? PEET_REF_FETCH : 0);
        return true;
    case Implicit::Leave:
        stack(PEET_REF_LOAD, RBP, 0, 0);
        return true;
    default:
        return false;
    }
}

// There is no memory operand: then there must be no reference either.
bool References::noOperand()
{
    if (!D.mayLoad() && !D.mayStore())
        return true;
    if (!MI.memoperands_empty() && !D.isPseudo() && !D.isBarrier() &&
        !starts(name,
            {"MFENCE", "LFENCE", "SFENCE", "PAUSE", "INT", "UD", "TRAP", "SYSCALL", "RD", "WR", "XGETBV", "EMMS"}))
        return fail("instruction " + name + " references memory in a way that is not understood");
    if (starts(name, {"MOV64ao", "MOV32ao", "MOV16ao", "MOV8ao", "MOV64o", "MOV32o", "MOV16o", "MOV8o"}))
        return fail("instruction " + name + " (absolute 64-bit offset) is not supported");
    return true;
}

bool References::index(MemRef &r, const MachineOperand &index)
{
    if (!index.getReg())
        return true;
    MCRegister R = index.getReg().asMCReg();
    r.index = T.gpr(R);
    if (r.index < 0) {
        if (!(I.gather || I.scatter))
            return fail("unknown index register in " + name);
        r.vecIndex = R;
    } else if (T.gprBits(R) != 64)
        return fail("32-bit index register in " + name);
    return true;
}

bool References::address(MemRef &r)
{
    const MachineOperand *op = &MI.getOperand(I.memOp);
    const MachineOperand &base = op[0], &scale = op[1], &disp = op[3], &seg = op[4];
    if (!base.isReg() && !base.isFI())
        return fail("instruction " + name + " has an unexpected memory operand");
    if (base.getReg() == T.rip)
        r.rip = true;
    else if (base.getReg()) {
        r.base = T.gpr(base.getReg().asMCReg());
        if (r.base < 0 || T.gprBits(base.getReg().asMCReg()) != 64)
            return fail(Twine("32-bit or unknown base register ") + T.TRI->getName(base.getReg()) + " in " + name);
    }
    r.scale = scale.getImm();
    if (!index(r, op[2]))
        return false;
    if (disp.isImm())
        r.disp = disp.getImm();
    r.symbolic = !disp.isImm() || r.rip;
    if (seg.getReg()) {
        opaque = seg.getReg() != T.fs; // another segment's base is not known
        r.fs = true;
        r.flags |= PEET_REF_TLS;
    }
    return true;
}

// Stack, or variable of the program?
void References::place(MemRef &r)
{
    if (r.base == RSP || (r.base == RBP && T.MF.getSubtarget().getFrameLowering()->hasFP(T.MF)))
        r.flags |= PEET_REF_STACK;
    if (!r.fs && (r.rip || (r.symbolic && r.base < 0) || (r.base < 0 && r.index < 0 && !r.vecIndex)))
        r.flags |= PEET_REF_GLOBAL;
}

void References::order(MemRef &r)
{
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
}

// Sets the mask register of a gather or scatter, if it has one of k1..k7.  Returns the bytes of its data's vector.
unsigned References::dataAndMask(MemRef &r)
{
    unsigned data = 0;
    for (unsigned i = 0; i < D.getNumOperands(); i++) {
        const MachineOperand &MO = MI.getOperand(i);
        if (!MO.isReg() || !MO.getReg() || (i >= (unsigned)I.memOp && i < (unsigned)I.memOp + 5))
            continue;
        MCRegister R = MO.getReg().asMCReg();
        if (T.peetReg(R) >= PEET_REG_MASK0 && T.peetReg(R) < PEET_REG_OTHER)
            r.mask = R, r.kmask = true;
        else
            data = std::max(data, T.vectorBytes(R));
    }
    return data;
}

// A gather or scatter: as many lanes as fit the wider of data and index vectors.
bool References::lanes(MemRef &r)
{
    r.kind = I.gather ? PEET_REF_LOAD : PEET_REF_STORE;
    r.shape = Shape::Lanes;
    r.size = I.laneBytes;
    r.flags |= PEET_REF_CONDITIONAL;
    const unsigned data = dataAndMask(r);
    r.vecIndexBytes = T.vectorBytes(r.vecIndex);
    r.indexBytes = I.indexBytes;
    r.lanes = std::min(data / I.laneBytes, r.vecIndexBytes / I.indexBytes);
    if (!r.kmask) {
        // AVX2: the mask is the last register operand
        const MachineOperand &MO = MI.getOperand(D.getNumOperands() - 1);
        r.mask = MO.getReg().asMCReg();
        r.maskVecBytes = T.vectorBytes(r.mask);
        r.maskEltBytes = I.laneBytes;
    }
    if (!r.mask || !r.vecIndex || r.lanes == 0)
        return fail("gather or scatter " + name + " is not understood");
    out.push_back(r);
    return true;
}

// A move of the lanes that a vector selects by their sign bits: (data, mask, memory) or (memory, mask, data).
void References::maskedMove(MemRef &r)
{
    bool load = I.memOp != 0;
    const MachineOperand &MO = MI.getOperand(load ? I.memOp - 1 : I.memOp + 5);
    r.kind = load ? PEET_REF_LOAD : PEET_REF_STORE;
    r.shape = Shape::Lanes;
    r.size = I.laneBytes;
    r.flags |= PEET_REF_CONDITIONAL;
    r.mask = MO.getReg().asMCReg();
    r.maskVecBytes = T.vectorBytes(r.mask);
    r.maskEltBytes = I.laneBytes;
    r.lanes = r.maskVecBytes / I.laneBytes;
    out.push_back(r);
}

// The bytes that a vector selects by their sign bits, stored where rdi points: (data, mask).  One reference to all
// sixteen, if it happens to any of them.
void References::maskedBytes()
{
    MemRef r;
    r.kind = PEET_REF_STORE;
    r.shape = Shape::Conditional;
    r.size = r.lanes = r.maskVecBytes = 16;
    r.flags = PEET_REF_CONDITIONAL;
    r.base = 7;
    r.mask = MI.getOperand(1).getReg().asMCReg();
    r.maskEltBytes = I.laneBytes;
    out.push_back(r);
}

bool References::size(MemRef &r)
{
    r.size = T.memSize(MI, I);
    if (r.size == 0 && !MI.memoperands_empty() && (*MI.memoperands_begin())->getSize().hasValue())
        r.size = (*MI.memoperands_begin())->getSize().getValue();
    if (I.implicit == Implicit::CallMem || I.implicit == Implicit::JmpMem || I.implicit == Implicit::PushMem ||
        I.implicit == Implicit::PopMem)
        r.size = width;
    return r.size != 0 || fail("the size of the reference of " + name + " is not known");
}

// The reference of an instruction under a mask register may be left out.
void References::predicate(MemRef &r)
{
    if (starts(name, {"KMOV"}))
        return;
    for (unsigned i = 0; i < D.getNumOperands(); i++) {
        const MachineOperand &MO = MI.getOperand(i);
        if (!MO.isReg() || !MO.getReg() || !MO.isUse())
            continue;
        int R = T.peetReg(MO.getReg().asMCReg());
        if (R > PEET_REG_MASK0 && R < PEET_REG_OTHER) {
            r.mask = MO.getReg().asMCReg(), r.kmask = true;
            r.shape = Shape::Conditional;
            r.flags |= PEET_REF_CONDITIONAL;
        }
    }
}

// Instructions that refer to memory and to the stack: whether this is one.
bool References::withStack(MemRef &r)
{
    switch (I.implicit) {
    case Implicit::CallMem:
    case Implicit::PushMem:
        r.kind = PEET_REF_LOAD;
        out.push_back(r);
        stack(PEET_REF_STORE, RSP, -(int)width, I.implicit == Implicit::CallMem ? PEET_REF_FETCH : 0);
        return true;
    case Implicit::PopMem:
        stack(PEET_REF_LOAD, RSP, 0, 0);
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
        return false;
    }
}

// What LLVM says of loads and stores of control registers differs from what they do.
bool References::kind(MemRef &r)
{
    if (starts(name, {"LDMXCSR", "VLDMXCSR", "FLDCW"}))
        r.kind = PEET_REF_LOAD;
    else if (starts(name, {"STMXCSR", "VSTMXCSR", "FNSTCW", "FNSTSW"}))
        r.kind = PEET_REF_STORE;
    else if (I.prefetch)
        r.kind = PEET_REF_PREFETCH;
    else if (D.mayLoad() && D.mayStore())
        r.kind = PEET_REF_MODIFY;
    else if (D.mayStore() || starts(name, {"FSTENV", "FSAVE"}))
        r.kind = PEET_REF_STORE;
    else if (D.mayLoad() || starts(name, {"FLDENV", "FRSTOR"}))
        r.kind = PEET_REF_LOAD;
    else if (name.ends_with("Locked"))
        r.kind = PEET_REF_MODIFY;
    else
        return fail("instruction " + name + " has a memory operand but neither loads nor stores");
    out.push_back(r);
    return true;
}

bool References::find()
{
    if (I.noref)
        return true;
    opaque = I.opaque;
    if (opaque || implicitOnly())
        return true;
    if (I.memOp < 0 && I.vmask) {
        maskedBytes();
        return true;
    }
    if (I.memOp < 0)
        return noOperand();
    MemRef r;
    if (!address(r))
        return false;
    if (opaque)
        return true;
    place(r);
    order(r);
    if (I.gather || I.scatter)
        return lanes(r);
    if (I.vmask) {
        maskedMove(r);
        return true;
    }
    if (!size(r))
        return false;
    predicate(r);
    return withStack(r) || kind(r);
}

bool Target::refs(const MachineInstr &MI, const Accesses &A, SmallVectorImpl<MemRef> &out, bool &opaque,
    std::string &why)
{
    opaque = MI.isInlineAsm();
    if (opaque)
        return true;
    StringRef name = TII->getName(MI.getOpcode());
    if (name == "TLS_addr64" || name == "TLS_base_addr64") {
        // lea x@tlsgd(%rip),%rdi ; call __tls_get_addr: one push; the loader sees a relaxed form.
        MemRef r;
        r.kind = PEET_REF_STORE, r.size = 8, r.flags = PEET_REF_STACK | PEET_REF_FETCH, r.base = RSP, r.disp = -8;
        out.push_back(r);
        return true;
    }
    if (name.starts_with("TLS_desc")) {
        why = "it finds thread-local variables by descriptors; leave out -mtls-dialect=gnu2";
        return false;
    }
    References R(*this, A, MI, out, why);
    const bool described = R.find();
    opaque = R.opaque;
    return described;
}

} // namespace peet
