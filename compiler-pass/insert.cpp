// SPDX-License-Identifier: Apache-2.0
// Writes the recording code that solve.cpp planned.  Invariants: no original instruction is changed or
// moved; flags are never written where they are live; only registers that hold nothing are used, or
// spilled below the red zone; the cursor in the control page is past every slot of a block before its
// first instruction runs, so that whatever interrupts the block finds the ring whole.
#include "pass.h"

#include <peet/module.h>
#include <peet/raw.h>

#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetFrameLowering.h"
#include "llvm/IR/InlineAsm.h"

using namespace llvm;

namespace peet {

void appendAsm(MachineFunction &MF, MachineBasicBlock &MBB, const std::string &text)
{
    const TargetInstrInfo *TII = MF.getSubtarget().getInstrInfo();
    BuildMI(MBB, MBB.end(), DebugLoc(), TII->get(TargetOpcode::INLINEASM))
        .addExternalSymbol(MF.createExternalSymbolName(text))
        .addImm(InlineAsm::Extra_HasSideEffects);
}

namespace {

enum { CondAE = 3, CondNE = 5 };
constexpr uint32_t kept = PEET_HOOK_VECTORS | PEET_HOOK_XMM;

class Inserter {
  public:
    Inserter(Target &T, Function &F, const Options &O)
        : T(T), F(F), MRI(F.MF->getRegInfo()), frames(*F.MF), own_segment(O.domains ? MCRegister() : T.reg("GS"))
    {
        MOV64mr = T.opcode("MOV64mr"), MOV64rm = T.opcode("MOV64rm"), MOV64mi32 = T.opcode("MOV64mi32");
        LEA64r = T.opcode("LEA64r"), CMP64rm = T.opcode("CMP64rm"), JCC = T.opcode("JCC_1");
        PUSH = T.opcode("PUSH64r"), POP = T.opcode("POP64r");
        PUSHF = T.opcode("PUSHF64"), POPF = T.opcode("POPF64"), CMP32mi = T.opcode("CMP32mi");
    }
    bool run(std::string &why);

  private:
    using Iter = MachineBasicBlock::iterator;
    struct Point {
        MachineBasicBlock *MBB;
        Iter at;
        DebugLoc DL;
    };
    MachineInstrBuilder build(const Point &P, unsigned opcode, MCRegister dst = MCRegister())
    {
        if (dst)
            return BuildMI(*P.MBB, P.at, P.DL, T.TII->get(opcode), dst);
        return BuildMI(*P.MBB, P.at, P.DL, T.TII->get(opcode));
    }
    void mem(MachineInstrBuilder B, MCRegister base, int64_t disp, MCRegister segment = MCRegister())
    {
        B.addReg(base).addImm(1).addReg(0).addImm(disp).addReg(segment);
    }
    // The running thread's cursor and limit: see PER THREAD in peet/raw.h.
    void own(MachineInstrBuilder B, int off)
    {
        mem(B, T.noreg, PEET_CONTROL_ADDRESS + off, own_segment);
    }
    std::string own(int off) const
    {
        return (own_segment ? "%gs:" : "") + std::to_string(PEET_CONTROL_ADDRESS + off);
    }
    void loadCursor(const Point &P, int r)
    {
        own(build(P, MOV64rm, T.gpr64[r]), PEET_CONTROL_CURSOR);
    }
    void storeCursor(const Point &P, int r)
    {
        auto B = build(P, MOV64mr);
        own(B, PEET_CONTROL_CURSOR);
        B.addReg(T.gpr64[r]);
    }
    std::string loadCursorText(int r) const
    {
        return "movq " + own(PEET_CONTROL_CURSOR) + ",%" + StringRef(T.TRI->getName(T.gpr64[r])).lower();
    }
    void store(const Point &P, MCRegister base, int64_t disp, MCRegister value)
    {
        auto B = build(P, MOV64mr);
        mem(B, base, disp);
        B.addReg(value);
    }
    void lea(const Point &P, MCRegister dst, MCRegister base, int64_t disp)
    {
        mem(build(P, LEA64r, dst), base, disp);
    }

    uint32_t hookWord(const LiveRegUnits &live);
    uint32_t liveVectors(const LiveRegUnits &live);
    uint32_t narrow(const LiveRegUnits &live);
    bool isWide(const MachineOperand &MO) const;
    bool isX87(const MachineOperand &MO) const;
    std::string hookText(unsigned frame, unsigned slot, uint32_t word, int cursor, const MCSymbol *back = nullptr,
        uint32_t second = 0);
    void hook(const Point &P, const std::string &text);
    void turn(Segment &S, const Point &P, const LiveRegUnits &live);
    // Which registers the top of a segment uses, and what it saves for that.
    struct Scratch {
        std::vector<int> use, pushed; // the first carries the cursor; those that are pushed are not free
        bool flags = false, shifted = false;
    };
    bool findScratch(const Segment &S, const LiveRegUnits &live, Scratch &out);
    int save(const Point &P, const Scratch &scratch);
    void restore(const Point &P, const Scratch &scratch);
    void checkRoom(Segment &S, const Point &P, int cursor, int down);
    bool top(Segment &S, const LiveRegUnits &live, std::string &why);
    bool mid(Segment &S, MachineInstr *at, const LiveRegUnits &live, std::string &why);
    void findWide();
    void placeLabels(Segment &S, unsigned &nlabel);
    void placeTop(Segment &S);
    Liveness findLiveness();
    void findUndefined();
    bool record(Segment &S, const Liveness &L, std::string &why);
    void hookClocks(const Liveness &L);
    void preload(const std::vector<Preload> &preloads);
    void keepLabels();
    void abortTransactions();
    bool emitSlot(const Point &P, const Slot &s, int cursor, int64_t off, int temp, int shifted, std::string &why);
    static unsigned header(const Segment &)
    {
        return 1;
    } // the id or pc word
    Iter iter(MachineBasicBlock *MBB, MachineInstr *MI)
    {
        return MI ? Iter(MI) : MBB->end();
    }

    Target &T;
    Function &F;
    const MachineRegisterInfo &MRI;
    Frames frames;
    unsigned MOV64mr, MOV64rm, MOV64mi32, LEA64r, CMP64rm, JCC, PUSH, POP, PUSHF, POPF, CMP32mi;
    const MCRegister own_segment;
    bool wide = false;     // the function uses more vector state than the lower halves of xmm0..15
    bool anywhere = false; // it may have such state at any place, whatever the liveness analysis says
    std::string slow;
    unsigned nslow = 0;
    DenseMap<unsigned, BitVector> undefined; // segments that wait for their turn: units that no instruction has set
    int topCursor = NoGpr;                   // register that holds the cursor after the current segment's top
};

bool Inserter::emitSlot(const Point &P, const Slot &s, int cursor, int64_t off, int temp, int shifted, std::string &why)
{
    MCRegister base = T.gpr64[cursor];
    switch (s.kind) {
    case SlotKind::Gpr:
        if (s.gpr == RSP && shifted) {
            lea(P, T.gpr64[temp], T.gpr64[RSP], shifted);
            store(P, base, off, T.gpr64[temp]);
        } else
            store(P, base, off, s.reg);
        return true;
    case SlotKind::VecIndex: {
        const char *name = T.isExtVector(s.reg) ? (s.bytes == 64          ? "VMOVDQU64Zmr"
                                                          : s.bytes == 32 ? "VMOVDQU64Z256mr"
                                                                          : "VMOVDQU64Z128mr")
                                                : (s.bytes == 32 ? "VMOVDQUYmr" : "VMOVDQUmr");
        auto B = build(P, T.opcode(name));
        mem(B, base, off);
        B.addReg(s.reg);
        return true;
    }
    case SlotKind::KMask: {
        auto B = build(P, T.opcode(T.avx512bw ? "KMOVQmk" : "KMOVWmk"));
        mem(B, base, off);
        B.addReg(s.reg);
        return true;
    }
    case SlotKind::VecMask: {
        bool y = s.bytes == 32;
        const char *name = s.eltBytes == 1 ? (T.avx ? "VPMOVMSKBrr" : "PMOVMSKBrr")
            : s.eltBytes == 4              ? (y ? "VMOVMSKPSYrr" : "VMOVMSKPSrr")
                                           : (y ? "VMOVMSKPDYrr" : "VMOVMSKPDrr");
        build(P, T.opcode(name), T.gpr32[temp]).addReg(s.reg);
        store(P, base, off, T.gpr64[temp]);
        return true;
    }
    }
    why = "unknown slot";
    return false;
}

// The x87's registers, a stack whose liveness is not known.  Each inline assembly says that it may change the status
// word: that is no use of it.
bool Inserter::isX87(const MachineOperand &MO) const
{
    return MO.isReg() && MO.getReg() && MO.getReg().isPhysical() && T.peetReg(MO.getReg().asMCReg()) == PEET_REG_X87 &&
        !(MO.isDef() && MO.getParent()->isInlineAsm() && MO.getReg().asMCReg() == T.fpsw);
}

// Mask registers, and vectors of more than 16 bytes or beyond the sixteenth.  (A vector register and its halves are one
// to the liveness analysis.)
bool Inserter::isWide(const MachineOperand &MO) const
{
    if (!MO.isReg() || !MO.getReg() || !MO.getReg().isPhysical())
        return false;
    MCRegister R = MO.getReg().asMCReg();
    int r = T.peetReg(R);
    return (r >= PEET_REG_MASK0 && r < PEET_REG_OTHER) ||
        (r >= PEET_REG_VEC0 && r < PEET_REG_FLAGS && (r >= PEET_REG_VEC0 + 16 || T.vectorBytes(R) != 16));
}

// What a hook must keep, and may look at: live general registers, flags, whether there are others.
uint32_t Inserter::hookWord(const LiveRegUnits &live)
{
    uint32_t word = live.available(T.eflags) ? 0 : PEET_HOOK_FLAGS;
    for (int r = 0; r < 16; r++)
        if (r != RSP && !live.available(T.gpr64[r]))
            word |= 1u << r;
    if (anywhere)
        return word | PEET_HOOK_VECTORS;
    for (MCRegister R : T.vectors)
        if (!live.available(R))
            return word | (wide ? PEET_HOOK_VECTORS : PEET_HOOK_XMM);
    return word;
}

// Which general registers hold nothing but their lowest byte: what is above it may be anything.
uint32_t Inserter::narrow(const LiveRegUnits &live)
{
    uint32_t mask = 0;
    for (int r = 0; r < 16; r++) {
        if (r == RSP || live.available(T.gpr64[r]))
            continue;
        bool more = false;
        for (MCRegUnit unit : T.TRI->regunits(T.gpr64[r]))
            more |= live.getBitVector().test(static_cast<unsigned>(unit)) &&
                !is_contained(T.TRI->regunits(T.gpr8[r]), unit);
        mask |= more ? 0 : 1u << r;
    }
    return mask;
}

// Which of xmm0..15 are live.
uint32_t Inserter::liveVectors(const LiveRegUnits &live)
{
    uint32_t mask = 0;
    for (unsigned r = 0; r < 16 && r < T.vectors.size(); r++)
        if (!live.available(T.vectors[r]))
            mask |= 1u << r;
    return mask;
}

// The call of a hook; the stub reads the word behind it.  Afterwards the ring may be another one.
std::string Inserter::hookText(unsigned frame, unsigned slot, uint32_t word, int cursor, const MCSymbol *back,
    uint32_t second)
{
    std::string call;
    raw_string_ostream os(call);
    os << "callq *" << PEET_CONTROL_ADDRESS + slot << "\n";
    if (back)
        os << back->getName() << ":";
    os << "\t.byte 0x0f,0x1f,0x80\n\t.long " << word;
    if (back && word & (kept | PEET_HOOK_NARROW))
        os << "\n\t.byte 0x0f,0x1f,0x80\n\t.long " << second;
    std::string text = frames.below(frame, call);
    raw_string_ostream behind(text);
    if (cursor >= 0)
        behind << "\n\t" << loadCursorText(cursor);
    return text;
}

void Inserter::hook(const Point &P, const std::string &text)
{
    build(P, TargetOpcode::INLINEASM)
        .addExternalSymbol(F.MF->createExternalSymbolName(text))
        .addImm(InlineAsm::Extra_HasSideEffects);
}

// An access waits for its turn only while more than one context is alive.  Where the flags are free that is
// a comparison and a jump that is not taken; elsewhere the stub is always called.
void Inserter::turn(Segment &S, const Point &P, const LiveRegUnits &live)
{
    S.turnLabel = label(*F.MF, "t", S.id);
    const unsigned frame = frames.at(*P.MBB, P.at);
    LiveRegUnits set = live; // what the hook may look at
    set.removeUnits(undefined.lookup(S.id));
    const uint32_t bytes = narrow(set);
    std::string call = hookText(frame, PEET_CONTROL_TURN,
        (hookWord(live) & kept) | (hookWord(set) & ~kept) | (bytes ? PEET_HOOK_NARROW : 0), S.cursor, S.turnLabel,
        liveVectors(set) | bytes << 16);
    if (!live.available(T.eflags)) {
        hook(P, call);
        return;
    }
    MCSymbol *out = label(*F.MF, "u", S.id), *back = label(*F.MF, "v", S.id);
    auto cmp = build(P, CMP32mi);
    mem(cmp, T.noreg, PEET_CONTROL_ADDRESS + PEET_CONTROL_CONCURRENT);
    cmp.addImm(0);
    build(P, JCC).addSym(out).addImm(CondNE);
    build(P, TargetOpcode::ANNOTATION_LABEL).addSym(back);
    slow += frames.become(frame) + (out->getName() + ": " + call + "\n\tjmp " + back->getName() + "\n").str();
}

bool Inserter::findScratch(const Segment &S, const LiveRegUnits &live, Scratch &out)
{
    uint32_t held = 0;
    bool rspSlot = false;
    for (const Slot &s : S.slots)
        if (s.top) {
            held |= 1u << s.gpr;
            rspSlot |= s.gpr == RSP;
        }
    // A register that is recorded here cannot carry the cursor, dead or not.
    std::vector<int> free = deadRegisters(T, live, held);
    if (const int first = S.cursor >= 0 ? S.cursor : S.after; first >= 0) {
        llvm::erase(free, first);
        free.insert(free.begin(), first);
    }
    out.flags = S.check && !live.available(T.eflags);
    out.shifted = free.size() < (S.sync ? 2u : 1u) || out.flags;
    unsigned want = S.sync || (rspSlot && out.shifted) ? 2 : 1;
    if (free.size() < want)
        out.shifted = true, want = S.sync || rspSlot ? 2 : 1;
    std::vector<int> &use = out.use;
    use.assign(free.begin(), free.begin() + std::min<size_t>(want, free.size()));
    for (int r = 15; r >= 0 && use.size() < want; r--)
        if (r != RSP && !(held >> r & 1) && std::find(use.begin(), use.end(), r) == use.end() &&
            !MRI.isReserved(T.gpr64[r])) {
            use.push_back(r);
            out.pushed.push_back(r);
        }
    return use.size() >= want;
}

// Returns: by how much the stack pointer is lower.
int Inserter::save(const Point &P, const Scratch &scratch)
{
    if (!scratch.shifted)
        return 0;
    lea(P, T.gpr64[RSP], T.gpr64[RSP], -128); // below the red zone
    int down = 128;
    if (scratch.flags)
        build(P, PUSHF), down += 8;
    for (int r : scratch.pushed)
        build(P, PUSH).addReg(T.gpr64[r]), down += 8;
    return down;
}

void Inserter::restore(const Point &P, const Scratch &scratch)
{
    if (!scratch.shifted)
        return;
    for (auto r = scratch.pushed.rbegin(); r != scratch.pushed.rend(); ++r)
        build(P, POP, T.gpr64[*r]);
    if (scratch.flags)
        build(P, POPF);
    lea(P, T.gpr64[RSP], T.gpr64[RSP], 128);
}

// Beyond the limit the yield stub is called, out of line. The cursor is in its register afterwards.
void Inserter::checkRoom(Segment &S, const Point &P, int cursor, int down)
{
    MCSymbol *back = label(*F.MF, "c", nslow), *out = label(*F.MF, "s", nslow);
    nslow++;
    build(P, TargetOpcode::ANNOTATION_LABEL).addSym(back);
    if (S.cursor < 0)
        loadCursor(P, cursor);
    auto cmp = build(P, CMP64rm).addReg(T.gpr64[cursor]);
    own(cmp, PEET_CONTROL_LIMIT);
    build(P, JCC).addSym(out).addImm(CondAE);
    raw_string_ostream os(slow);
    const unsigned frame = frames.at(*P.MBB, P.at);
    os << frames.become(frame, down) << out->getName() << ": "
       << frames.below(frame, "callq *" + std::to_string(PEET_CONTROL_ADDRESS + PEET_CONTROL_STUB)) << "\n\t";
    if (S.cursor >= 0)
        os << loadCursorText(cursor) << "\n\t";
    os << "jmp " << back->getName() << "\n";
}

bool Inserter::top(Segment &S, const LiveRegUnits &live, std::string &why)
{
    Iter at = iter(S.MBB, S.insertBefore);
    Point P{S.MBB, at, at == S.MBB->end() ? DebugLoc() : S.MBB->findDebugLoc(at)};
    if (S.turn)
        turn(S, P, live);
    if (S.mark >= 0)
        hook(P, hookText(frames.at(*P.MBB, P.at), PEET_CONTROL_MARK, (hookWord(live) & kept) | S.mark, S.cursor));
    Scratch scratch;
    if (!findScratch(S, live, scratch)) {
        why = "no register can be freed to carry the recording cursor";
        return false;
    }
    int A = scratch.use[0], B = scratch.use.size() > 1 ? scratch.use[1] : NoGpr;
    const int down = save(P, scratch);
    if (S.sync) {
        S.label = label(*F.MF, "b", S.id);
        build(P, TargetOpcode::ANNOTATION_LABEL).addSym(S.label);
    }
    if (S.check)
        checkRoom(S, P, A, down);
    else if (S.cursor < 0)
        loadCursor(P, A);

    unsigned words = header(S) + S.slotWords;
    if (S.sync) {
        auto l = build(P, LEA64r, T.gpr64[B]);
        l.addReg(T.rip).addImm(1).addReg(0).addSym(S.label).addReg(0);
        store(P, T.gpr64[A], 0, T.gpr64[B]);
    } else {
        auto m = build(P, MOV64mi32);
        mem(m, T.gpr64[A], 0);
        m.addImm((int64_t)~(uint64_t)S.id);
    }
    for (const Slot &s : S.slots)
        if (s.top && !emitSlot(P, s, A, 8 * (header(S) + s.word), B, down, why))
            return false;
    const int after = S.after >= 0 ? S.after : A;
    lea(P, T.gpr64[after], T.gpr64[A], 8 * words);
    storeCursor(P, after);
    topCursor = S.after;
    restore(P, scratch);
    return true;
}

// The slots that must be taken in the middle of a segment, before `at`.
bool Inserter::mid(Segment &S, MachineInstr *at, const LiveRegUnits &live, std::string &why)
{
    Iter it = iter(S.MBB, at);
    Point P{S.MBB, it, it == S.MBB->end() ? DebugLoc() : S.MBB->findDebugLoc(it)};
    uint32_t held = 0;
    bool temp = false, rspSlot = false;
    for (const Slot &s : S.slots)
        if (!s.top && s.at == at) {
            if (s.kind == SlotKind::Gpr)
                held |= 1u << s.gpr, rspSlot |= s.gpr == RSP;
            temp |= s.kind == SlotKind::VecMask;
        }
    std::vector<int> free = deadRegisters(T, live, held);
    std::vector<int> use, pushed;
    // The register that carried the cursor at the top, if nothing has touched it since.
    bool carried = false;
    if (topCursor >= 0 && std::find(free.begin(), free.end(), topCursor) != free.end()) {
        carried = true;
        for (MachineInstr *MI : S.MIs) {
            if (MI == at)
                break;
            if (MI->modifiesRegister(T.gpr64[topCursor], T.TRI))
                carried = false;
        }
        if (carried)
            use.push_back(topCursor);
    }
    unsigned want = temp ? 2 : 1;
    for (int r : free)
        if (use.size() < want && std::find(use.begin(), use.end(), r) == use.end())
            use.push_back(r);
    if (use.size() < want && rspSlot)
        want = 2;
    for (int r = 15; r >= 0 && use.size() < want; r--)
        if (r != RSP && !(held >> r & 1) && std::find(use.begin(), use.end(), r) == use.end() &&
            !MRI.isReserved(T.gpr64[r])) {
            use.push_back(r);
            pushed.push_back(r);
        }
    if (use.size() < want) {
        why = "no register can be freed to record one in the middle of a block";
        return false;
    }
    int A = use[0], B = want > 1 ? use[1] : NoGpr, down = 0;
    if (!pushed.empty()) {
        lea(P, T.gpr64[RSP], T.gpr64[RSP], -128);
        down = 128;
        for (int r : pushed)
            build(P, PUSH).addReg(T.gpr64[r]), down += 8;
    }
    if (!carried)
        loadCursor(P, A);
    int64_t words = header(S) + S.slotWords;
    for (const Slot &s : S.slots)
        if (!s.top && s.at == at && !emitSlot(P, s, A, 8 * ((int64_t)header(S) + s.word - words), B, down, why))
            return false;
    if (!pushed.empty()) {
        for (auto r = pushed.rbegin(); r != pushed.rend(); ++r)
            build(P, POP, T.gpr64[*r]);
        lea(P, T.gpr64[RSP], T.gpr64[RSP], 128);
    }
    return true;
}

// A transaction aborts as soon as it has begun, as on processors that have switched them off: what is
// recorded in one would vanish with it, and no other context could be resumed.
void Inserter::abortTransactions()
{
    for (MachineBasicBlock *MBB : F.layout)
        for (Iter it = MBB->begin(); it != MBB->end(); ++it)
            if (T.TII->getName(it->getOpcode()).starts_with("XBEGIN_"))
                build(Point{MBB, std::next(it), it->getDebugLoc()}, T.opcode("XABORT")).addImm(0);
}

void Inserter::findWide()
{
    for (MachineBasicBlock *MBB : F.layout)
        for (const MachineInstr &MI : *MBB)
            for (const MachineOperand &MO : MI.operands()) {
                wide = wide || isWide(MO);
                anywhere = anywhere || isX87(MO);
            }
    CallingConv::ID convention = F.MF->getFunction().getCallingConv();
    anywhere = anywhere ||
        (convention != CallingConv::C && convention != CallingConv::Fast); // others keep vectors for their callers
}

// Labels around original instructions hug them: they come before anything else that is inserted.
void Inserter::placeLabels(Segment &S, unsigned &nlabel)
{
    for (InsnPlan &I : S.insns) {
        I.begin = I.MI->getPreInstrSymbol();
        if (!I.begin) {
            I.begin = label(*F.MF, "i", nlabel);
            I.MI->setPreInstrSymbol(*F.MF, I.begin);
        }
        I.end = I.MI->getPostInstrSymbol();
        if (!I.end) {
            I.end = label(*F.MF, "e", nlabel);
            I.MI->setPostInstrSymbol(*F.MF, I.end);
        }
        nlabel++;
    }
}

// Where the recording code of a segment stands: after the instructions that must come first in a function.
void Inserter::placeTop(Segment &S)
{
    S.insertBefore = nullptr;
    for (MachineInstr *MI : S.MIs) {
        StringRef n = T.TII->getName(MI->getOpcode());
        if (n == "ENDBR64" || n == "FENTRY_CALL" || n == "PATCHABLE_FUNCTION_ENTER" || n == "PATCHABLE_OP")
            continue;
        S.insertBefore = MI;
        break;
    }
    if (!S.insertBefore && !S.MIs.empty()) { // only an endbr: after it
        auto next = std::next(MachineBasicBlock::iterator(S.MIs.back()));
        S.insertBefore = next == S.MBB->end() ? nullptr : &*next;
    }
    if (S.silent) { // behind its own jump: once, when the loop is left
        auto next = std::next(MachineBasicBlock::iterator(S.MIs.back()));
        S.insertBefore = next == S.MBB->end() ? nullptr : &*next;
    }
    if (S.MIs.empty() && S.sync) { // an empty return point: before what follows it in the block
        S.insertBefore = nullptr;
        if (F.mbbSegments[S.mbb].first == S.id && F.mbbSegments[S.mbb].second > 1)
            S.insertBefore = F.segments[S.id + 1].insertBefore;
    }
}

// Liveness at every point where code goes, taken before anything is inserted.
Liveness Inserter::findLiveness()
{
    Liveness L;
    L.atEnd.resize(F.layout.size());
    for (unsigned m = 0; m < F.layout.size(); m++) {
        DenseMap<MachineInstr *, bool> wanted, wantedAfter;
        for (unsigned i = 0; i < F.mbbSegments[m].second; i++) {
            Segment &S = F.segments[F.mbbSegments[m].first + i];
            if (S.recorded && S.insertBefore)
                wanted[S.insertBefore] = true;
            if (S.clock >= 0)
                wantedAfter[S.MIs.back()] = true;
            for (const Slot &s : S.slots)
                if (!s.top && s.at)
                    wanted[s.at] = true;
        }
        LiveRegUnits live(*T.TRI);
        live.addLiveOuts(*F.layout[m]);
        L.atEnd[m] = live;
        if (Segment &S = F.segments[F.mbbSegments[m].first]; S.silent) {
            LiveRegUnits left(*T.TRI);
            left.addLiveOuts(*F.layout[m]);
            for (MachineBasicBlock *to : F.layout[m]->successors())
                if (to != F.layout[m] && F.layout[m]->succ_size() == 2) {
                    left.clear();
                    left.addLiveIns(*to);
                }
            L.behind[S.id] = left;
        }
        for (MachineInstr &MI : llvm::reverse(*F.layout[m])) {
            if (wantedAfter.count(&MI))
                L.after[&MI] = live;
            live.stepBackward(MI);
            if (wanted.count(&MI))
                L.before[&MI] = live;
        }
    }
    return L;
}

// What an instruction leaves behind: set holds the units that have a value.
static void step(const MachineInstr &MI, LiveRegUnits &set)
{
    for (const MachineOperand &MO : MI.operands())
        if (MO.isRegMask())
            set.removeRegsNotPreserved(MO.getRegMask());
    for (const MachineOperand &MO : MI.operands()) {
        if (!MO.isReg() || !MO.isDef() || !MO.getReg().isPhysical())
            continue;
        if (MI.isImplicitDef())
            set.removeReg(MO.getReg());
        else
            set.addReg(MO.getReg());
    }
}

// A register can be live where it is set on some ways only: where the source leaves a value open, as in `return b` behind a
// loop that sets b before it is looked at.  On the other ways it holds what the last call has left there, and that may
// be the runtime's.  A unit counts as set if it is so on all ways that lead there.
void Inserter::findUndefined()
{
    if (none_of(F.segments, [](const Segment &S) { return S.turn; }))
        return;
    const unsigned units = T.TRI->getNumRegUnits();
    std::vector<BitVector> in(F.layout.size(), BitVector(units, true));
    LiveRegUnits begin(*T.TRI); // what the caller has set: arguments, and what it wants to find again
    begin.addLiveIns(*F.layout[0]);
    for (const MCPhysReg *R = MRI.getCalleeSavedRegs(); R && *R; R++)
        begin.addReg(*R);
    begin.addReg(T.gpr64[RSP]);
    for (unsigned m = 0; m < F.layout.size(); m++) {
        if (m && !F.layout[m]->isEHPad())
            continue;
        LiveRegUnits pad = begin;
        pad.addLiveIns(*F.layout[m]);
        in[m] = pad.getBitVector();
    }
    std::vector<unsigned> work;
    for (unsigned m = static_cast<unsigned>(F.layout.size()); m-- > 0;)
        work.push_back(m);
    while (!work.empty()) {
        const unsigned m = work.back();
        work.pop_back();
        LiveRegUnits set(*T.TRI);
        set.addUnits(in[m]);
        for (const MachineInstr &MI : *F.layout[m])
            step(MI, set);
        for (MachineBasicBlock *to : F.layout[m]->successors()) {
            auto it = F.layoutOf.find(to);
            if (it == F.layoutOf.end() || to->isEHPad())
                continue;
            BitVector both = in[it->second];
            both &= set.getBitVector();
            if (both != in[it->second]) {
                in[it->second] = both;
                work.push_back(it->second);
            }
        }
    }
    for (unsigned m = 0; m < F.layout.size(); m++) {
        LiveRegUnits set(*T.TRI);
        set.addUnits(in[m]);
        auto here = [&](const MachineInstr *at) {
            for (unsigned i = 0; i < F.mbbSegments[m].second; i++)
                if (const Segment &S = F.segments[F.mbbSegments[m].first + i]; S.turn && S.insertBefore == at)
                    undefined[S.id] = BitVector(set.getBitVector()).flip();
        };
        for (const MachineInstr &MI : *F.layout[m]) {
            here(&MI);
            step(MI, set);
        }
        here(nullptr);
    }
}

bool Inserter::record(Segment &S, const Liveness &L, std::string &why)
{
    topCursor = NoGpr;
    const LiveRegUnits &live = L.at(S);
    // Mid slots at the very place of the top would be written before the top is: put the top first.
    if (!top(S, live, why))
        return false;
    SmallVector<MachineInstr *, 4> done;
    bool doneEnd = false;
    for (const Slot &s : S.slots) {
        if (s.top)
            continue;
        if (s.at ? is_contained(done, s.at) : doneEnd)
            continue;
        if (s.at)
            done.push_back(s.at);
        else
            doneEnd = true;
        // nullptr: the end of the segment, which is before the next one's first instruction
        const LiveRegUnits &l = s.at ? L.before.find(s.at)->second : L.atEnd[S.mbb];
        if (!mid(S, s.at, l, why))
            return false;
    }
    return true;
}

void Inserter::hookClocks(const Liveness &L)
{
    for (Segment &S : F.segments)
        if (S.clock >= 0) {
            Iter it = std::next(Iter(S.MIs.back()));
            Point P{S.MBB, it, S.MIs.back()->getDebugLoc()};
            hook(P,
                hookText(frames.at(*P.MBB, P.at), PEET_CONTROL_CLOCK,
                    (hookWord(L.after.find(S.MIs.back())->second) & kept) | S.clock, S.kept ? S.cursor : NoGpr));
        }
}

// Moves or loads the cursor at the end of blocks whose successors have it in another place.
void Inserter::preload(const std::vector<Preload> &preloads)
{
    for (const Preload &p : preloads) {
        if (p.from == p.to)
            continue;
        Iter it = iter(F.layout[p.block], wayOut(F, p.block));
        Point P{
            F.layout[p.block], it, it == F.layout[p.block]->end() ? DebugLoc() : F.layout[p.block]->findDebugLoc(it)};
        if (p.from >= 0)
            build(P, T.opcode("MOV64rr"), T.gpr64[p.to]).addReg(T.gpr64[p.from]);
        else
            loadCursor(P, p.to);
    }
}

// Recording code between the jumps that end a block hides the first of them from the printer, which
// would leave out the label of a block that it takes to be reached by falling through alone.
void Inserter::keepLabels()
{
    for (MachineBasicBlock *MBB : F.layout)
        for (const MachineInstr &MI : *MBB)
            if (MI.isBranch())
                for (const MachineOperand &MO : MI.operands())
                    if (MO.isMBB())
                        MO.getMBB()->setLabelMustBeEmitted();
}

bool Inserter::run(std::string &why)
{
    findWide();
    unsigned nlabel = 0;
    for (Segment &S : F.segments) {
        placeLabels(S, nlabel);
        placeTop(S);
    }
    Liveness L = findLiveness();
    findUndefined();
    const std::vector<Preload> preloads = placeCursors(T, F, L);
    for (Segment &S : F.segments)
        if (S.recorded && !record(S, L, why))
            return false;
    hookClocks(L);
    abortTransactions();
    preload(preloads);
    keepLabels();
    if (!slow.empty()) {
        // A function can end in code that cannot be reached, and without an end: it goes on with what is behind it, as ever.
        const MachineBasicBlock &last = F.MF->back();
        const bool open = last.succ_empty() && (last.empty() || !(last.back().isBarrier() || last.back().isCall()));
        MachineBasicBlock *tail = F.MF->CreateMachineBasicBlock();
        F.MF->push_back(tail);
        const std::string end = open ? label(*F.MF, "o", 0)->getName().str() : "";
        appendAsm(*F.MF, *tail, (open ? "jmp " + end + "\n" : "") + slow + frames.settle() + (open ? end + ":\n" : ""));
    }
    return true;
}

} // namespace

bool insert(Target &T, Function &F, const Options &O, std::string &why)
{
    return Inserter(T, F, O).run(why);
}

} // namespace peet
