// SPDX-License-Identifier: Apache-2.0
// Inline assembly becomes its instructions, before anything is planned: then they are recorded like any others, with
// their references, costs and turns.  The text is parsed by LLVM's own assembler, as it would be when the function is
// printed.  Labels and branches among them become basic blocks.  What is more than that stays one opaque instruction:
// directives other than .byte and alignment, branches to elsewhere, calls, system calls, changes of the stack pointer, clocks and
// markers (accesses.cpp), and whatever the pass could not describe.
#include "pass.h"

#include <peet/module.h>

#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/LivePhysRegs.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;

namespace peet {

namespace {

// A displacement that is a symbol stands in the text as a number from here on, by its operand.
constexpr int64_t Symbol = 0x40000000, SymbolStep = 0x100000;

// An operand of the statement: where it begins among the instruction's operands, and its kind.
struct Operand {
    unsigned at;
    InlineAsm::Flag flag;
};

SmallVector<Operand, 8> operandsOf(const MachineInstr &MI)
{
    SmallVector<Operand, 8> out;
    for (unsigned i = InlineAsm::MIOp_FirstOperand; i < MI.getNumOperands();) {
        if (!MI.getOperand(i).isImm())
            break; // implicit operands and metadata
        const InlineAsm::Flag flag(MI.getOperand(i).getImm());
        out.push_back({i + 1, flag});
        i += 1 + flag.getNumOperandRegisters();
    }
    return out;
}

// The name of a register or of the part of it that a modifier asks for; empty: unknown.
std::string registerName(const Target &T, MCRegister R, char modifier)
{
    static const char *const legacy[] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
    const int gpr = T.gpr(R);
    unsigned bits;
    if (!modifier)
        return StringRef(T.TRI->getName(R)).lower();
    if (T.vectorBytes(R)) {
        const StringRef number = StringRef(T.TRI->getName(R)).drop_front(3);
        return modifier == 'x' ? ("xmm" + number).str()
            : modifier == 't'  ? ("ymm" + number).str()
            : modifier == 'g'  ? ("zmm" + number).str()
                               : "";
    }
    if (gpr < 0 || gpr >= 16 || StringRef(T.TRI->getName(R)).ends_with("H"))
        return "";
    switch (modifier) {
    case 'b':
        bits = 8;
        break;
    case 'w':
        bits = 16;
        break;
    case 'k':
        bits = 32;
        break;
    case 'q':
        bits = 64;
        break;
    case 'h':
        return gpr < 4 ? std::string(1, legacy[gpr][0]) + "h" : "";
    default:
        return "";
    }
    if (gpr >= 8)
        return "r" + std::to_string(gpr) + (bits == 64 ? "" : bits == 32 ? "d" : bits == 16 ? "w" : "b");
    if (bits == 8)
        return gpr < 4 ? std::string(1, legacy[gpr][0]) + "l" : std::string(legacy[gpr]) + "l";
    return (bits == 64 ? "r" : bits == 32 ? "e" : "") + std::string(legacy[gpr]);
}

bool printMemory(const Target &T, const MachineInstr &MI, unsigned at, char modifier, unsigned number, std::string &out)
{
    const MachineOperand &base = MI.getOperand(at), &scale = MI.getOperand(at + 1), &index = MI.getOperand(at + 2),
                         &disp = MI.getOperand(at + 3), &segment = MI.getOperand(at + 4);
    int64_t displacement = Symbol + number * SymbolStep;
    if (!base.isReg() || !scale.isImm() || !index.isReg() || !segment.isReg() ||
        (modifier && !StringRef("Hbhwkq").contains(modifier))) // sizes are for registers
        return false;
    if (disp.isImm())
        displacement = disp.getImm();
    else if (!disp.isGlobal() && !disp.isSymbol() && !disp.isCPI() && !disp.isMCSymbol())
        return false;
    if (segment.getReg())
        out += "%" + StringRef(T.TRI->getName(segment.getReg().asMCReg())).lower() + ":";
    out += std::to_string(displacement + (modifier == 'H' ? 8 : 0));
    if (!base.getReg() && !index.getReg())
        return true;
    out += "(";
    if (base.getReg())
        out += "%" + StringRef(T.TRI->getName(base.getReg().asMCReg())).lower();
    if (index.getReg())
        out +=
            ",%" + StringRef(T.TRI->getName(index.getReg().asMCReg())).lower() + "," + std::to_string(scale.getImm());
    out += ")";
    return true;
}

bool printOperand(const Target &T, const MachineInstr &MI, const Operand &o, char modifier, unsigned number,
    std::string &out)
{
    const MachineOperand &MO = MI.getOperand(o.at);
    if (o.flag.isMemKind())
        return printMemory(T, MI, o.at, modifier, number, out);
    if (o.flag.isImmKind()) {
        if (!MO.isImm() || (modifier && !StringRef("cPnbhwkq").contains(modifier)))
            return false;
        out += (modifier && StringRef("cPn").contains(modifier) ? "" : "$") +
            std::to_string(modifier == 'n' ? -MO.getImm() : MO.getImm());
        return true;
    }
    if (!MO.isReg() || !MO.getReg().isPhysical())
        return false;
    const bool address = modifier == 'a';
    const std::string name = registerName(T, MO.getReg().asMCReg(), address ? 0 : modifier);
    out += address ? "(%" + name + ")" : "%" + name;
    return !name.empty();
}

// The text with its operands.  False: something in it is not known here.
bool expand(const Target &T, const MachineInstr &MI, std::string &out)
{
    const SmallVector<Operand, 8> operands = operandsOf(MI);
    StringRef text = MI.getOperand(InlineAsm::MIOp_AsmString).getSymbolName();
    while (!text.empty()) {
        const size_t dollar = text.find('$');
        out += text.take_front(dollar);
        if (dollar == StringRef::npos)
            return true;
        text = text.drop_front(dollar + 1);
        if (text.consume_front("$")) {
            out += '$';
            continue;
        }
        const bool braces = text.consume_front("{");
        if (braces && text.consume_front(":uid}")) { // %=, and the statement has a parser of its own
            out += '0';
            continue;
        }
        unsigned number;
        char modifier = 0;
        if (text.consumeInteger(10, number) || number >= operands.size())
            return false;
        if (braces && text.consume_front(":")) {
            modifier = text.empty() ? 0 : text.front();
            text = text.drop_front(text.empty() ? 0 : 1);
        }
        if ((braces && !text.consume_front("}")) || !printOperand(T, MI, operands[number], modifier, number, out))
            return false;
    }
    return true;
}

// An instruction, or a place: a label, or where code is aligned.
struct Item {
    MCInst inst;
    const MCSymbol *label = nullptr;
    Align align;
    unsigned most = 0; // bytes of padding; 0: as many as it takes
    bool place = false;
    SmallVector<uint8_t, 0> bytes; // instructions that an older assembler did not know
    int target = -1;               // of a branch: the place's item
};

// Takes the parser's instructions and places; anything else is too much.
class Collector : public MCStreamer {
  public:
    explicit Collector(MCContext &C) : MCStreamer(C) {}
    std::vector<Item> items;
    bool others = false;

    void emitInstruction(const MCInst &I, const MCSubtargetInfo &) override
    {
        items.emplace_back().inst = I;
    }
    void emitLabel(MCSymbol *symbol, SMLoc at) override
    {
        MCStreamer::emitLabel(symbol, at); // a label is defined but once
        items.emplace_back().place = true;
        items.back().label = symbol;
    }
    void emitCodeAlignment(Align to, const MCSubtargetInfo *, unsigned most) override
    {
        items.emplace_back().place = true;
        items.back().align = to;
        items.back().most = most;
    }
    void emitBytes(StringRef data) override
    {
        if (items.empty() || items.back().bytes.empty())
            items.emplace_back();
        items.back().bytes.append(data.bytes_begin(), data.bytes_end());
    }
    void emitValueImpl(const MCExpr *, unsigned, SMLoc) override
    {
        others = true;
    }
    void emitValueToAlignment(Align, int64_t, uint8_t, unsigned) override
    {
        others = true;
    }
    bool emitSymbolAttribute(MCSymbol *, MCSymbolAttr) override
    {
        others = true;
        return true;
    }
    void emitCommonSymbol(MCSymbol *, uint64_t, Align) override
    {
        others = true;
    }
};

// Bytes become instructions.  False: they are not whole ones, or mean something by where they are.
bool decode(const Target &T, const MCDisassembler *decoder, std::vector<Item> &items)
{
    std::vector<Item> out;
    for (Item &item : items) {
        ArrayRef<uint8_t> left = item.bytes;
        if (left.empty())
            out.push_back(std::move(item));
        while (!left.empty()) {
            MCInst inst;
            uint64_t size;
            if (!decoder || decoder->getInstruction(inst, size, left, 0, nulls()) != MCDisassembler::Success)
                return false;
            for (const MCOperand &o : inst)
                if (o.isReg() && o.getReg() == T.rip)
                    return false;
            left = left.drop_front(size);
            out.emplace_back().inst = inst;
        }
    }
    items = std::move(out);
    return true;
}

// Branches get their targets.  False: one leads out of the statement.
bool resolve(const Target &T, std::vector<Item> &items)
{
    DenseMap<const MCSymbol *, int> places;
    for (size_t i = 0; i < items.size(); i++)
        if (items[i].label)
            places[items[i].label] = (int)i;
    for (Item &item : items) {
        if (item.place || !T.TII->get(item.inst.getOpcode()).isBranch())
            continue;
        const MCOperand &to = item.inst.getOperand(0);
        const auto *symbol = to.isExpr() ? dyn_cast<MCSymbolRefExpr>(to.getExpr()) : nullptr;
        const auto found = symbol ? places.find(&symbol->getSymbol()) : places.end();
        if (found == places.end())
            return false;
        item.target = found->second;
    }
    return true;
}

bool parse(const Target &T, const MachineFunction &MF, const std::string &text, std::vector<Item> &out)
{
    const TargetMachine &TM = MF.getTarget();
    SourceMgr sources;
    sources.AddNewSourceBuffer(MemoryBuffer::getMemBuffer(text, "<inline asm>"), SMLoc());
    sources.setDiagHandler([](const SMDiagnostic &, void *) {});
    MCContext context(TM.getTargetTriple(), TM.getMCAsmInfo(), TM.getMCRegisterInfo(), TM.getMCSubtargetInfo(),
        &sources);
    context.setDiagnosticHandler([](const SMDiagnostic &, bool, const SourceMgr &, std::vector<const MDNode *> &) {});
    MCObjectFileInfo info;
    info.initMCObjectFileInfo(context, TM.isPositionIndependent());
    context.setObjectFileInfo(&info);
    Collector collector(context);
    collector.switchSection(info.getTextSection());
    collector.items.clear(); // the section's own label
    collector.others = false;
    std::unique_ptr<MCAsmParser> parser(createMCAsmParser(sources, context, collector, *TM.getMCAsmInfo()));
    const MCTargetOptions options;
    std::unique_ptr<MCTargetAsmParser> target(TM.getTarget().createMCAsmParser(MF.getSubtarget(), *parser,
        *TM.getMCInstrInfo(), options));
    if (!target)
        return false;
    parser->setAssemblerDialect(InlineAsm::AD_ATT);
    parser->setTargetParser(*target);
    const std::unique_ptr<MCDisassembler> decoder(TM.getTarget().createMCDisassembler(*TM.getMCSubtargetInfo(),
        context));
    if (parser->Run(true, true) || collector.others || !decode(T, decoder.get(), collector.items) ||
        !resolve(T, collector.items))
        return false;
    out = std::move(collector.items);
    return true;
}

enum { RepFlag = 8, LockFlag = 16 }; // of MCInst: LLVM's X86BaseInfo.h, IP_HAS_REPEAT and IP_HAS_LOCK

// The instruction that code generation uses for one with this prefix; 0: none.
unsigned prefixed(Target &T, unsigned opcode, bool lock, bool rep)
{
    const std::string name = T.TII->getName(opcode).str();
    if (rep && name == "NOOP")
        return T.opcode("PAUSE");
    if (rep && (StringRef(name).starts_with("BSF") || StringRef(name).starts_with("BSR"))) // the same bytes
        return T.opcode(((name[2] == 'F' ? "TZCNT" : "LZCNT") + name.substr(3)).c_str());
    if (rep)
        return T.opcode(("REP_" + name + "_64").c_str());
    if (!lock)
        return opcode;
    if (StringRef(name).starts_with("XADD") || StringRef(name).starts_with("CMPXCHG"))
        return T.opcode(("L" + (StringRef(name).ends_with("rm") ? name.substr(0, name.size() - 2) : name)).c_str());
    if (StringRef(name).starts_with("BT") && StringRef(name).ends_with("mi8"))
        return T.opcode(("LOCK_" + name.substr(0, name.size() - 2)).c_str());
    return T.opcode(("LOCK_" + name).c_str());
}

bool plain(const Target &T, const MachineInstr &MI)
{
    const MCInstrDesc &D = MI.getDesc();
    const StringRef name = T.TII->getName(MI.getOpcode());
    static const char *const known[] = {"MFENCE", "LFENCE", "SFENCE", "PAUSE", "NOOP", "EMMS", "CPUID", "PREFETCH",
        "REP_", "CLD", "CLC", "STC", "CMC", "VZERO", "RDRAND", "RDSEED", "ENDBR64", "DIV", "IDIV", "MOVSB", "MOVSW",
        "MOVSL", "MOVSQ", "STOS", "LODS"};
    if (D.isCall() || D.isBranch() || D.isReturn() || D.isTerminator() || D.isBarrier() ||
        MI.modifiesRegister(T.gpr64[4], T.TRI) || MI.modifiesRegister(T.fpsw, T.TRI) || MI.readsRegister(T.fpsw, T.TRI))
        return false;
    for (const char *k : known)
        if (name.starts_with(k))
            return true;
    bool memory = false;
    for (const MCOperandInfo &o : D.operands())
        memory |= o.OperandType == MCOI::OPERAND_MEMORY;
    return !D.hasUnmodeledSideEffects() && (memory || (!D.mayLoad() && !D.mayStore()));
}

// Who writes assembly means what this processor guarantees: what is locked is a fence, other loads acquire, stores
// release.  Vectors are data: nobody synchronises with them, and kernels of linear algebra need no turn for each.  Nor
// does a statement synchronise that only loads and may be moved or left out.
AtomicOrdering orderOf(Target &T, const MachineInstr &MI, const MachineInstr &statement)
{
    const int64_t extra = statement.getOperand(InlineAsm::MIOp_ExtraInfo).getImm();
    if (T.info(MI).klass == PEET_INSN_ATOMIC)
        return AtomicOrdering::SequentiallyConsistent;
    if (!(extra & (InlineAsm::Extra_HasSideEffects | InlineAsm::Extra_MayStore)))
        return AtomicOrdering::NotAtomic;
    for (const MachineOperand &MO : MI.operands())
        if (MO.isReg() && MO.getReg() && T.vectorBytes(MO.getReg().asMCReg()))
            return AtomicOrdering::NotAtomic;
    return MI.getDesc().mayLoad() && MI.getDesc().mayStore() ? AtomicOrdering::AcquireRelease
        : MI.getDesc().mayLoad()                             ? AtomicOrdering::Acquire
                                                             : AtomicOrdering::Release;
}

// One parsed instruction in front of the statement.  Returns: it, or nullptr
MachineInstr *build(Target &T, MachineInstr &MI, const MCInst &from, unsigned opcode)
{
    MachineFunction &MF = *MI.getMF();
    const MCInstrDesc &D = T.TII->get(opcode);
    const SmallVector<Operand, 8> operands = operandsOf(MI);
    if (from.getNumOperands() != D.getNumOperands() && D.getNumOperands())
        return nullptr;
    MachineInstrBuilder B = BuildMI(*MI.getParent(), MI, MI.getDebugLoc(), D);
    if (!D.getNumOperands()) // registers that the instruction always has, where they are as always
        for (const MCOperand &o : from)
            if (!o.isReg() || (o.getReg() && !is_contained(D.implicit_uses(), o.getReg()))) {
                B->eraseFromParent();
                return nullptr;
            }
    bool memory = false, good = true;
    unsigned first = 0; // of the address, whose fourth operand is the displacement
    for (unsigned i = 0; i < D.getNumOperands(); i++) {
        const MCOperand &o = from.getOperand(i);
        int64_t value = 0;
        if (!memory && D.operands()[i].OperandType == MCOI::OPERAND_MEMORY) {
            memory = true;
            first = i;
        }
        if (o.isReg()) {
            B.addReg(o.getReg(), i < D.getNumDefs() ? RegState::Define : 0);
            continue;
        }
        if (o.isImm())
            value = o.getImm();
        else if (!o.isExpr() || !o.getExpr()->evaluateAsAbsolute(value)) {
            good = false;
            break;
        }
        const int64_t number = (value - Symbol + SymbolStep / 2) / SymbolStep;
        const bool named = i == first + 3 && value >= Symbol - SymbolStep / 2 && number < (int64_t)operands.size() &&
            operands[number].flag.isMemKind() && !MI.getOperand(operands[number].at + 3).isImm() &&
            from.getOperand(first).getReg().id() == MI.getOperand(operands[number].at).getReg().id() &&
            from.getOperand(first + 2).getReg().id() == MI.getOperand(operands[number].at + 2).getReg().id();
        if (!named) {
            B.addImm(value);
            continue;
        }
        MachineOperand symbol = MI.getOperand(operands[number].at + 3);
        if (symbol.isMCSymbol()) {
            good = false;
            break;
        }
        symbol.setOffset(symbol.getOffset() + value - Symbol - number * SymbolStep);
        B.add(symbol);
    }
    if (!good) {
        B->eraseFromParent();
        return nullptr;
    }
    if (memory && (D.mayLoad() || D.mayStore())) {
        const AtomicOrdering order = orderOf(T, *B, MI);
        B.addMemOperand(MF.getMachineMemOperand(MachinePointerInfo(),
            (D.mayLoad() ? MachineMemOperand::MOLoad : MachineMemOperand::MONone) |
                (D.mayStore() ? MachineMemOperand::MOStore : MachineMemOperand::MONone) |
                (order == AtomicOrdering::NotAtomic ? MachineMemOperand::MONone : MachineMemOperand::MOVolatile),
            LLT(), Align(1), AAMDNodes(), nullptr, SyncScope::System, order));
    }
    return B;
}

bool jumps(const Target &T, const Item &item)
{
    return item.target >= 0 && T.TII->get(item.inst.getOpcode()).isUnconditionalBranch();
}

// Is there code that nothing reaches, behind a jump?  It is no code of a compiler's, so nothing here expects it.
bool isDead(const Target &T, const std::vector<Item> &items)
{
    for (size_t i = 0; i < items.size(); i++) {
        bool reached = !jumps(T, items[i]);
        for (size_t k = i + 1; k < items.size() && items[k].place; k++)
            for (const Item &other : items)
                reached |= other.target == (int)k;
        if (!reached)
            return true;
    }
    return false;
}

// Gives places and what follows branches basic blocks of their own, between what stands before the statement and what
// stands behind it.  The other instructions are built already, in front of the statement.
void makeBlocks(Target &T, MachineInstr &MI, const std::vector<Item> &items, const std::vector<MachineInstr *> &built)
{
    MachineFunction &MF = *MI.getMF();
    MachineBasicBlock *head = MI.getParent();
    const MachineFunction::iterator next = std::next(head->getIterator());
    std::vector<MachineBasicBlock *> blocks, of; // of each item; those of a branch end with it
    const auto begin = [&] {
        blocks.push_back(MF.CreateMachineBasicBlock(head->getBasicBlock()));
        MF.insert(next, blocks.back());
        return blocks.back();
    };
    const auto link = [](MachineBasicBlock *from, MachineBasicBlock *to) {
        if (!from->isSuccessor(to))
            from->addSuccessorWithoutProb(to);
    };
    MachineBasicBlock *at = head;
    for (size_t i = 0; i < items.size(); i++) {
        if ((items[i].place && !(i && items[i - 1].place)) || (i && items[i - 1].target >= 0))
            at = begin();
        of.push_back(at);
    }
    MachineBasicBlock *tail = items.back().place ? at : begin();
    tail->splice(tail->end(), head, std::next(MI.getIterator()), head->end());
    tail->transferSuccessors(head);
    for (MachineBasicBlock *S : tail->successors())
        if (S->isEHPad()) // calls in front of the statement
            link(head, S);
    at = head;
    for (size_t i = 0; i < items.size(); i++) {
        const Item &item = items[i];
        if (of[i] != at && !(i && jumps(T, items[i - 1])))
            link(at, of[i]);
        at = of[i];
        if (item.place) {
            at->setAlignment(std::max(at->getAlignment(), item.align));
            at->setMaxBytesForAlignment(std::max(at->getMaxBytesForAlignment(), item.most));
        } else if (item.target >= 0) {
            MachineInstrBuilder B = BuildMI(*at, at == head ? MI.getIterator() : at->end(), MI.getDebugLoc(),
                T.TII->get(item.inst.getOpcode()));
            B.addMBB(of[item.target]);
            if (item.inst.getNumOperands() > 1) // the condition
                B.addImm(item.inst.getOperand(1).getImm());
            link(at, of[item.target]);
        } else if (built[i] && at != head) {
            at->splice(at->end(), head, built[i]->getIterator());
        }
    }
    if (at != tail && !jumps(T, items.back()))
        link(at, tail);
    std::reverse(blocks.begin(), blocks.end());
    MI.eraseFromParent();
    fullyRecomputeLiveIns(blocks);
}

bool lift(Target &T, const Accesses &A, MachineInstr &MI)
{
    std::string text, why;
    std::vector<Item> items;
    std::vector<MachineInstr *> built; // by item; nullptr: a place, a branch, or a prefix by itself
    bool lock = false, rep = false, good = true, straight = true;
    if (MI.getInlineAsmDialect() != InlineAsm::AD_ATT || !expand(T, MI, text) || A.asmIsSpecial(text) ||
        !parse(T, *MI.getMF(), text, items) || items.empty() || isDead(T, items))
        return false;
    for (const Item &item : items) {
        const MCInst &I = item.inst;
        const StringRef name = item.place ? "" : T.TII->getName(I.getOpcode());
        SmallVector<MemRef, 4> refs;
        bool opaque = false;
        built.push_back(nullptr);
        if (item.place || item.target >= 0) {
            straight = false;
            if (lock || rep || (!item.place && name != "JMP_1" && name != "JCC_1")) {
                good = false;
                break;
            }
            continue;
        }
        if (name == "LOCK_PREFIX" || name == "REP_PREFIX") {
            (name == "LOCK_PREFIX" ? lock : rep) = true;
            continue;
        }
        lock |= (I.getFlags() & LockFlag) != 0;
        rep |= (I.getFlags() & RepFlag) != 0;
        const unsigned opcode =
            I.getFlags() & ~(unsigned)(LockFlag | RepFlag) ? 0 : prefixed(T, I.getOpcode(), lock, rep);
        MCInst inst = I;
        MCRegister kept; // what a processor without tzcnt leaves as it is, if there is no bit
        if (rep && name.starts_with("BS") && inst.getNumOperands() > T.TII->get(opcode).getNumOperands()) {
            kept = inst.getOperand(1).getReg();
            inst.erase(inst.begin() + 1);
        }
        MachineInstr *B = built.back() = opcode ? build(T, MI, inst, opcode) : nullptr;
        if (B && kept)
            B->addOperand(MachineOperand::CreateReg(kept, false, true));
        if (!B || !plain(T, *B) || !T.refs(*B, A, refs, opaque, why) || opaque) {
            good = false;
            break;
        }
        lock = rep = false;
    }
    if (good && !lock && !rep) {
        if (straight)
            MI.eraseFromParent();
        else
            makeBlocks(T, MI, items, built);
        return true;
    }
    for (MachineInstr *B : built)
        if (B)
            B->eraseFromParent();
    return false;
}

} // namespace

void liftAssembly(Target &T, MachineFunction &MF)
{
    std::vector<MachineInstr *> statements;
    for (MachineBasicBlock &MBB : MF)
        for (MachineInstr &MI : MBB)
            if (MI.getOpcode() == TargetOpcode::INLINEASM && isReal(MI))
                statements.push_back(&MI);
    if (statements.empty())
        return;
    Accesses A(T, MF);
    for (MachineInstr *MI : statements)
        lift(T, A, *MI);
}

} // namespace peet
