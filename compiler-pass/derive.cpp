// SPDX-License-Identifier: Apache-2.0
// What must be recorded, and what the decoder can follow by itself (abstract execution, after Larus'
// AE).  A register is *known* at a point if on every path to it the decoder holds its value: recorded,
// or computed from known registers by copies, constants, lea, adds, pushes and pops.  Blocks that may
// be entered from elsewhere (function entry, after calls, landing pads) know nothing.  A base register
// that is needed and not known takes a slot.  Registers that a loop needs and keeps known are recorded
// before the loop instead of in it.
#include "pass.h"

#include <peet/module.h>
#include <peet/raw.h>

#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineLoopInfo.h"

using namespace llvm;

namespace peet {

namespace {

constexpr int MaxTerms = 3;
constexpr int SrcEntry = 1 << 20; // source of a form: what a register that is not known held at the segment's entry
constexpr int Searching = -9;     // Segment::induction while simulate() looks for it
constexpr unsigned BigFunctionWords = 600, BigSegmentWords = 200;

class Planner {
  public:
    Planner(Target &T, Function &F, const Options &O) : T(T), F(F), O(O), A(T, *F.MF) {}
    bool run(MachineInstr *&culprit, std::string &why);

  private:
    void split();
    unsigned slotsOf(MachineInstr &MI);
    void findTails();
    void findChecks();
    bool readRefs(MachineInstr *&culprit, std::string &why);
    uint32_t simulate(Segment &S, uint32_t kin, bool record, uint32_t *needed, unsigned *words = nullptr);
    void findInductions();
    void findSilent();
    void solve();
    void solveKnown(const BitVector *assumeOut, uint32_t extra);
    void hoist();
    void solveNeeded();
    uint32_t usedAtEntry(const Segment &S) const;
    uint32_t outOf(unsigned mbb) const;
    unsigned exitSegment(unsigned mbb) const;

    Target &T;
    Function &F;
    const Options &O;
    Accesses A;
    DenseMap<MachineInstr *, std::pair<SmallVector<MemRef, 2>, bool>> refsOf;
    std::vector<SmallVector<unsigned, 4>> preds; // by layout index
};

bool endsSegment(Target &T, const MachineInstr &MI)
{
    return MI.isInlineAsm() || (MI.isCall() && !MI.isTerminator()) || T.TII->getName(MI.getOpcode()) == "TLS_addr64" ||
        T.TII->getName(MI.getOpcode()) == "TLS_base_addr64";
}

// The most words that an instruction's references may take: a register each, whole vectors of indices, masks.
unsigned Planner::slotsOf(MachineInstr &MI)
{
    unsigned words = 0;
    for (const MemRef &m : refsOf[&MI].first)
        words += 1 + (m.vecIndex ? m.vecIndexBytes / 8 : 0) + (m.shape == Shape::Plain ? 0 : 1);
    return words;
}

void Planner::split()
{
    F.mbbSegments.resize(F.layout.size());
    bool prevAsmGoto = false;
    for (unsigned m = 0; m < F.layout.size(); m++) {
        MachineBasicBlock *MBB = F.layout[m];
        F.mbbSegments[m].first = F.segments.size();
        auto open = [&](bool sync) -> Segment & {
            F.segments.emplace_back();
            Segment &S = F.segments.back();
            S.id = F.segments.size() - 1, S.mbb = m, S.MBB = MBB, S.sync = sync;
            return S;
        };
        bool sync = m == 0 || MBB->isEHPad() || MBB->isMachineBlockAddressTaken() ||
            MBB->isInlineAsmBrIndirectTarget() || prevAsmGoto;
        Segment *S = &open(sync);
        S->entry = m == 0;
        bool split = false, nextSync = false;
        unsigned refs = 0;
        prevAsmGoto = false;
        for (MachineInstr &MI : *MBB) {
            if (!isReal(MI))
                continue;
            if (!split && !S->MIs.empty()) {
                unsigned n = slotsOf(MI);
                if ((O.granularity == Ref && n && refs) || refs + n > BigSegmentWords / 2)
                    split = true;
                else
                    refs += n;
            }
            bool turn = A.waits(MI) || (O.granularity == Ref && A.mayBeShared(MI));
            int mark = A.mark(MI), clock = A.clock(MI);
            if ((turn || mark >= 0) && !S->MIs.empty())
                split = true;
            if (split) {
                S = &open(nextSync);
                split = nextSync = false;
                refs = slotsOf(MI);
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
                if (MI.isTerminator()) // asm goto: both ways resynchronise
                    prevAsmGoto = true;
            } else if (MI.isConditionalBranch())
                split = true;
        }
        // A call that ends its block and goes on: the return point resynchronises the decoder.
        if (split && nextSync && !MBB->succ_empty() && !prevAsmGoto)
            open(true);
        F.mbbSegments[m].second = F.segments.size() - F.mbbSegments[m].first;
    }
    for (Segment &S : F.segments)
        if (S.MIs.empty() && !S.sync)
            S.recorded = false;
}

static MachineBasicBlock *targetOf(const MachineInstr &MI)
{
    for (const MachineOperand &MO : MI.operands())
        if (MO.isMBB())
            return MO.getMBB();
    return nullptr;
}

// The last jump of a block, after a conditional one, needs no record if what comes next tells whether
// it was executed: its own destination is not that of the conditional jump before it.
void Planner::findTails()
{
    if (O.granularity != Iteration && O.granularity != Block)
        return;
    for (unsigned m = 0; m < F.layout.size(); m++) {
        unsigned first = F.mbbSegments[m].first, n = F.mbbSegments[m].second;
        if (n < 2)
            continue;
        Segment &S = F.segments[first + n - 1], &P = F.segments[first + n - 2];
        if (S.MIs.size() != 1 || S.sync || S.turn || P.MIs.empty() || !P.MIs.back()->isConditionalBranch())
            continue;
        MachineInstr *J = S.MIs[0], *C = P.MIs.back();
        MachineBasicBlock *A = targetOf(*C), *B = targetOf(*J);
        if (!A || !B || J->isIndirectBranch() || C->isIndirectBranch())
            continue;
        int ra = firstSegment(F, F.layoutOf[A]), rb = firstSegment(F, F.layoutOf[B]);
        if (ra < 0 || rb < 0 || ra == rb || ra == (int)S.id || !F.segments[ra].recorded || !F.segments[rb].recorded)
            continue;
        if (J->isConditionalBranch()) {
            int rf = m + 1 < F.layout.size() ? firstSegment(F, m + 1) : -1;
            if (rf < 0 || rf == ra || !F.segments[rf].recorded)
                continue;
        }
        S.recorded = false;
        S.tailOf = P.id;
        S.takenSegment = ra;
    }
    // A destination that became a tail itself cannot tell.
    bool changed = true;
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

// Checks: entry, sync blocks, and the targets of the back edges of a depth-first walk, so that every
// cycle holds one, reducible or not.
void Planner::findChecks()
{
    for (Segment &S : F.segments)
        S.check = S.sync || O.granularity != Iteration;
    std::vector<uint8_t> colour(F.layout.size());
    std::vector<std::pair<unsigned, MachineBasicBlock::succ_iterator>> stack;
    auto push = [&](unsigned m) {
        colour[m] = 1;
        stack.push_back({m, F.layout[m]->succ_begin()});
    };
    for (unsigned root = 0; root < F.layout.size(); root++) {
        if (colour[root])
            continue;
        push(root);
        while (!stack.empty()) {
            auto &[m, it] = stack.back();
            if (it == F.layout[m]->succ_end()) {
                colour[m] = 2;
                stack.pop_back();
                continue;
            }
            unsigned s = F.layoutOf[*it++];
            if (colour[s] == 1) {
                int seg = firstSegment(F, s);
                if (seg >= 0 && s != m)
                    F.segments[seg].outerHeader = true;
                if (seg >= 0 && F.segments[seg].recorded)
                    F.segments[seg].check = true;
                else if (seg >= 0) { // a header that is a lone tail: record it after all
                    F.segments[seg].recorded = true, F.segments[seg].tailOf = -1;
                    F.segments[seg].check = true;
                }
            } else if (colour[s] == 0)
                push(s);
        }
    }
}

bool Planner::readRefs(MachineInstr *&culprit, std::string &why)
{
    for (MachineBasicBlock *MBB : F.layout)
        for (MachineInstr &MI : *MBB) {
            if (!isReal(MI))
                continue;
            auto &slot = refsOf[&MI];
            if (!T.refs(MI, A, slot.first, slot.second, why)) {
                culprit = &MI;
                return false;
            }
            if (MI.isInlineAsm()) {
                F.asmStatements += A.asmReferences(MI);
                if (unsigned added = A.rewriteAsm(MI))
                    F.asmAdded[&MI] = added;
            }
        }
    return true;
}

} // namespace

Form add(const Form &a, const Form &b, int32_t mult, int64_t c)
{
    Form r;
    if (!a.known || !b.known)
        return r;
    r = a;
    r.c = (int64_t)((uint64_t)a.c + (uint64_t)b.c * (uint64_t)(int64_t)mult + (uint64_t)c);
    for (auto &t : b.terms) {
        int64_t m = (int64_t)t.second * mult;
        bool found = false;
        for (auto &u : r.terms)
            if (u.first == t.first) {
                m += u.second;
                u.second = m;
                found = true;
            }
        if (m > (1 << 24) || m < -(1 << 24))
            return Form();
        if (!found)
            r.terms.push_back({t.first, (int32_t)m});
    }
    llvm::erase_if(r.terms, [](const std::pair<int, int32_t> &t) { return t.second == 0; });
    if (r.terms.size() > MaxTerms)
        return Form();
    return r;
}

namespace {

// Walks one segment with the registers in kin known at its entry.  With record, fills slots, insns and
// updates (for S.uout).  Returns the registers known at its exit.  *needed: registers that had to be
// recorded although they still held their entry value.
uint32_t Planner::simulate(Segment &S, uint32_t kin, bool record, uint32_t *needed, unsigned *out_words)
{
    Form reg[16], recorded[16]; // what registers hold; what they held at the entry, if the record says that
    for (int r = 0; r < 16; r++)
        reg[r] = kin >> r & 1 ? Form::source(r) : Form::source(SrcEntry + r);
    unsigned words = 0;
    uint32_t need_mask = 0;
    // The form with entry values replaced by the words that say them; `open`: a register whose entry value is not said,
    // else NoGpr; not known: more than one such.
    auto resolve = [&](const Form &f, int &open) {
        Form out = f.known ? Form::constant(f.c) : Form();
        open = NoGpr;
        for (auto &t : f.terms) {
            const int r = t.first - SrcEntry;
            const bool said = r < 0 || recorded[r].known;
            if (!said && open >= 0)
                return Form();
            open = said ? open : r;
            out = add(out, said && r >= 0 ? recorded[r] : Form::source(t.first), t.second, 0);
        }
        return out;
    };
    auto slot = [&](int r, bool top, MachineInstr *at) {
        if (record) {
            Slot s;
            s.gpr = r, s.reg = T.gpr64[r], s.word = words, s.top = top, s.at = at;
            S.slots.push_back(s);
        }
        return Form::source(SrcSlot + words++);
    };
    // What was computed from one register's entry value is known by that: it is recorded at the top, where a register
    // is free more often, or even before the loop.
    auto need = [&](int r, MachineInstr *at) {
        int open;
        Form f = resolve(reg[r], open);
        if (f.known && open >= 0) {
            need_mask |= 1u << open;
            recorded[open] = slot(open, true, at);
            f = resolve(f, open);
        } else if (!f.known)
            f = slot(r, false, at);
        reg[r] = f;
        return f;
    };
    auto vector = [&](SlotKind kind, MCRegister R, unsigned bytes, unsigned elt, MachineInstr *at) {
        if (record) {
            Slot s;
            s.kind = kind, s.reg = R, s.bytes = bytes, s.eltBytes = elt, s.word = words, s.at = at;
            S.slots.push_back(s);
        }
        unsigned w = words;
        words += kind == SlotKind::VecIndex ? bytes / 8 : 1;
        return w;
    };

    MachineInstr *firstTerm = nullptr; // where end-of-block slots go
    for (MachineInstr *MI : S.MIs)
        if (MI->isTerminator()) {
            firstTerm = MI;
            break;
        }
    auto takeHoists = [&](MachineInstr *at) {
        for (int r = 0; r < 16; r++)
            if (S.hoist >> r & 1)
                need(r, at);
    };
    bool hoisted = false;
    for (MachineInstr *MI : S.MIs) {
        if (MI == firstTerm) {
            takeHoists(MI);
            hoisted = true;
        }
        auto &[mem, opaque] = refsOf[MI];
        InsnPlan plan;
        plan.MI = MI;
        plan.opaque = opaque;
        plan.viewed = O.domains && A.isViewed(*MI);
        plan.prefixed = plan.viewed && T.info(*MI).memOp >= 0;
        for (const MemRef &m : mem) {
            RefPlan rp;
            rp.m = m;
            Form a = Form::constant(m.disp);
            if (m.base >= 0)
                a = add(need(m.base, MI), a, 1, 0);
            if (m.index >= 0) {
                Form ix = need(m.index, MI);
                Form sum = add(a, ix, m.scale, 0);
                if (!sum.known) { // too many terms: record what is scaled, then what is added
                    reg[m.index] = Form();
                    sum = add(a, need(m.index, MI), m.scale, 0);
                    if (!sum.known) {
                        reg[m.base] = Form();
                        sum = add(add(Form::constant(m.disp), need(m.base, MI), 1, 0), reg[m.index], m.scale, 0);
                    }
                }
                a = sum;
            }
            if (m.fs)
                a = add(a, Form::source(SrcFS), 1, 0);
            if (m.shape == Shape::Range)
                rp.count = need(1, MI);
            if (m.vecIndex)
                rp.indexSlot = vector(SlotKind::VecIndex, m.vecIndex, m.vecIndexBytes, m.indexBytes, MI);
            if (m.shape == Shape::Lanes || m.shape == Shape::Conditional)
                rp.maskSlot = m.kmask ? vector(SlotKind::KMask, m.mask, 8, 0, MI)
                                      : vector(SlotKind::VecMask, m.mask, m.maskVecBytes, m.maskEltBytes, MI);
            rp.address = a;
            if (!a.known) { // four terms with the thread pointer: cannot happen with plain operands
                reg[m.base] = Form();
                rp.address = add(need(m.base, MI), Form::constant(m.disp), 1, 0);
            }
            if (record)
                plan.refs.push_back(rp);
        }
        if (record)
            S.insns.push_back(std::move(plan));

        // What the instruction does to the registers.
        const OpInfo &I = T.info(*MI);
        auto opForm = [&](unsigned i) {
            int g = T.gpr(MI->getOperand(i).getReg().asMCReg());
            return g < 0 ? Form() : reg[g];
        };
        auto opImm = [&](unsigned i) { return MI->getOperand(i).isImm(); };
        Form result;
        int dst = NoGpr;
        if (O.derive || I.implicit != Implicit::None) {
            switch (I.linear) {
            case Linear::None:
                break;
            case Linear::Copy:
                result = opForm(1);
                break;
            case Linear::Imm64:
                if (opImm(1))
                    result = Form::constant(MI->getOperand(1).getImm());
                break;
            case Linear::Imm32:
                if (opImm(1))
                    result = Form::constant((int64_t)(uint32_t)MI->getOperand(1).getImm());
                break;
            case Linear::Zero:
                if (MI->getOperand(1).getReg() == MI->getOperand(2).getReg())
                    result = Form::constant(0);
                break;
            case Linear::AddImm:
            case Linear::SubImm:
                if (opImm(2)) {
                    int64_t imm = MI->getOperand(2).getImm();
                    result = add(opForm(1), Form::constant(imm), I.linear == Linear::AddImm ? 1 : -1, 0);
                }
                break;
            case Linear::Inc:
                result = add(opForm(1), Form::constant(1), 1, 0);
                break;
            case Linear::Dec:
                result = add(opForm(1), Form::constant(-1), 1, 0);
                break;
            case Linear::AddReg:
                result = add(opForm(1), opForm(2), 1, 0);
                break;
            case Linear::SubReg:
                result = add(opForm(1), opForm(2), -1, 0);
                break;
            case Linear::Shl:
                if (opImm(2) && MI->getOperand(2).getImm() < 20)
                    result = add(Form::constant(0), opForm(1), 1 << MI->getOperand(2).getImm(), 0);
                break;
            case Linear::Lea: {
                const MachineOperand &b = MI->getOperand(1), &ix = MI->getOperand(3), &d = MI->getOperand(4);
                if (d.isImm() && !MI->getOperand(5).getReg() && b.isReg() && b.getReg() != T.rip) {
                    result = Form::constant(d.getImm());
                    if (b.getReg())
                        result = add(result, opForm(1), 1, 0);
                    if (ix.getReg())
                        result = add(result, opForm(3), MI->getOperand(2).getImm(), 0);
                }
                break;
            }
            }
            if (I.linear != Linear::None)
                dst = T.gpr(MI->getOperand(0).getReg().asMCReg());
        }
        Form rsp = reg[RSP];
        switch (I.implicit) {
        case Implicit::Push:
        case Implicit::PushMem:
            rsp = add(rsp, Form::constant(-(int)(mem.empty() ? 8 : mem.back().size)), 1, 0);
            break;
        case Implicit::Pop:
        case Implicit::PopMem:
            rsp = add(rsp, Form::constant(mem.empty() ? 8 : mem.front().size), 1, 0);
            break;
        case Implicit::Leave:
            rsp = add(reg[RBP], Form::constant(8), 1, 0);
            break;
        default:
            break;
        }
        // Everything that it writes loses its form, except as computed.
        bool rspImplicit = I.implicit != Implicit::None;
        for (const MachineOperand &MO : MI->operands()) {
            if (MO.isRegMask()) {
                for (int r = 0; r < 16; r++)
                    if (r != RSP && MO.clobbersPhysReg(T.gpr64[r]))
                        reg[r] = Form();
                continue;
            }
            if (!MO.isReg() || !MO.isDef() || !MO.getReg())
                continue;
            int g = T.gpr(MO.getReg().asMCReg());
            if (g >= 0)
                reg[g] = Form();
        }
        if (dst >= 0)
            reg[dst] = result;
        if (rspImplicit && I.implicit != Implicit::Movs && I.implicit != Implicit::Stos &&
            I.implicit != Implicit::Lods) {
            reg[RSP] = rsp;
        }
    }
    if (!hoisted)
        takeHoists(nullptr);
    if (needed)
        *needed = need_mask;
    if (out_words)
        *out_words = words;
    if (S.induction == Searching) {
        // The register that moves by a constant each time round; any will do.
        S.induction = NoGpr;
        for (int r = 0; r < 16 && S.induction < 0; r++) {
            const Form &f = reg[r];
            if (r != RSP && f.known && f.c != 0 && f.terms.size() == 1 && f.terms[0].first == r &&
                f.terms[0].second == 1)
                S.induction = r, S.step = f.c;
        }
    }
    uint32_t kout = 0;
    bool lost = !S.MIs.empty() && S.MIs.back()->isInlineAsm() && S.MIs.back()->isTerminator();
    for (int r = 0, open; r < 16; r++)
        if (O.derive && !lost && resolve(reg[r], open).known && open < 0)
            kout |= 1u << r;
    if (record) {
        if (S.silent) {
            Slot s;
            s.gpr = S.induction, s.reg = T.gpr64[S.induction], s.top = true;
            S.slots.push_back(s);
            words++;
        }
        S.slotWords = words;
        S.updates.clear();
        for (int r = 0; r < 16; r++)
            if (int open; S.uout >> r & 1 && kout >> r & 1 && !reg[r].isSource(r))
                S.updates.push_back({r, resolve(reg[r], open)});
    }
    return kout;
}

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

// The segment that holds the first terminator: every way out of the block passes through it.
unsigned Planner::exitSegment(unsigned mbb) const
{
    unsigned first = F.mbbSegments[mbb].first, n = F.mbbSegments[mbb].second;
    for (unsigned i = first; i < first + n; i++)
        for (MachineInstr *MI : F.segments[i].MIs)
            if (MI->isTerminator())
                return i;
    return first + n - 1;
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
            uint32_t in = 0xffff;
            for (unsigned p : preds[m]) {
                uint32_t out = outOf(p);
                if (assumeOut && assumeOut->test(p))
                    out |= extra;
                in &= out;
            }
            if (preds[m].empty())
                in = 0;
            for (unsigned i = 0; i < F.mbbSegments[m].second; i++) {
                Segment &S = F.segments[F.mbbSegments[m].first + i];
                if (S.sync)
                    in = 0;
                S.kin = in;
                uint32_t out = simulate(S, in, false, nullptr);
                if (out != S.kout) {
                    S.kout = out;
                    changed = true;
                }
                in = out;
            }
        }
    }
}

// For each loop, outermost first: registers that it needs, and would keep known if they were known at
// its header, are recorded at the end of every block from which it is entered.
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
    for (MachineLoop *L : loops) {
        unsigned h = F.layoutOf[L->getHeader()];
        if (F.segments[F.mbbSegments[h].first].sync)
            continue;
        BitVector outside(F.layout.size());
        bool possible = true;
        for (unsigned p : preds[h])
            if (!L->contains(F.layout[p])) {
                outside.set(p);
                Segment *at = &F.segments[exitSegment(p)];
                if (!at->recorded || (!at->MIs.empty() && at->MIs.back()->isInlineAsm()))
                    possible = false;
            }
        if (!possible || outside.none())
            continue;
        // Needed in the loop as things stand.
        uint32_t needed = 0;
        for (MachineBasicBlock *MBB : L->blocks()) {
            unsigned m = F.layoutOf[MBB];
            for (unsigned i = 0; i < F.mbbSegments[m].second; i++) {
                Segment &S = F.segments[F.mbbSegments[m].first + i];
                uint32_t n = 0;
                simulate(S, S.kin, false, &n);
                if (!S.sync)
                    needed |= n;
                if (S.induction >= 0)
                    needed |= 1u << S.induction & ~S.kin;
            }
        }
        if (!needed)
            continue;
        solveKnown(&outside, 0xffff);
        uint32_t candidates = needed & F.segments[F.mbbSegments[h].first].kin;
        if (candidates)
            for (unsigned p : outside.set_bits()) {
                F.segments[exitSegment(p)].hoist |= candidates;
            }
        solveKnown(nullptr, 0);
    }
}

// Loops of one block that end in their own conditional jump, with the register that counts their turns.
void Planner::findInductions()
{
    if (O.granularity != Iteration)
        return;
    for (unsigned m = 0; m < F.layout.size(); m++) {
        Segment &S = F.segments[F.mbbSegments[m].first];
        if (!F.layout[m]->isSuccessor(F.layout[m]) || S.sync || !S.recorded || S.outerHeader || S.MIs.empty() ||
            S.turn || S.mark >= 0 || S.clock >= 0)
            continue;
        MachineInstr *J = S.MIs.back();
        unsigned terminators = 0;
        for (MachineInstr *MI : S.MIs)
            terminators += MI->isTerminator();
        if (terminators != 1 || !J->isConditionalBranch() || J->isIndirectBranch() || targetOf(*J) != F.layout[m])
            continue;
        // What follows the jump in the block may only be the lone jump out.
        unsigned n = F.mbbSegments[m].second;
        if (n > 2 || (n == 2 && F.segments[S.id + 1].MIs.size() != 1))
            continue;
        if (n == 2 &&
            (targetOf(*F.segments[S.id + 1].MIs[0]) == F.layout[m] ||
                F.segments[S.id + 1].MIs[0]->isConditionalBranch()))
            continue;
        S.induction = Searching;
        simulate(S, 0xffff, false, nullptr);
    }
}

void Planner::findSilent()
{
    for (Segment &S : F.segments) {
        unsigned words = 1;
        if (S.induction < 0 || !(S.kin >> S.induction & 1) || S.hoist)
            continue;
        simulate(S, S.kin, false, nullptr, &words);
        if (words == 0)
            S.silent = true, S.check = false;
    }
}

void Planner::solveNeeded()
{
    for (Segment &S : F.segments)
        S.uin = S.uout = 0;
    bool changed = true;
    while (changed) {
        changed = false;
        for (unsigned m = F.layout.size(); m-- > 0;) {
            uint32_t out = 0, leaving;
            for (MachineBasicBlock *succ : F.layout[m]->successors()) {
                Segment &S = F.segments[F.mbbSegments[F.layoutOf[succ]].first];
                out |= S.sync ? 0 : S.uin;
            }
            leaving = out;
            for (unsigned i = F.mbbSegments[m].second; i-- > 0;) {
                Segment &S = F.segments[F.mbbSegments[m].first + i];
                if (S.id >= exitSegment(m))
                    out |= leaving;
                S.uout = out;
                S.slots.clear(), S.insns.clear(), S.updates.clear();
                simulate(S, S.kin, true, nullptr);
                uint32_t in = usedAtEntry(S);
                if (in != S.uin) {
                    S.uin = in;
                    changed = true;
                }
                out = S.sync ? 0 : in;
            }
        }
    }
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
            if (I.opaque)
                S.opaque = true;
    }
    return true;
}

} // namespace

bool plan(Target &T, Function &F, const Options &O, MachineInstr *&culprit, std::string &why)
{
    return Planner(T, F, O).run(culprit, why);
}

} // namespace peet
