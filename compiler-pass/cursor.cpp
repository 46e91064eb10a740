// SPDX-License-Identifier: Apache-2.0
// Which registers carry the cursor from one record to the next: a record that finds it in a register does not wait for
// the store before it.  Only registers that hold nothing carry it, so the program's own code is as ever; the control
// page is kept up to date all the same.  Called by insert.cpp, before it inserts anything.
#include "pass.h"

#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"

#include <array>

using namespace llvm;

namespace peet {

// Registers in order of preference: those with short encodings and no duty first.
static const int preference[] = {0, 1, 2, 6, 7, 8, 9, 10, 11, 3, 12, 13, 14, 15, 5};

constexpr uint32_t calleeSaved = 0xf028; // rbx, rbp, r12 to r15

std::vector<int> deadRegisters(const Target &T, const LiveRegUnits &live, uint32_t avoid)
{
    const MachineRegisterInfo &MRI = T.MF.getRegInfo();
    std::vector<int> out;
    for (int r : preference)
        if (!(avoid >> r & 1) && !MRI.isReserved(T.gpr64[r]) && live.available(T.gpr64[r]))
            out.push_back(r);
    return out;
}

MachineInstr *wayOut(const Function &F, unsigned m)
{
    const Segment &first = F.segments[F.mbbSegments[m].first];
    if (first.silent)
        return first.insertBefore;
    for (unsigned i = 0; i < F.mbbSegments[m].second; i++)
        for (MachineInstr *MI : F.segments[F.mbbSegments[m].first + i].MIs)
            if (MI->isTerminator())
                return MI;
    return nullptr;
}

namespace {

class Carrier {
  public:
    Carrier(Target &T, Function &F, const Liveness &L) : T(T), F(F), L(L), MRI(F.MF->getRegInfo()), MDT(*F.MF), MLI(MDT)
    {
    }
    std::vector<Preload> run();

  private:
    // What happens to registers on the way through a block.
    struct Step {
        enum { Record, Write, Lose, Load, Leave } kind;
        unsigned segment = 0;   // Record
        uint32_t registers = 0; // Write: what they held is gone.  Load: they get the cursor
        int to = -1;            // Leave: a block of the layout; -1: any successor
    };

    struct Edge {
        unsigned to;
        uint32_t carries; // registers that hold the cursor on it
        bool said;
    };

    bool keep(const MachineLoop &loop);
    void readBlock(unsigned m);
    uint32_t lasting(unsigned m, size_t at, uint32_t free, bool &goesOn) const;
    void choose();
    void walk(unsigned m, uint32_t state, bool final);
    uint32_t writes(const MachineInstr &MI) const;

    Target &T;
    Function &F;
    const Liveness &L;
    const MachineRegisterInfo &MRI;
    MachineDominatorTree MDT;
    MachineLoopInfo MLI;
    std::vector<Preload> preloads;
    std::vector<SmallVector<Step, 8>> steps; // by layout index
    std::vector<uint32_t> free;              // by segment: registers that hold nothing at its record
    std::vector<uint32_t> in;                // by layout index: registers that hold the cursor
    std::vector<SmallVector<Edge, 4>> out;   // by layout index
};

// A register that is dead all through a loop without calls carries the cursor round it.
bool Carrier::keep(const MachineLoop &loop)
{
    uint32_t touched = 0;
    bool records = false;
    for (MachineBasicBlock *MBB : loop.blocks()) {
        unsigned m = F.layoutOf[MBB];
        for (unsigned i = 0; i < F.mbbSegments[m].second; i++) {
            Segment &S = F.segments[F.mbbSegments[m].first + i];
            if (S.sync)
                return false;
            records |= S.recorded && !S.silent;
        }
        for (const MachineInstr &MI : *MBB)
            for (const MachineOperand &MO : MI.operands()) {
                int g = MO.isReg() && MO.getReg() && MO.getReg().isPhysical() ? T.gpr(MO.getReg().asMCReg()) : NoGpr;
                if (g >= 0 && !MI.isDebugInstr())
                    touched |= 1u << g;
            }
    }
    if (!records)
        return false;
    SmallVector<unsigned, 4> outside;
    for (MachineBasicBlock *P : loop.getHeader()->predecessors())
        if (!loop.contains(P))
            outside.push_back(F.layoutOf[P]);
    for (int r : preference) {
        if (touched >> r & 1 || MRI.isReserved(T.gpr64[r]))
            continue;
        bool fits = true;
        for (MachineBasicBlock *MBB : loop.blocks())
            fits = fits && L.atEnd[F.layoutOf[MBB]].available(T.gpr64[r]);
        for (unsigned p : outside) {
            // At the end of P the register must be dead, untouched by its jumps, and no record may follow.
            fits = fits && L.atEnd[p].available(T.gpr64[r]);
            bool leaves = false;
            for (unsigned i = 0; i < F.mbbSegments[p].second && fits; i++) {
                Segment &S = F.segments[F.mbbSegments[p].first + i];
                if (leaves && S.recorded)
                    fits = false;
                for (MachineInstr *MI : S.MIs)
                    if (MI->isTerminator()) {
                        leaves = true;
                        fits =
                            fits && !MI->readsRegister(T.gpr64[r], T.TRI) && !MI->modifiesRegister(T.gpr64[r], T.TRI);
                    }
                if (!S.MIs.empty() && S.MIs.back()->isInlineAsm() && S.MIs.back()->isTerminator())
                    fits = false;
            }
        }
        if (!fits)
            continue;
        for (MachineBasicBlock *MBB : loop.blocks()) {
            unsigned m = F.layoutOf[MBB];
            for (unsigned i = 0; i < F.mbbSegments[m].second; i++)
                F.segments[F.mbbSegments[m].first + i].kept = true,
                                                    F.segments[F.mbbSegments[m].first + i].cursor =
                                                        F.segments[F.mbbSegments[m].first + i].after = r;
        }
        for (unsigned p : outside)
            preloads.push_back({p, r, NoGpr});
        return true;
    }
    return false;
}

uint32_t Carrier::writes(const MachineInstr &MI) const
{
    uint32_t mask = 0;
    for (const MachineOperand &MO : MI.operands()) {
        if (MO.isRegMask())
            return 0xffff;
        if (!MO.isReg() || !MO.isDef() || !MO.getReg())
            continue;
        int g = T.gpr(MO.getReg().asMCReg());
        if (g >= 0)
            mask |= 1u << g;
    }
    return mask;
}

void Carrier::readBlock(unsigned m)
{
    auto &list = steps[m];
    uint32_t load = 0;
    for (const Preload &p : preloads)
        if (p.block == m)
            load |= 1u << p.to;
    const MachineInstr *out = load ? wayOut(F, m) : nullptr;
    bool loaded = load == 0;
    auto record = [&](const Segment &S) {
        if (S.sync || S.mark >= 0)
            list.push_back({Step::Lose});
        if (S.recorded)
            list.push_back({Step::Record, S.id});
    };
    for (unsigned i = 0; i < F.mbbSegments[m].second; i++) {
        const Segment &S = F.segments[F.mbbSegments[m].first + i];
        if (!S.silent)
            record(S);
        for (const MachineInstr *MI : S.MIs) {
            if (MI == out) {
                list.push_back({Step::Load, 0, load});
                loaded = true;
            }
            if (MI->isInlineAsm() || MI->isCall() || MI->isPseudo())
                list.push_back({Step::Lose});
            else if (uint32_t mask = writes(*MI))
                list.push_back({Step::Write, 0, mask});
            if (!MI->isTerminator())
                continue;
            bool said = false;
            for (const MachineOperand &MO : MI->operands())
                if (MO.isMBB()) {
                    list.push_back({Step::Leave, 0, 0, (int)F.layoutOf[MO.getMBB()]});
                    said = true;
                }
            if (!said)
                list.push_back({Step::Leave});
        }
        if (S.silent)
            record(S);
        if (S.clock >= 0)
            list.push_back({Step::Lose});
    }
    if (!loaded)
        list.push_back({Step::Load, 0, load});
    if (m + 1 < F.layout.size() && F.layout[m]->isSuccessor(F.layout[m + 1]))
        list.push_back({Step::Leave, 0, 0, (int)m + 1});
}

// Of those registers, which last from behind that step to the next record or the block's end; if none does, the last
// to be written.  goesOn: the cursor is of use there.
uint32_t Carrier::lasting(unsigned m, size_t at, uint32_t mask, bool &goesOn) const
{
    goesOn = true;
    for (at++; at < steps[m].size(); at++) {
        const Step &s = steps[m][at];
        if (s.kind == Step::Record)
            break;
        if (s.kind == Step::Lose) {
            goesOn = false;
            break;
        }
        if (s.kind != Step::Write)
            continue;
        if (!(mask & ~s.registers)) {
            goesOn = false;
            break;
        }
        mask &= ~s.registers;
    }
    return mask;
}

// Where each record leaves the cursor: in the register that serves most records of its loop, so that ways that come
// together agree.
void Carrier::choose()
{
    DenseMap<const MachineLoop *, std::array<uint64_t, 16>> votes; // of a loop, all in all; no loop: the function
    std::vector<uint32_t> last(F.segments.size());
    for (unsigned m = 0; m < F.layout.size(); m++) {
        const MachineLoop *loop = MLI.getLoopFor(F.layout[m]);
        const uint64_t weight = 1ull << 3 * std::min(MLI.getLoopDepth(F.layout[m]), 10u);
        for (size_t k = 0; k < steps[m].size(); k++) {
            if (steps[m][k].kind != Step::Record)
                continue;
            const unsigned id = steps[m][k].segment;
            bool goesOn;
            last[id] = lasting(m, k, free[id], goesOn);
            if (!goesOn)
                continue;
            for (const MachineLoop *l = loop;; l = l->getParentLoop()) {
                auto &count = votes[l];
                for (int r = 0; r < 16; r++)
                    count[r] += last[id] >> r & 1 ? weight : 0;
                if (!l)
                    break;
            }
        }
    }
    for (Segment &S : F.segments) {
        if (!S.recorded || S.after >= 0 || !free[S.id])
            continue;
        const auto &count = votes[MLI.getLoopFor(F.layout[S.mbb])];
        for (int r : preference)
            if (last[S.id] >> r & 1 && (S.after < 0 || count[r] > count[S.after]))
                S.after = r;
    }
}

// Registers that hold the cursor, through a block.  final: says of each record where it finds it.
void Carrier::walk(unsigned m, uint32_t state, bool final)
{
    for (Edge &edge : out[m])
        edge.carries = 0xffff, edge.said = false;
    for (const Step &s : steps[m])
        switch (s.kind) {
        case Step::Record: {
            Segment &S = F.segments[s.segment];
            uint32_t usable = state & free[S.id];
            if (final && S.cursor < 0)
                S.cursor = S.after >= 0 && usable >> S.after & 1 ? S.after : usable ? (int)countr_zero(usable) : NoGpr;
            state = S.after >= 0 ? 1u << S.after : 0;
            break;
        }
        case Step::Write:
            state &= ~s.registers;
            break;
        case Step::Lose:
            state = 0;
            break;
        case Step::Load:
            if (final)
                for (Preload &p : preloads)
                    if (p.block == m && state)
                        p.from = state >> p.to & 1 ? p.to : (int)countr_zero(state);
            state |= s.registers;
            break;
        case Step::Leave:
            for (Edge &edge : out[m])
                if (s.to < 0 || edge.to == (unsigned)s.to)
                    edge.carries &= state, edge.said = true;
            break;
        }
    for (Edge &edge : out[m])
        if (!edge.said) // by an exception
            edge.carries = 0;
}

std::vector<Preload> Carrier::run()
{
    SmallVector<const MachineLoop *, 16> todo(MLI.begin(), MLI.end());
    while (!todo.empty()) {
        const MachineLoop *loop = todo.pop_back_val();
        if (!keep(*loop))
            todo.append(loop->begin(), loop->end());
    }
    const unsigned n = F.layout.size();
    steps.resize(n), in.resize(n), out.resize(n), free.assign(F.segments.size(), 0);
    for (const Segment &S : F.segments) {
        uint32_t held = 0;
        for (const Slot &s : S.slots)
            if (s.top)
                held |= 1u << s.gpr;
        if (S.recorded)
            for (int r : deadRegisters(T, L.at(S), held))
                free[S.id] |= 1u << r;
        // What functions keep for their callers had better not hold the cursor when they are called: contexts that wait
        // are told apart by such registers, too.
        if (free[S.id] & ~calleeSaved)
            free[S.id] &= ~calleeSaved;
    }
    std::vector<bool> reached(n);
    for (unsigned m = 0; m < n; m++) {
        readBlock(m);
        for (MachineBasicBlock *to : F.layout[m]->successors()) {
            out[m].push_back({F.layoutOf[to], 0, false});
            reached[F.layoutOf[to]] = true;
        }
    }
    choose();
    for (unsigned m = 0; m < n; m++)
        in[m] = m != 0 && reached[m] ? 0xffff : 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned m = 0; m < n; m++) {
            walk(m, in[m], false);
            for (const Edge &edge : out[m]) {
                changed |= (in[edge.to] & ~edge.carries) != 0;
                in[edge.to] &= edge.carries;
            }
        }
    }
    for (unsigned m = 0; m < n; m++)
        walk(m, in[m], true);
    return std::move(preloads);
}

} // namespace

std::vector<Preload> placeCursors(Target &T, Function &F, const Liveness &L)
{
    return Carrier(T, F, L).run();
}

} // namespace peet
