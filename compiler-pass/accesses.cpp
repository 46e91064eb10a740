// SPDX-License-Identifier: Apache-2.0
// Which instructions wait for their turn in simulated time (atomic and volatile accesses, fences), which
// read the processor's clock, which are markers of a region of interest; and what inline assembly says of
// all that.  Called by segments.cpp while it divides blocks; the waits are written by insert.cpp, hooks in the middle
// of assembly text here.
#include "pass.h"

#include <peet/module.h>
#include <peet/raw.h>

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineMemOperand.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace peet {

uint8_t orderOf(AtomicOrdering o)
{
    switch (o) {
    case AtomicOrdering::NotAtomic:
        return PEET_ORDER_NONE;
    case AtomicOrdering::Unordered:
    case AtomicOrdering::Monotonic:
        return PEET_ORDER_RELAXED;
    case AtomicOrdering::Acquire:
        return PEET_ORDER_ACQUIRE;
    case AtomicOrdering::Release:
        return PEET_ORDER_RELEASE;
    case AtomicOrdering::AcquireRelease:
        return PEET_ORDER_ACQ_REL;
    case AtomicOrdering::SequentiallyConsistent:
        return PEET_ORDER_SEQ_CST;
    }
    return PEET_ORDER_SEQ_CST;
}

namespace {

// A call that only fills in what it is given the address of, and does not hand it on: thread handles, results.
bool handsOn(const Instruction *I, const Use &U)
{
    static const std::pair<const char *, unsigned> fills[] = {{"pthread_create", 0}, {"pthread_join", 1},
        {"thrd_create", 0}, {"thrd_join", 1}, {"pthread_timedjoin_np", 1}, {"pthread_tryjoin_np", 1}};
    const auto *C = dyn_cast<CallBase>(I);
    if (C && (isa<VAStartInst>(C) || isa<VAEndInst>(C) || isa<VACopyInst>(C)))
        return false;
    if (!C || !C->isArgOperand(&U))
        return true;
    const unsigned n = C->getArgOperandNo(&U);
    if (C->doesNotCapture(n))
        return false;
    const llvm::Function *F = C->getCalledFunction();
    for (const auto &f : fills)
        if (F && F->getName() == f.first && n == f.second)
            return false;
    return true;
}

// Nobody but its own function can refer to this local variable: every use loads, stores or compares.  @calls: or is a
// call that does not hand its address on
bool isPrivate(const AllocaInst *A, bool calls = false)
{
    SmallVector<const Value *, 8> todo{A};
    SmallPtrSet<const Value *, 16> seen;
    unsigned uses = 0;
    while (!todo.empty()) {
        const Value *V = todo.pop_back_val();
        if (!seen.insert(V).second)
            continue;
        for (const Use &U : V->uses()) {
            const auto *I = dyn_cast<Instruction>(U.getUser());
            if (!I || ++uses > 400)
                return false;
            if (isa<LoadInst>(I) || isa<ICmpInst>(I) || I->isLifetimeStartOrEnd() || isa<DbgInfoIntrinsic>(I))
                continue;
            if (const auto *S = dyn_cast<StoreInst>(I)) {
                if (S->getValueOperand() == V)
                    return false;
                continue;
            }
            if (const auto *R = dyn_cast<AtomicRMWInst>(I)) {
                if (R->getValOperand() == V)
                    return false;
                continue;
            }
            if (const auto *C = dyn_cast<AtomicCmpXchgInst>(I)) {
                if (C->getCompareOperand() == V || C->getNewValOperand() == V)
                    return false;
                continue;
            }
            if (isa<MemIntrinsic>(I))
                continue;
            if (isa<GetElementPtrInst>(I) || isa<BitCastInst>(I) || isa<AddrSpaceCastInst>(I) || isa<PHINode>(I) ||
                isa<SelectInst>(I)) {
                todo.push_back(I);
                continue;
            }
            if (calls && !handsOn(I, U))
                continue;
            return false;
        }
    }
    return true;
}

bool isWordChar(char c)
{
    return isAlnum(c) || c == '_' || c == '.';
}

// One statement of assembly text: where it begins and ends, its prefixes, its mnemonic, its operands.
struct Statement {
    size_t end;
    bool lock = false, rep = false;
    StringRef mnemonic, operands;
};

// Statements are parted by line ends and semicolons; labels and comments are none.
std::vector<Statement> statements(StringRef text)
{
    std::vector<Statement> out;
    size_t at = 0;
    bool lock = false, rep = false;
    while (at < text.size()) {
        size_t end = text.find_first_of("\n;", at);
        if (end == StringRef::npos)
            end = text.size();
        StringRef s = text.slice(at, end);
        s = s.take_front(std::min(s.find('#'), s.size()));
        for (;;) {
            s = s.ltrim(" \t{");
            size_t n = 0;
            while (n < s.size() && isWordChar(s[n]))
                n++;
            StringRef word = s.take_front(n);
            if (n && n < s.size() && s[n] == ':') { // a label
                s = s.drop_front(n + 1);
                continue;
            }
            if (word.equals_insensitive("lock"))
                lock = true;
            else if (word.starts_with_insensitive("rep"))
                rep = true;
            else if (!word.equals_insensitive("xacquire") && !word.equals_insensitive("xrelease") &&
                !word.equals_insensitive("data16")) {
                if (n) {
                    Statement st;
                    st.end = end, st.lock = lock, st.rep = rep, st.mnemonic = word,
                    st.operands = s.drop_front(n).trim();
                    out.push_back(st);
                    lock = rep = false;
                }
                break;
            }
            s = s.drop_front(n);
        }
        at = end + 1;
    }
    return out;
}

// The bytes of a call of a hook, in any dialect of assembly.
std::string hookBytes(unsigned slot, uint32_t word)
{
    std::string s;
    raw_string_ostream os(s);
    os << "\n\t.byte 0x48,0x8d,0x64,0x24,0x80\n\t.byte 0xff,0x14,0x25\n\t.long " << PEET_CONTROL_ADDRESS + slot
       << "\n\t.byte 0x0f,0x1f,0x80\n\t.long " << word << "\n\t.byte 0x48,0x8d,0xa4,0x24,0x80,0,0,0\n\t";
    return s;
}

std::string squeezed(StringRef s)
{
    std::string out;
    for (char c : s)
        if (c != ' ' && c != '\t' && c != '%')
            out += (char)tolower(c);
    return out;
}

} // namespace

Accesses::Accesses(Target &T, MachineFunction &MF) : T(T), MF(MF)
{
    const bool fast = MF.getFunction().hasOptNone() || MF.getTarget().getOptLevel() == CodeGenOptLevel::None;
    for (const BasicBlock &BB : MF.getFunction())
        for (const Instruction &I : BB) {
            ordered = ordered || I.isVolatile() || I.isAtomic();
            if (const auto *L = dyn_cast<LoadInst>(&I); L && fast) {
                auto [it, fresh] = loads.try_emplace(L->getPointerOperand(), L->getOrdering());
                if (!fresh && it->second != L->getOrdering())
                    it->second = AtomicOrdering::Unordered; // not asked for by any language: of both kinds
            }
        }
}

AtomicOrdering Accesses::order(const MachineInstr &MI, const MachineMemOperand &MMO) const
{
    AtomicOrdering o = MMO.getMergedOrdering();
    if (o != AtomicOrdering::NotAtomic || !MMO.isLoad() || !MMO.getValue())
        return o;
    auto it = loads.find(MMO.getValue());
    return it == loads.end() ? o : it->second;
}

bool Accesses::isPrivateStack(const MachineMemOperand &MMO)
{
    if (const PseudoSourceValue *P = MMO.getPseudoValue())
        return P->isStack() || P->isConstantPool() || P->isJumpTable() || P->isGOT();
    const Value *V = MMO.getValue();
    const auto *A = V ? dyn_cast<AllocaInst>(getUnderlyingObject(V)) : nullptr;
    if (!A)
        return false;
    auto [it, fresh] = privates.try_emplace(A, false);
    if (fresh)
        it->second = isPrivate(A);
    return it->second;
}

bool Accesses::isSharedStack(const MachineMemOperand &MMO)
{
    const Value *V = MMO.getValue();
    const auto *A = V ? dyn_cast<AllocaInst>(getUnderlyingObject(V)) : nullptr;
    if (!A)
        return false;
    auto [it, fresh] = handed.try_emplace(A, false);
    if (fresh)
        it->second = !isPrivate(A, true);
    return it->second;
}

bool Accesses::asmWaits(const MachineInstr &MI) const
{
    if (MI.getOperand(InlineAsm::MIOp_ExtraInfo).getImm() & (InlineAsm::Extra_MayLoad | InlineAsm::Extra_MayStore))
        return true;
    for (const Statement &s : statements(MI.getOperand(InlineAsm::MIOp_AsmString).getSymbolName()))
        if (s.lock || s.mnemonic.starts_with_insensitive("cmpxchg") || s.mnemonic.starts_with_insensitive("xadd") ||
            s.mnemonic.ends_with_insensitive("fence") || s.mnemonic.equals_insensitive("pause") ||
            (s.rep && s.mnemonic.equals_insensitive("nop")) ||
            (s.mnemonic.starts_with_insensitive("xchg") && s.operands.contains('$')))
            return true;
    return false;
}

// Can it refer to memory?  Fences and pauses cannot, whatever they say that they clobber.
bool Accesses::asmReferences(const MachineInstr &MI) const
{
    for (const Statement &s : statements(MI.getOperand(InlineAsm::MIOp_AsmString).getSymbolName()))
        if (!s.mnemonic.ends_with_insensitive("fence") && !s.mnemonic.equals_insensitive("pause") &&
            !(s.mnemonic.equals_insensitive("nop") && s.operands.empty()))
            return true;
    return false;
}

bool Accesses::asmIsSpecial(StringRef text) const
{
    for (const Statement &s : statements(text)) {
        const StringRef m = s.mnemonic;
        const auto [first, second] = s.operands.split(',');
        if ((m.starts_with(".") && m != ".p2align" && m != ".align" && m != ".balign" && m != ".byte") ||
            m.starts_with_insensitive("rdtsc") || m.starts_with_insensitive("sys") ||
            m.starts_with_insensitive("xbegin") || m.starts_with_insensitive("xend"))
            return true;
        if (m.starts_with_insensitive("xchg") && squeezed(first) == squeezed(second))
            return true; // simulators' markers
        if (m.equals_insensitive("addl") && squeezed(s.operands) == "$0,eax" && !s.lock)
            return true; // <peet/marker.h>
    }
    return false;
}

bool Accesses::waits(const MachineInstr &MI)
{
    if (MI.isInlineAsm())
        return asmWaits(MI);
    if (MI.isCall()) { // operations that are too wide to be instructions: the library's
        for (const MachineOperand &MO : MI.operands()) {
            StringRef name = MO.isGlobal() ? MO.getGlobal()->getName()
                : MO.isSymbol()            ? StringRef(MO.getSymbolName())
                                           : StringRef();
            if (name.starts_with("__atomic_") || name.starts_with("__sync_"))
                return true;
        }
        return false;
    }
    if (MI.isTerminator())
        return false;
    const OpInfo &I = T.info(MI);
    if (I.klass == PEET_INSN_ATOMIC || I.klass == PEET_INSN_FENCE)
        return refersBeyondStack(MI);
    if (isPause(MI))
        return true;
    for (const MachineMemOperand *MMO : MI.memoperands())
        if ((MMO->isVolatile() || order(MI, *MMO) != AtomicOrdering::NotAtomic) && !isPrivateStack(*MMO)) {
            // The stack protector's own, which nobody writes
            const bool guard = I.memOp >= 0 && MI.getOperand(I.memOp + 4).getReg() == T.fs &&
                !MI.getOperand(I.memOp).getReg() && MI.getOperand(I.memOp + 3).isImm() &&
                MI.getOperand(I.memOp + 3).getImm() == 0x28;
            if (!guard)
                return true;
        }
    // What a merged instruction was is not known any more.
    if (ordered && MI.memoperands_empty() && I.memOp >= 0 && !I.noref && !I.prefetch &&
        (MI.mayLoad() || MI.mayStore())) {
        int base = MI.getOperand(I.memOp).isReg() && MI.getOperand(I.memOp).getReg()
            ? T.gpr(MI.getOperand(I.memOp).getReg().asMCReg())
            : NoGpr;
        return base != RSP;
    }
    return false;
}

int Accesses::clock(const MachineInstr &MI) const
{
    StringRef n = T.TII->getName(MI.getOpcode());
    return n == "RDTSC" ? PEET_HOOK_RDTSC : n == "RDTSCP" ? PEET_HOOK_RDTSCP : -1;
}

// Functions whose calls are markers, by what they are called in gem5's, PARSEC's and Intel's interfaces.
static int markOf(StringRef name)
{
    static const std::pair<const char *, int> names[] = {{"__parsec_roi_begin", PEET_HOOK_MARK_BEGIN},
        {"__parsec_roi_end", PEET_HOOK_MARK_END}, {"m5_work_begin", PEET_HOOK_MARK_BEGIN},
        {"m5_work_end", PEET_HOOK_MARK_END}, {"m5_roi_begin", PEET_HOOK_MARK_BEGIN}, {"m5_roi_end", PEET_HOOK_MARK_END},
        {"m5_reset_stats", PEET_HOOK_MARK_BEGIN}, {"m5_dump_stats", PEET_HOOK_MARK_END},
        {"m5_dump_reset_stats", PEET_HOOK_MARK_END}, {"annotate_roi_begin", PEET_HOOK_MARK_BEGIN},
        {"annotate_roi_end", PEET_HOOK_MARK_END}};
    for (auto &n : names)
        if (name == n.first)
            return n.second;
    // Intel's macros call through a pointer of this name.
    if (name.starts_with("__itt_resume_ptr") || name == "__itt_resume")
        return PEET_HOOK_MARK_BEGIN;
    if (name.starts_with("__itt_pause_ptr") || name == "__itt_pause")
        return PEET_HOOK_MARK_END;
    return -1;
}

int Accesses::mark(const MachineInstr &MI) const
{
    if (!MI.isCall() || MI.isInlineAsm())
        return -1;
    MCRegister through;
    for (const MachineOperand &MO : MI.explicit_operands()) {
        StringRef name = MO.isGlobal() ? MO.getGlobal()->getName()
            : MO.isSymbol()            ? StringRef(MO.getSymbolName())
                                       : StringRef();
        if (!name.empty())
            return markOf(name);
        if (MO.isReg() && MO.getReg() && !through)
            through = MO.getReg().asMCReg();
    }
    // A call through a register: where it was loaded, in this block or the one before it.
    const MachineBasicBlock *MBB = MI.getParent();
    MachineBasicBlock::const_reverse_iterator it(MI);
    for (unsigned blocks = 0; through && blocks < 3; blocks++) {
        for (++it; it != MBB->rend(); ++it) {
            if (!it->modifiesRegister(through, T.TRI))
                continue;
            for (const MachineMemOperand *MMO : it->memoperands())
                if (const Value *V = MMO->getValue())
                    return markOf(V->getName());
            return -1;
        }
        if (MBB->pred_size() != 1)
            return -1;
        MBB = *MBB->pred_begin();
        if (MBB->empty())
            return -1;
        it = MBB->rbegin();
        if (it != MBB->rend() && it->modifiesRegister(through, T.TRI))
            return -1;
    }
    return -1;
}

unsigned Accesses::rewriteAsm(MachineInstr &MI)
{
    std::string text = MI.getOperand(InlineAsm::MIOp_AsmString).getSymbolName();
    unsigned added = 0;
    std::vector<std::pair<size_t, std::string>> inserts;
    for (const Statement &s : statements(text)) {
        std::string args = squeezed(s.operands), name = s.mnemonic.lower();
        auto hook = [&](unsigned slot, uint32_t word) {
            inserts.push_back({s.end, hookBytes(slot, word | PEET_HOOK_VECTORS)});
            added += PEET_HOOK_BYTES;
        };
        if (name == "rdtsc" || (name == ".byte" && args == "0x0f,0x31"))
            hook(PEET_CONTROL_CLOCK, PEET_HOOK_RDTSC);
        else if (name == "rdtscp" || (name == ".byte" && args == "0x0f,0x01,0xf9"))
            hook(PEET_CONTROL_CLOCK, PEET_HOOK_RDTSCP);
        else if ((name == "xchg" || name == "xchgw") && args == "bx,bx")
            hook(PEET_CONTROL_MARK, PEET_HOOK_MARK_SNIPER);
        else if ((name == "xchg" || name == "xchgq") && args == "rcx,rcx")
            hook(PEET_CONTROL_MARK, PEET_HOOK_MARK_ZSIM);
        else if (name == "xbegin") { // a transaction aborts at once, as on processors without them
            inserts.push_back({s.end, "\n\t.byte 0xc6,0xf8,0\n\t"});
            added += 3;
        }
    }
    if (!added)
        return 0;
    for (auto it = inserts.rbegin(); it != inserts.rend(); ++it)
        text.insert(it->first, it->second);
    MI.getOperand(InlineAsm::MIOp_AsmString).ChangeToES(MF.createExternalSymbolName(text));
    return added;
}

bool isReal(const MachineInstr &MI)
{
    if (MI.isMetaInstruction() || MI.isPosition())
        return false;
    if (MI.isInlineAsm()) // an empty statement is a compiler barrier: no code, nothing to say
        return !StringRef(MI.getOperand(InlineAsm::MIOp_AsmString).getSymbolName()).trim().empty();
    return true;
}

int firstSegment(const Function &F, unsigned mbb)
{
    for (unsigned i = F.mbbSegments[mbb].first; i < F.segments.size(); i++)
        if (F.segments[i].recorded || !F.segments[i].MIs.empty())
            return i;
    return -1;
}

static bool isBarrier(const MachineInstr &MI)
{
    return MI.isInlineAsm() && !isReal(MI) && MI.mayLoad();
}

bool Accesses::refersBeyondStack(const MachineInstr &MI)
{
    return MI.memoperands_empty() ||
        any_of(MI.memoperands(), [this](const MachineMemOperand *MMO) { return !isPrivateStack(*MMO); });
}

bool Accesses::isPause(const MachineInstr &MI) const
{
    return !MI.isInlineAsm() && T.info(MI).name == "PAUSE";
}

bool Accesses::looks(const MachineInstr &MI)
{
    return isReal(MI) && !isPause(MI) && (MI.mayLoad() || MI.mayStore()) && refersBeyondStack(MI);
}

// Blocks of a loop that pause, or have a compiler barrier, so that it takes time, and neither look at memory nor call.
static bool onlyDelay(ArrayRef<MachineBasicBlock *> blocks, Accesses &A)
{
    bool delay = false;
    for (const MachineBasicBlock *MBB : blocks)
        for (const MachineInstr &MI : *MBB) {
            const bool pause = A.isPause(MI);
            if (MI.isCall() || A.looks(MI) || (isReal(MI) && !pause && A.waits(MI)))
                return false;
            delay |= pause || isBarrier(MI);
        }
    return delay;
}

static void findDelay(Function &F, Accesses &A, ArrayRef<MachineBasicBlock *> loop)
{
    SmallPtrSet<const MachineBasicBlock *, 4> ends;
    for (MachineBasicBlock *MBB : loop)
        for (const MachineBasicBlock *next : MBB->successors())
            if (!is_contained(loop, next))
                ends.insert(next);
    if (ends.empty() || !onlyDelay(loop, A))
        return;
    F.delays.insert(loop.begin(), loop.end());
    F.delayEnds.insert(ends.begin(), ends.end());
}

// Their rounds need not wait one by one: they wait when they are left, when what they have waited for may be looked at.
void findDelays(Function &F, Accesses &A)
{
    const auto delaying = [&A](const MachineInstr &MI) { return isBarrier(MI) || A.isPause(MI); };
    if (none_of(*F.MF, [&](const MachineBasicBlock &MBB) { return any_of(MBB, delaying); }))
        return;
    for (MachineBasicBlock &MBB : *F.MF) // also those that share their header with a loop around them
        if (MBB.isSuccessor(&MBB))
            findDelay(F, A, &MBB);
    MachineDominatorTree MDT(*F.MF);
    MachineLoopInfo MLI(MDT);
    for (const MachineLoop *L : MLI.getLoopsInPreorder())
        if (L->isInnermost())
            findDelay(F, A, L->getBlocks());
}

// A loop that waits for others without an access that must wait: one that has no way out, or one that a compiler
// barrier makes read again.  Its header waits for its turn, lest it spin outside of simulated time.
void findWaitingLoops(Function &F)
{
    for (const MachineBasicBlock *MBB : F.delayEnds)
        if (int first = firstSegment(F, F.layoutOf[MBB]); first >= 0)
            F.segments[first].turn = true;
    MachineDominatorTree MDT(*F.MF);
    MachineLoopInfo MLI(MDT);
    for (const MachineLoop *L : MLI.getLoopsInPreorder()) {
        SmallVector<MachineBasicBlock *, 4> exits;
        L->getExitBlocks(exits);
        bool waits = exits.empty(), works = F.delays.contains(L->getHeader());
        for (MachineBasicBlock *MBB : L->blocks()) {
            unsigned m = F.layoutOf[MBB];
            for (unsigned i = 0; i < F.mbbSegments[m].second; i++)
                works |= F.segments[F.mbbSegments[m].first + i].turn;
            for (const MachineInstr &MI : *MBB) {
                if (isBarrier(MI))
                    waits = true;
                else if (MI.isCall() || (!exits.empty() && isReal(MI) && MI.mayStore()))
                    works = true;
            }
        }
        int header = firstSegment(F, F.layoutOf[L->getHeader()]);
        if (waits && !works && header >= 0)
            F.segments[header].turn = true;
    }
}

} // namespace peet
