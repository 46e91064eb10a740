// SPDX-License-Identifier: Apache-2.0
// Writes one function's schema as assembler text: label differences for what only the assembler knows
// (lengths, offsets), a compact byte string for the rest.  The reader is schema/reader.c; the layout is
// described in schema/format.h.
#include "pass.h"

#include "bytes.h"
#include "format.h"
#include "variants.h"
#include <peet/module.h>
#include <peet/raw.h>

#include "llvm/CodeGen/TargetFrameLowering.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Target/TargetLoweringObjectFile.h"

using namespace llvm;

namespace peet {

namespace {

void form(Bytes &B, const Form &f)
{
    B.u(f.terms.size());
    for (auto &t : f.terms) {
        B.u(t.first);
        B.i(t.second);
    }
    B.i(f.c);
}

std::string quoted(StringRef name)
{
    bool plain = !name.empty();
    for (char c : name)
        plain &= isAlnum(c) || c == '_' || c == '.';
    std::string out;
    for (char c : name) {
        if (c == '$')
            out += "$$";
        else if (c == '"' || c == '\\')
            out += std::string("\\") + c;
        else if (c == '{' || c == '|' || c == '}')
            out += std::string("$") + (c == '{' ? "(" : c == '|' ? "|" : ")");
        else
            out += c;
    }
    return plain ? out : "\"" + out + "\"";
}

// Registers read and written, as the instruction's description has them: what register allocation and calls add
// (arguments, what is alive behind) is nothing that the processor waits for.  Addresses are read first; reads of data
// and writes keep the order of operands, which costtable.cpp follows.
struct Registers {
    SmallVector<uint8_t, 8> addresses, data, writes;
    bool partial = false; // a write keeps the rest of its register
};

Registers registers(Target &T, const MachineInstr &MI)
{
    Registers R;
    const MCInstrDesc &D = MI.getDesc();
    bool opaque = MI.isInlineAsm(), references = D.mayLoad() || D.mayStore(), repeats = opaque || D.isPseudo();
    auto read = [&](MCRegister r, bool address) {
        uint8_t n = T.peetReg(r);
        SmallVectorImpl<uint8_t> &list = address ? R.addresses : R.data;
        if (!ignoredRegister(T.TRI->getName(r)) && !((address || repeats) && is_contained(list, n)))
            list.push_back(n);
    };
    auto write = [&](MCRegister r) {
        uint8_t n = T.peetReg(r);
        if (ignoredRegister(T.TRI->getName(r)) || (repeats && is_contained(R.writes, n)))
            return;
        R.writes.push_back(n);
        R.partial |= T.gpr(r) != NoGpr && T.gprBits(r) < 32;
    };
    for (unsigned i = 0; i < (opaque ? MI.getNumOperands() : D.getNumOperands()); i++) {
        const MachineOperand &MO = MI.getOperand(i);
        if (!MO.isReg() || !MO.getReg() || !MO.getReg().isPhysical())
            continue;
        if (MO.isDef())
            write(MO.getReg().asMCReg());
        else
            read(MO.getReg().asMCReg(), !opaque && D.operands()[i].OperandType == MCOI::OPERAND_MEMORY && references);
    }
    if (opaque)
        return R;
    for (MCPhysReg r : D.implicit_uses())
        read(r, implicitAddress(D, T.TRI->getName(r)));
    for (MCPhysReg r : D.implicit_defs())
        write(r);
    if (MI.isCall() || MI.isReturn()) { // LLVM does not say all of it
        if (!is_contained(R.addresses, RSP))
            R.addresses.push_back(RSP);
        if (!is_contained(R.writes, RSP))
            R.writes.push_back(RSP);
    }
    return R;
}

// The name of what an instruction calls, or jumps to for good; empty if it has none.
std::string callee(const MachineFunction &MF, const MachineInstr &MI)
{
    for (const MachineOperand &MO :
        MI.isCall() ? MI.operands() : iterator_range<MachineInstr::const_mop_iterator>(nullptr, nullptr)) {
        if (MO.isGlobal())
            return MF.getTarget().getSymbol(MO.getGlobal())->getName().str();
        if (MO.isSymbol())
            return MO.getSymbolName();
    }
    return "";
}

// The first recorded function of a section: alignment over the function's own depends on where in the
// section a function lies, so the reader lays the section's functions out one after the other.
MCSymbol *sectionStart(Function &F)
{
    static thread_local const Module *module;
    static thread_local DenseMap<const MCSection *, MCSymbol *> first;
    const llvm::Function &IR = F.MF->getFunction();
    if (module != IR.getParent()) {
        module = IR.getParent();
        first.clear();
    }
    const TargetMachine &TM = F.MF->getTarget();
    return first.try_emplace(TM.getObjFileLowering()->SectionForGlobal(&IR, TM), F.start).first->second;
}

// Whether a jump or call takes its target from a register or memory.
bool indirect(const MachineInstr &MI, const OpInfo &info)
{
    if (info.klass != PEET_INSN_CALL && info.klass != PEET_INSN_JUMP)
        return MI.isIndirectBranch();
    ArrayRef<MCOperandInfo> operands = MI.getDesc().operands();
    return !operands.empty() && operands[0].OperandType != MCOI::OPERAND_PCREL &&
        !StringRef(info.name).starts_with("TLS_"); // a call of __tls_get_addr and what it needs
}

// The parts of one function's schema while they are written.
class Writer {
  public:
    Writer(Target &T, Function &F, const Options &O)
        : T(T), F(F), O(O), IR(F.MF->getFunction()), symbol(F.MF->getTarget().getSymbol(&IR)),
          start(F.start->getName().str())
    {
        line = IR.getSubprogram() ? IR.getSubprogram()->getLine() : 0;
        last = line;
    }
    std::string text();

  private:
    void blocks();
    void segment(const Segment &S);
    void segmentHead(const Segment &S);
    void insn(const InsnPlan &I);
    unsigned lineOf(const MachineInstr &MI) const;
    void length(const InsnPlan &I);
    void registersOf(const Registers &R);
    void reference(const RefPlan &r);
    void shape(const RefPlan &r);
    void head();
    void kind(const TargetSchedModel &SM, const MachineInstr &MI);
    void offset(const std::string &a, const std::string &b);
    std::string quotedPayload() const;

    Target &T;
    Function &F;
    const Options &O;
    const llvm::Function &IR;
    const MCSymbol *symbol;
    std::string start;
    // Instructions' lengths, and offsets in the function: what only the assembler knows.
    std::string lengths, offsets;
    unsigned nlengths = 0, noffsets = 0;
    std::vector<const MachineInstr *> kinds;
    DenseMap<std::pair<unsigned, unsigned>, unsigned> kindOf; // by opcode and variant
    std::vector<std::string> callees;
    StringMap<unsigned> calleeOf;
    Bytes before, body;
    unsigned line;
    int64_t last; // line of the instruction before
};

void Writer::offset(const std::string &a, const std::string &b)
{
    offsets += (noffsets++ % 8 ? "," : "\n\t.long ") + a + "-" + b;
}

// The length of an instruction; in assembly text, without the hooks that were put into it.
void Writer::length(const InsnPlan &I)
{
    std::string begin = quoted(I.begin->getName()), end = quoted(I.end->getName());
    if (I.MI->isInlineAsm()) {
        if (unsigned added = F.asmAdded.lookup(I.MI))
            begin += "-" + std::to_string(added);
        offset(end, begin);
    } else
        lengths += (nlengths++ % 16 ? "," : "\n\t.byte ") + end + "-" + begin + (I.prefixed ? "-1" : "");
}

void Writer::registersOf(const Registers &R)
{
    body.u(R.addresses.size() + R.data.size());
    body.u(R.addresses.size());
    body.u(R.writes.size());
    for (const auto *list : {&R.addresses, &R.data, &R.writes})
        for (uint8_t r : *list)
            body.u(r);
}

void Writer::shape(const RefPlan &r)
{
    switch (r.m.shape) {
    case Shape::Plain:
        break;
    case Shape::Range:
        form(body, r.count);
        break;
    case Shape::Conditional:
        body.u(r.maskSlot);
        body.u(r.m.kmask ? (T.avx512bw ? 64 : 16) : r.m.lanes);
        break;
    case Shape::Lanes:
        body.u(r.m.lanes);
        body.u(r.maskSlot);
        body.u(r.m.vecIndex ? r.m.indexBytes : 0);
        if (r.m.vecIndex) {
            body.u(r.indexSlot);
            body.u(r.m.scale);
        }
        break;
    }
}

void Writer::reference(const RefPlan &r)
{
    body.u(r.m.kind | (unsigned)r.m.shape << 2 | (r.m.symbolic ? PEET_FORMAT_REF_SYMBOLIC : 0) |
        (r.m.rip ? PEET_FORMAT_REF_RIP : 0));
    body.u(r.m.flags);
    if (r.m.flags & PEET_REF_ATOMIC)
        body.u(r.m.order);
    body.u(r.m.size);
    form(body, r.address);
    shape(r);
}

// The line in the function's own file: of code that was inlined from another one, a header, where it is called; 0: unknown.
unsigned Writer::lineOf(const MachineInstr &MI) const
{
    const DILocation *at = MI.getDebugLoc().get();
    const DISubprogram *SP = IR.getSubprogram();
    auto elsewhere = [SP](const DILocation *here) {
        return here->getFilename() != SP->getFilename() || here->getDirectory() != SP->getDirectory();
    };
    while (at && SP && elsewhere(at))
        at = at->getInlinedAt();
    return at ? at->getLine() : 0;
}

// A call or lea of a symbol may be rewritten by the linker only in length-preserving ways.
void Writer::insn(const InsnPlan &I)
{
    const MachineInstr &MI = *I.MI;
    const OpInfo &info = T.info(MI);
    Registers R = registers(T, MI);
    auto [it, fresh] = kindOf.try_emplace({MI.getOpcode(), variantOf(MI)}, kinds.size());
    if (fresh)
        kinds.push_back(&MI);
    body.u(it->second);
    const MachineBasicBlock *target = targetOf(MI);
    std::string called = callee(*F.MF, MI);
    bool relax = target && (info.name == "JCC_1" || info.name == "JMP_1");
    bool tls = info.name == "TLS_addr64" || info.name == "TLS_base_addr64", symbolic = tls;
    for (const RefPlan &r : I.refs)
        symbolic |= r.m.symbolic;
    const unsigned known = lineOf(MI);
    const int64_t here = known ? known : last;
    body.u((relax ? PEET_FORMAT_RELAX : 0) | (here != last ? PEET_FORMAT_LINE : 0) |
        (MI.isInlineAsm() ? PEET_FORMAT_ASM : 0) | (indirect(MI, info) ? PEET_FORMAT_INDIRECT : 0) |
        (tls ? PEET_FORMAT_TLS : 0) | (info.rep ? PEET_FORMAT_REP : 0) | (symbolic ? PEET_FORMAT_SYMBOLIC : 0) |
        (I.opaque ? PEET_FORMAT_INSN_OPAQUE : 0) | (R.partial ? PEET_FORMAT_PARTIAL : 0) |
        (called.empty() ? 0 : PEET_FORMAT_CALLS));
    if (!called.empty()) {
        auto [name, unknown] = calleeOf.try_emplace(called, callees.size());
        if (unknown)
            callees.push_back(called);
        body.u(name->second);
    }
    if (relax)
        body.u(F.layoutOf[target]);
    if (here != last)
        body.i(here - last);
    last = here;
    if (symbolic)
        offset(quoted(I.begin->getName()) + (I.prefixed ? "+1" : ""), start);
    if (!relax)
        length(I);
    registersOf(R);
    body.u(I.refs.size());
    for (const RefPlan &r : I.refs)
        reference(r);
}

void Writer::segmentHead(const Segment &S)
{
    body.u((S.sync ? PEET_FORMAT_SYNC : 0) | (S.entry ? PEET_FORMAT_ENTRY : 0) |
        (S.recorded ? PEET_FORMAT_RECORDED : 0) | (S.opaque ? PEET_FORMAT_OPAQUE : 0) |
        (S.tailOf >= 0 ? PEET_FORMAT_TAIL : 0) | (S.silent ? PEET_FORMAT_LOOP : 0) | (S.turn ? PEET_FORMAT_TURN : 0));
    if (S.tailOf >= 0)
        body.u(S.takenSegment);
    if (S.silent) {
        body.u(S.induction);
        body.i(S.step);
    }
    if (S.sync)
        offset(S.label->getName().str(), start);
    if (S.turn)
        offset(S.turnLabel->getName().str(), start);
    body.u(S.slotWords);
}

void Writer::segment(const Segment &S)
{
    segmentHead(S);
    body.u(S.insns.size());
    for (const InsnPlan &I : S.insns)
        insn(I);
    body.u(S.updates.size());
    for (auto &[r, f] : S.updates) {
        body.u(r);
        form(body, f);
    }
}

void Writer::blocks()
{
    body.u(F.layout.size());
    for (unsigned m = 0; m < F.layout.size(); m++) {
        body.u(m ? Log2(F.layout[m]->getAlignment()) : 0);
        body.u(F.layout[m]->getMaxBytesForAlignment());
        body.u(F.mbbSegments[m].second);
        for (unsigned k = 0; k < F.mbbSegments[m].second; k++)
            segment(F.segments[F.mbbSegments[m].first + k]);
    }
}

// A kind of instruction: its names, its class, and its costs in the compiler's model of the target.
void Writer::kind(const TargetSchedModel &SM, const MachineInstr &MI)
{
    const OpInfo &I = T.info(MI);
    before.str(I.name);
    before.str(MI.isInlineAsm() ? "asm" : I.mnemonic);
    before.u(MI.isInlineAsm() ? (unsigned)PEET_INSN_ASM : I.klass);
    unsigned latency = 0, uops = 1;
    uint64_t ports = 0, rthroughput = 0;
    if (SM.hasInstrSchedModel() && !MI.isInlineAsm()) {
        latency = SM.computeInstrLatency(&MI);
        uops = SM.getNumMicroOps(&MI);
        rthroughput = (uint64_t)(SM.computeReciprocalThroughput(&MI) * 1000 + 0.5);
        const MCSchedClassDesc *SC = SM.resolveSchedClass(&MI);
        if (SC && SC->isValid())
            for (auto *P = SM.getWriteProcResBegin(SC), *E = SM.getWriteProcResEnd(SC); P != E; ++P)
                if (P->ProcResourceIdx < 64)
                    ports |= 1ull << P->ProcResourceIdx;
    }
    before.u(latency);
    before.u(rthroughput);
    before.u(uops);
    before.u(ports);
    before.u(variantOf(MI));
}

void Writer::head()
{
    const TargetSubtargetInfo &STI = F.MF->getSubtarget();
    const DISubprogram *SP = IR.getSubprogram();
    before.str(symbol->getName());
    before.str(SP ? SP->getFilename() : StringRef(IR.getParent()->getSourceFileName()));
    before.u(line);
    before.u(O.granularity);
    before.u(Log2(F.MF->getAlignment()));
    before.u(STI.checkFeatures("+fast-7bytenop")   ? 7
            : STI.checkFeatures("+fast-15bytenop") ? 15
            : STI.checkFeatures("+fast-11bytenop") ? 11
                                                   : 10);
    before.u(F.asmStatements);
    before.u(F.segments.size());
    before.u(kinds.size());
    TargetSchedModel SM;
    SM.init(&STI);
    for (const MachineInstr *MI : kinds)
        kind(SM, *MI);
    before.u(callees.size());
    for (const std::string &name : callees)
        before.str(name);
}

std::string Writer::quotedPayload() const
{
    const std::string payload = before.s + body.s;
    std::string text;
    raw_string_ostream os(text);
    os << format_hex(xxHash64(payload), 18) << lengths << offsets;
    for (size_t i = 0; i < payload.size(); i++) {
        if (i % 64 == 0)
            os << (i ? "\"\n\t.ascii \"" : "\n\t.ascii \"");
        unsigned char c = payload[i];
        bool nextDigit = i + 1 < payload.size() && i % 64 != 63 && isDigit(payload[i + 1]);
        if (isAlnum(c) || c == '_' || c == '.' || c == '/')
            os << c;
        else if (c < 8 && !nextDigit)
            os << '\\' << (unsigned)c;
        else
            os << format("\\%03o", c);
    }
    return text;
}

std::string Writer::text()
{
    blocks();
    head();
    std::string text, id = ".Lpeet" + std::to_string(F.MF->getFunctionNumber());
    raw_string_ostream os(text);
    os << id << "z:\n\t.pushsection " << PEET_SCHEMA_SECTION << ",\"ao" << (IR.hasComdat() ? "G" : "")
       << "\",@progbits";
    os << "," << start; // the function's section; its own name may hold what the assembler does not take here
    if (IR.hasComdat())
        os << "," << quoted(IR.getComdat()->getName()) << ",comdat";
    os << "\n\t.long " << PEET_FORMAT_MAGIC << "\n\t.long " << id << "y-" << id << "x\n"
       << id << "x:\n\t.long " << PEET_SCHEMA_VERSION << "\n\t.long __peet_abi_" << PEET_RAW_ABI
       << "@GOTPCREL\n\t.long " << start << "-.\n\t.long " << sectionStart(F)->getName() << "-.\n\t.long " << id << "z-"
       << start << "\n\t.long " << nlengths << "," << noffsets << "\n\t.quad " << quotedPayload();
    os << "\"\n" << id << "y:\n\t.popsection\n";
    return text;
}

} // namespace

void emit(Target &T, Function &F, const Options &O)
{
    const std::string text = Writer(T, F, O).text();
    MachineFunction &MF = *F.MF;
    MachineBasicBlock *tail = &MF.back();
    if (!tail->empty() || tail->hasAddressTaken() || !tail->pred_empty()) {
        tail = MF.CreateMachineBasicBlock();
        MF.push_back(tail);
    }
    appendAsm(MF, *tail, text);
}

} // namespace peet
