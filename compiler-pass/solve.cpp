// SPDX-License-Identifier: Apache-2.0
// The plan of a whole function.  First a greatest fixpoint finds the registers that are known at each segment's entry;
// then registers that a loop needs and would keep known are recorded before the loop instead of in it; then a least
// fixpoint finds the registers that later segments use, and each segment's slots, references and updates are written.
// Called by: pass.cpp, through plan().
#include "planner.h"

#include <peet/module.h>
#include <peet/raw.h>

#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineLoopInfo.h"

using namespace llvm;

namespace peet {

// Registers whose entry values the segment's forms refer to, given S.uout.
uint32_t Planner::usedAtEntry(const Segment &S) const
{
    uint32_t u = 0;
    auto uses = [&](const Form &f) {
        for (auto &t : f.terms)
            if (t.first < 16)
                u |= 1u << t.first;
    };
    for (const InsnPlan &I : S.insns)
        for (const RefPlan &R : I.refs) {
            uses(R.address);
            uses(R.count);
        }
    if (S.silent)
        u |= 1u << S.induction;
    uint32_t updated = 0;
    for (auto &[r, f] : S.updates) {
        uses(f);
        updated |= 1u << r;
    }
    return u | (S.uout & S.kin & S.kout & ~updated);
}

uint32_t Planner::outOf(unsigned mbb) const
{
    // Edges may leave from any terminator: what all of them know.
    uint32_t out = 0xffff;
    for (unsigned i = exitSegment(mbb); i < F.mbbSegments[mbb].first + F.mbbSegments[mbb].second; i++)
        out &= F.segments[i].kout;
    return out;
}

// The segment that holds the first terminator: execution leaves the block only after it.
unsigned Planner::exitSegment(unsigned mbb) const
{
    unsigned first = F.mbbSegments[mbb].first, n = F.mbbSegments[mbb].second;
    for (unsigned i = first; i < first + n; i++)
        for (MachineInstr *MI : F.segments[i].MIs)
            if (MI->isTerminator())
                return i;
    return first + n - 1;
}

// Walks a block whose entry knows `in`.  Returns whether an exit of its segments changed.
bool Planner::knownThrough(unsigned mbb, uint32_t in)
{
    bool changed = false;
    for (unsigned i = 0; i < F.mbbSegments[mbb].second; i++) {
        Segment &S = F.segments[F.mbbSegments[mbb].first + i];
        S.kin = S.sync ? 0 : in;
        uint32_t out = exitOf(S, S.kin);
        changed |= out != S.kout;
        in = S.kout = out;
    }
    return changed;
}

// Greatest fixpoint of the known registers.  assumeOut: blocks whose exit is taken to know `extra` too.
void Planner::solveKnown(const BitVector *assumeOut, uint32_t extra)
{
    for (Segment &S : F.segments) {
        S.kin = S.sync ? 0 : 0xffff;
        S.kout = 0xffff;
    }
    bool changed = true;
    while (changed) {
        changed = false;
        for (unsigned m = 0; m < F.layout.size(); m++) {
            uint32_t in = preds[m].empty() ? 0 : 0xffff;
            for (unsigned p : preds[m])
                in &= outOf(p) | (assumeOut && assumeOut->test(p) ? extra : 0);
            changed |= knownThrough(m, in);
        }
    }
}

// The blocks from which the loop is entered.  False: registers cannot be recorded at the end of all of them.
bool Planner::entrances(MachineLoop &L, BitVector &outside) const
{
    bool possible = true;
    for (unsigned p : preds[F.layoutOf.lookup(L.getHeader())])
        if (!L.contains(F.layout[p])) {
            outside.set(p);
            const Segment &at = F.segments[exitSegment(p)];
            possible &= at.recorded && (at.MIs.empty() || !at.MIs.back()->isInlineAsm());
        }
    return possible && outside.any();
}

// Registers that the loop needs as things stand.
uint32_t Planner::neededIn(MachineLoop &L)
{
    uint32_t needed = 0;
    for (MachineBasicBlock *MBB : L.blocks()) {
        unsigned m = F.layoutOf[MBB];
        for (unsigned i = 0; i < F.mbbSegments[m].second; i++) {
            Segment &S = F.segments[F.mbbSegments[m].first + i];
            if (!S.sync)
                needed |= neededBy(S, S.kin);
            if (S.induction >= 0)
                needed |= 1u << S.induction & ~S.kin;
        }
    }
    return needed;
}

// The loop keeps @candidates known if @kept are known outside it.  Returns: those and what they need besides, as a stride
// that is in a register.
uint32_t Planner::withStrides(const BitVector &outside, const Segment &header, uint32_t candidates, uint32_t kept)
{
    const auto keeps = [&](uint32_t extra) {
        solveKnown(&outside, extra);
        return !(candidates & ~header.kin);
    };
    if (!candidates || keeps(candidates))
        return candidates;
    for (int r = 0; r < 16; r++)
        if (const uint32_t bit = 1u << r; (kept & ~candidates & bit) && keeps(kept & ~bit))
            kept &= ~bit;
    return kept;
}

// Registers that the loop needs, and would keep known if they were known at its header, are recorded at the end of every
// block from which it is entered.  Returns whether strides are among them.
bool Planner::hoistFor(MachineLoop &L)
{
    const Segment &header = F.segments[F.mbbSegments[F.layoutOf[L.getHeader()]].first];
    BitVector outside(F.layout.size());
    const uint32_t needed = header.sync || !entrances(L, outside) ? 0 : neededIn(L);
    if (!needed)
        return false;
    solveKnown(&outside, 0xffff);
    const uint32_t kept = needed & header.kin, candidates = withStrides(outside, header, kept, header.kin);
    for (unsigned p : outside.set_bits())
        F.segments[exitSegment(p)].hoist |= candidates;
    solveKnown(nullptr, 0);
    return candidates != kept;
}

// The outermost loop first: what it keeps need not be recorded within it.  A stride of an inner loop may be one that an
// outer loop keeps.
void Planner::hoist()
{
    MachineDominatorTree MDT(*F.MF);
    MachineLoopInfo MLI(MDT);
    SmallVector<MachineLoop *, 16> loops;
    for (MachineLoop *L : MLI)
        loops.push_back(L);
    for (unsigned i = 0; i < loops.size(); i++)
        for (MachineLoop *sub : *loops[i])
            loops.push_back(sub);
    size_t work = 0;
    for (Segment &S : F.segments)
        work += S.MIs.size() + 1;
    if (work * loops.size() > 3000000)
        return; // each loop is tried by solving the whole function: too dear here, record in place
    bool strides = false;
    for (MachineLoop *L : loops)
        strides |= hoistFor(*L);
    if (strides)
        for (MachineLoop *L : loops)
            hoistFor(*L);
}

// Is it a loop of one block that ends in its own conditional jump?
bool Planner::canBeInduction(unsigned mbb) const
{
    const Segment &S = F.segments[F.mbbSegments[mbb].first];
    MachineBasicBlock *MBB = F.layout[mbb];
    if (!MBB->isSuccessor(MBB) || S.sync || !S.recorded || S.outerHeader || S.MIs.empty() || S.turn || S.mark >= 0 ||
        S.clock >= 0)
        return false;
    MachineInstr *J = S.MIs.back();
    unsigned terminators = 0;
    for (MachineInstr *MI : S.MIs)
        terminators += MI->isTerminator();
    if (terminators != 1 || !J->isConditionalBranch() || J->isIndirectBranch() || targetOf(*J) != MBB)
        return false;
    // What follows the jump in the block may only be the lone jump out.
    unsigned n = F.mbbSegments[mbb].second;
    if (n == 1)
        return true;
    const Segment &next = F.segments[S.id + 1];
    return n == 2 && next.MIs.size() == 1 && targetOf(*next.MIs[0]) != MBB && !next.MIs[0]->isConditionalBranch();
}

// Loops of one block, with the register that counts their iterations.
void Planner::findInductions()
{
    if (O.granularity != Iteration)
        return;
    for (unsigned m = 0; m < F.layout.size(); m++)
        if (canBeInduction(m))
            searchInduction(F.segments[F.mbbSegments[m].first]);
}

void Planner::findSilent()
{
    for (Segment &S : F.segments) {
        if (S.induction < 0 || !(S.kin >> S.induction & 1) || S.hoist)
            continue;
        if (wordsOf(S, S.kin) == 0)
            S.silent = true, S.check = false;
    }
}

// Writes a block's segments, the last one first.  Returns whether they use other registers than before.
bool Planner::neededThrough(unsigned mbb)
{
    bool changed = false;
    uint32_t out = 0;
    for (MachineBasicBlock *succ : F.layout[mbb]->successors()) {
        Segment &S = F.segments[F.mbbSegments[F.layoutOf[succ]].first];
        out |= S.sync ? 0 : S.uin;
    }
    const uint32_t leaving = out;
    for (unsigned i = F.mbbSegments[mbb].second; i-- > 0;) {
        Segment &S = F.segments[F.mbbSegments[mbb].first + i];
        if (S.id >= exitSegment(mbb))
            out |= leaving;
        S.uout = out;
        write(S);
        uint32_t in = usedAtEntry(S);
        changed |= in != S.uin;
        S.uin = in;
        out = S.sync ? 0 : in;
    }
    return changed;
}

void Planner::solveNeeded()
{
    for (Segment &S : F.segments)
        S.uin = S.uout = 0;
    bool changed = true;
    while (changed) {
        changed = false;
        for (unsigned m = F.layout.size(); m-- > 0;)
            changed |= neededThrough(m);
    }
}

// Whether the ring has room for what the segments write; more checks if the function writes much.
bool Planner::accept(MachineInstr *&culprit, std::string &why)
{
    unsigned total = 0;
    for (Segment &S : F.segments)
        total += 1 + S.slotWords;
    for (Segment &S : F.segments) {
        if (!S.recorded && S.slotWords) {
            why = "a block that is not recorded needs slots";
            culprit = S.MIs.empty() ? nullptr : S.MIs[0];
            return false;
        }
        if (total > BigFunctionWords && S.recorded && !S.silent)
            S.check = true;
        if (S.slotWords > PEET_RAW_SLACK_WORDS / 2) {
            why = "a block needs more slots than the ring's slack holds";
            culprit = S.MIs[0];
            return false;
        }
        for (InsnPlan &I : S.insns)
            S.opaque |= I.opaque;
    }
    return true;
}

bool Planner::run(MachineInstr *&culprit, std::string &why)
{
    unsigned n = 0;
    for (MachineBasicBlock &MBB : *F.MF) {
        F.layoutOf[&MBB] = n++;
        F.layout.push_back(&MBB);
    }
    if (!readRefs(culprit, why))
        return false;
    findDelays(F, A);
    split();
    findWaitingLoops(F);
    findTails();
    findChecks();
    preds.resize(F.layout.size());
    for (unsigned m = 0; m < F.layout.size(); m++)
        for (MachineBasicBlock *succ : F.layout[m]->successors())
            preds[F.layoutOf[succ]].push_back(m);
    if (O.derive)
        findInductions();
    solveKnown(nullptr, 0);
    if (O.derive) {
        hoist();
        findSilent();
    }
    solveNeeded();
    return accept(culprit, why);
}

bool plan(Target &T, Function &F, const Options &O, MachineInstr *&culprit, std::string &why)
{
    return Planner(T, F, O).run(culprit, why);
}

} // namespace peet
