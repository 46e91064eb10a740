// SPDX-License-Identifier: Apache-2.0
// A function's blocks become segments: the pieces between two places where the decoder learns where execution is.
// Also which segments need no record, and in which ones the context may have to yield.  Called by: Planner::run().
#include "planner.h"

#include <peet/module.h>

using namespace llvm;

namespace peet {

MachineBasicBlock *targetOf(const MachineInstr &MI)
{
    for (const MachineOperand &MO : MI.operands())
        if (MO.isMBB())
            return MO.getMBB();
    return nullptr;
}

bool Planner::readRefs(MachineInstr *&culprit, std::string &why)
{
    for (MachineBasicBlock *MBB : F.layout)
        for (MachineInstr &MI : *MBB) {
            if (!isReal(MI))
                continue;
            InsnRefs &of = refsOf[&MI];
            if (!T.refs(MI, A, of.refs, of.opaque, why)) {
                culprit = &MI;
                return false;
            }
            if (MI.isInlineAsm()) {
                F.asmStatements += A.asmReferences(MI);
                if (unsigned added = A.rewriteAsm(MI))
                    F.asmAdded[&MI] = added;
            } else {
                F.asmStatements += of.opaque;
            }
        }
    return true;
}

// The most words that an instruction's references may take: a register each, whole vectors of indices, masks.
unsigned Planner::slotsOf(MachineInstr &MI)
{
    unsigned words = 0;
    for (const MemRef &m : refsOf[&MI].refs)
        words += 1 + (m.vecIndex ? m.vecIndexBytes / 8 : 0) + (m.shape == Shape::Plain ? 0 : 1);
    return words;
}

static bool endsSegment(Target &T, const MachineInstr &MI)
{
    return MI.isInlineAsm() || (MI.isCall() && !MI.isTerminator()) || T.TII->getName(MI.getOpcode()) == "TLS_addr64" ||
        T.TII->getName(MI.getOpcode()) == "TLS_base_addr64";
}

Segment &Planner::open(unsigned mbb, bool sync)
{
    F.segments.emplace_back();
    Segment &S = F.segments.back();
    S.id = F.segments.size() - 1, S.mbb = mbb, S.MBB = F.layout[mbb], S.sync = sync;
    return S;
}

// Divides one block.  Returns whether it ends in an asm goto: the decoder resynchronises wherever that goes.
bool Planner::splitBlock(unsigned mbb, bool afterAsmGoto)
{
    MachineBasicBlock *MBB = F.layout[mbb];
    bool sync = mbb == 0 || MBB->isEHPad() || MBB->isMachineBlockAddressTaken() || MBB->isInlineAsmBrIndirectTarget() ||
        afterAsmGoto;
    Segment *S = &open(mbb, sync);
    S->entry = mbb == 0;
    bool split = false, nextSync = false, asmGoto = false;
    unsigned words = 0;
    for (MachineInstr &MI : *MBB) {
        if (!isReal(MI))
            continue;
        unsigned n = slotsOf(MI);
        if (!split && !S->MIs.empty()) {
            split = (O.granularity == Ref && n && words) || words + n > BigSegmentWords / 2;
            words += n;
        }
        bool turn =
            (A.waits(MI) && !(F.delays.contains(MBB) && A.isPause(MI))) || (O.granularity == Ref && A.mayBeShared(MI));
        int mark = A.mark(MI), clock = A.clock(MI);
        if ((turn || mark >= 0) && !S->MIs.empty())
            split = true;
        if (split) {
            S = &open(mbb, nextSync);
            split = nextSync = false;
            words = n;
        }
        S->turn |= turn;
        if (mark >= 0)
            S->mark = mark;
        S->MIs.push_back(&MI);
        if (clock >= 0) {
            S->clock = clock;
            split = true;
        }
        if (endsSegment(T, MI)) {
            split = nextSync = true;
            asmGoto |= MI.isTerminator();
        } else if (MI.isConditionalBranch())
            split = true;
    }
    // A call that ends its block and goes on: the return point resynchronises the decoder.
    if (split && nextSync && !MBB->succ_empty() && !asmGoto)
        open(mbb, true);
    return asmGoto;
}

void Planner::split()
{
    F.mbbSegments.resize(F.layout.size());
    bool asmGoto = false;
    for (unsigned m = 0; m < F.layout.size(); m++) {
        F.mbbSegments[m].first = F.segments.size();
        asmGoto = splitBlock(m, asmGoto);
        F.mbbSegments[m].second = F.segments.size() - F.mbbSegments[m].first;
    }
    for (Segment &S : F.segments)
        if (S.MIs.empty() && !S.sync)
            S.recorded = false;
}

// The last jump of a block, after a conditional one, needs no record if what comes next tells whether it was executed:
// its own destination is not that of the conditional jump before it.
bool Planner::makeTail(unsigned mbb)
{
    unsigned first = F.mbbSegments[mbb].first, n = F.mbbSegments[mbb].second;
    if (n < 2)
        return false;
    Segment &S = F.segments[first + n - 1], &P = F.segments[first + n - 2];
    if (S.MIs.size() != 1 || S.sync || S.turn || P.MIs.empty() || !P.MIs.back()->isConditionalBranch())
        return false;
    MachineInstr *J = S.MIs[0], *C = P.MIs.back();
    MachineBasicBlock *A = targetOf(*C), *B = targetOf(*J);
    if (!A || !B || J->isIndirectBranch() || C->isIndirectBranch())
        return false;
    int ra = firstSegment(F, F.layoutOf[A]), rb = firstSegment(F, F.layoutOf[B]);
    if (ra < 0 || rb < 0 || ra == rb || ra == (int)S.id || !F.segments[ra].recorded || !F.segments[rb].recorded)
        return false;
    if (J->isConditionalBranch()) {
        int rf = mbb + 1 < F.layout.size() ? firstSegment(F, mbb + 1) : -1;
        if (rf < 0 || rf == ra || !F.segments[rf].recorded)
            return false;
    }
    S.recorded = false;
    S.tailOf = P.id;
    S.takenSegment = ra;
    return true;
}

void Planner::findTails()
{
    if (O.granularity != Iteration && O.granularity != Block)
        return;
    bool changed = false;
    for (unsigned m = 0; m < F.layout.size(); m++)
        changed |= makeTail(m);
    // A destination that became a tail itself cannot tell.
    while (changed) {
        changed = false;
        for (Segment &S : F.segments)
            if (S.tailOf >= 0) {
                MachineBasicBlock *A = targetOf(*F.segments[S.tailOf].MIs.back());
                if (!F.segments[firstSegment(F, F.layoutOf[A])].recorded) {
                    S.recorded = true, S.tailOf = -1;
                    changed = true;
                }
            }
    }
}

// The block is the target of a back edge: its first segment gets a check.
void Planner::markHeader(unsigned mbb, unsigned from)
{
    int id = firstSegment(F, mbb);
    if (id < 0)
        return;
    Segment &S = F.segments[id];
    S.outerHeader |= mbb != from;
    if (!S.recorded) // a lone tail: record it after all
        S.recorded = true, S.tailOf = -1;
    S.check = true;
}

// Checks: entry, sync blocks, and the targets of the back edges of a depth-first walk, so that every
// cycle holds one, reducible or not.
void Planner::findChecks()
{
    for (Segment &S : F.segments)
        S.check = S.sync || O.granularity != Iteration;
    enum : uint8_t { Unseen, Open, Done };
    std::vector<uint8_t> state(F.layout.size());
    std::vector<std::pair<unsigned, MachineBasicBlock::succ_iterator>> stack;
    auto push = [&](unsigned m) {
        state[m] = Open;
        stack.push_back({m, F.layout[m]->succ_begin()});
    };
    for (unsigned root = 0; root < F.layout.size(); root++) {
        if (state[root] != Unseen)
            continue;
        push(root);
        while (!stack.empty()) {
            auto &[m, it] = stack.back();
            if (it == F.layout[m]->succ_end()) {
                state[m] = Done;
                stack.pop_back();
                continue;
            }
            unsigned s = F.layoutOf[*it++];
            if (state[s] == Open)
                markHeader(s, m);
            else if (state[s] == Unseen)
                push(s);
        }
    }
}

} // namespace peet
