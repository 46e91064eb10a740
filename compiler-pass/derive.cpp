// SPDX-License-Identifier: Apache-2.0
// What one segment must record, and what the decoder can follow by itself (abstract execution: Larus, Software:
// Practice and Experience 20(12), 1990).  A walk through the segment keeps the form of each register.  A base register
// that a reference needs and the decoder does not know takes a slot.  Called by: solve.cpp.
#include "planner.h"

#include <peet/module.h>

using namespace llvm;

namespace peet {

constexpr int MaxTerms = 3;

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

// A walk through one segment with the registers in kin known at its entry.  With `record` it writes the segment's
// slots, instructions and updates, the latter for the registers in S.uout.
class Walk {
  public:
    Walk(Planner &P, Segment &S, uint32_t kin, bool record);
    void run();
    uint32_t known() const; // registers known at the segment's exit
    void induction();       // the register that moves by a constant in each iteration
    void write();           // what holds for the segment as a whole

    uint32_t needed = 0; // registers that had to be recorded although they still held their entry value
    unsigned words = 0;  // in all slots

  private:
    Form resolve(const Form &f, int &open) const;
    Form slot(int r, bool top, MachineInstr *at);
    Form need(int r, MachineInstr *at);
    unsigned vectorSlot(SlotKind kind, MCRegister R, unsigned bytes, unsigned elt, MachineInstr *at);
    void needHoisted(MachineInstr *at);
    Form address(const MemRef &m, MachineInstr *MI);
    RefPlan reference(const MemRef &m, MachineInstr *MI);
    void describe(MachineInstr *MI);
    Form operand(const MachineInstr &MI, unsigned i) const;
    Form result(const MachineInstr &MI, Linear linear) const;
    Form lea(const MachineInstr &MI) const;
    Form stackPointer(Implicit implicit, ArrayRef<MemRef> refs) const;
    void execute(MachineInstr &MI);
    void clobber(const MachineInstr &MI);

    Planner &P;
    Target &T;
    Segment &S;
    const bool record;
    Form reg[16], recorded[16]; // what registers hold; what they held at the entry, if the record says that
};

Walk::Walk(Planner &P, Segment &S, uint32_t kin, bool record) : P(P), T(P.T), S(S), record(record)
{
    for (int r = 0; r < 16; r++)
        reg[r] = kin >> r & 1 ? Form::source(r) : Form::source(SrcEntry + r);
}

// The form with entry values replaced by the words that say them.  `open`: the register whose entry value no word says,
// or NoGpr.  If there is more than one such register, the form is not known.
Form Walk::resolve(const Form &f, int &open) const
{
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
}

Form Walk::slot(int r, bool top, MachineInstr *at)
{
    if (record) {
        Slot s;
        s.gpr = r, s.reg = T.gpr64[r], s.word = words, s.top = top, s.at = at;
        S.slots.push_back(s);
    }
    return Form::source(SrcSlot + words++);
}

// The form of a register that a reference needs.  If the register was computed from one register's entry value, then
// that value is recorded, at the top: a register is free there more often, and it may even be recorded before the loop.
Form Walk::need(int r, MachineInstr *at)
{
    int open;
    Form f = resolve(reg[r], open);
    if (f.known && open >= 0) {
        needed |= 1u << open;
        recorded[open] = slot(open, true, at);
        f = resolve(f, open);
    } else if (!f.known)
        f = slot(r, false, at);
    reg[r] = f;
    return f;
}

unsigned Walk::vectorSlot(SlotKind kind, MCRegister R, unsigned bytes, unsigned elt, MachineInstr *at)
{
    if (record) {
        Slot s;
        s.kind = kind, s.reg = R, s.bytes = bytes, s.eltBytes = elt, s.word = words, s.at = at;
        S.slots.push_back(s);
    }
    unsigned first = words;
    words += kind == SlotKind::VecIndex ? bytes / 8 : 1;
    return first;
}

void Walk::needHoisted(MachineInstr *at)
{
    for (int r = 0; r < 16; r++)
        if (S.hoist >> r & 1)
            need(r, at);
}

Form Walk::address(const MemRef &m, MachineInstr *MI)
{
    Form a = Form::constant(m.disp);
    if (m.base >= 0)
        a = add(need(m.base, MI), a, 1, 0);
    if (m.index >= 0) {
        Form index = need(m.index, MI);
        Form sum = add(a, index, m.scale, 0);
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
    return a;
}

RefPlan Walk::reference(const MemRef &m, MachineInstr *MI)
{
    RefPlan R;
    R.m = m;
    R.address = address(m, MI);
    if (m.shape == Shape::Range)
        R.count = need(1, MI);
    if (m.vecIndex)
        R.indexSlot = vectorSlot(SlotKind::VecIndex, m.vecIndex, m.vecIndexBytes, m.indexBytes, MI);
    if (m.shape == Shape::Lanes || m.shape == Shape::Conditional)
        R.maskSlot = m.kmask ? vectorSlot(SlotKind::KMask, m.mask, 8, 0, MI)
                             : vectorSlot(SlotKind::VecMask, m.mask, m.maskVecBytes, m.maskEltBytes, MI);
    if (!R.address.known) { // four terms with the thread pointer: cannot happen with plain operands
        reg[m.base] = Form();
        R.address = add(need(m.base, MI), Form::constant(m.disp), 1, 0);
    }
    return R;
}

// The instruction with its references, whose registers take slots where the decoder does not know them.
void Walk::describe(MachineInstr *MI)
{
    const InsnRefs &of = P.refsOf[MI];
    InsnPlan plan;
    plan.MI = MI;
    plan.opaque = of.opaque;
    plan.viewed = P.O.domains && P.A.isViewed(*MI);
    plan.prefixed = plan.viewed && T.info(*MI).memOp >= 0;
    for (const MemRef &m : of.refs)
        plan.refs.push_back(reference(m, MI));
    if (record)
        S.insns.push_back(std::move(plan));
}

Form Walk::operand(const MachineInstr &MI, unsigned i) const
{
    int g = T.gpr(MI.getOperand(i).getReg().asMCReg());
    return g < 0 ? Form() : reg[g];
}

Form Walk::lea(const MachineInstr &MI) const
{
    const MachineOperand &base = MI.getOperand(1), &index = MI.getOperand(3), &disp = MI.getOperand(4);
    if (!disp.isImm() || MI.getOperand(5).getReg() || !base.isReg() || base.getReg() == T.rip)
        return Form();
    Form sum = Form::constant(disp.getImm());
    if (base.getReg())
        sum = add(sum, operand(MI, 1), 1, 0);
    if (index.getReg())
        sum = add(sum, operand(MI, 3), MI.getOperand(2).getImm(), 0);
    return sum;
}

// What the instruction leaves in its first operand; not known: the decoder cannot follow it.
Form Walk::result(const MachineInstr &MI, Linear linear) const
{
    auto isImm = [&](unsigned i) { return MI.getOperand(i).isImm(); };
    auto imm = [&](unsigned i) { return MI.getOperand(i).getImm(); };
    switch (linear) {
    case Linear::None:
        return Form();
    case Linear::Copy:
        return operand(MI, 1);
    case Linear::Imm64:
        return isImm(1) ? Form::constant(imm(1)) : Form();
    case Linear::Imm32:
        return isImm(1) ? Form::constant((int64_t)(uint32_t)imm(1)) : Form();
    case Linear::Zero:
        return MI.getOperand(1).getReg() == MI.getOperand(2).getReg() ? Form::constant(0) : Form();
    case Linear::AddImm:
        return isImm(2) ? add(operand(MI, 1), Form::constant(imm(2)), 1, 0) : Form();
    case Linear::SubImm:
        return isImm(2) ? add(operand(MI, 1), Form::constant(imm(2)), -1, 0) : Form();
    case Linear::Inc:
        return add(operand(MI, 1), Form::constant(1), 1, 0);
    case Linear::Dec:
        return add(operand(MI, 1), Form::constant(-1), 1, 0);
    case Linear::AddReg:
        return add(operand(MI, 1), operand(MI, 2), 1, 0);
    case Linear::SubReg:
        return add(operand(MI, 1), operand(MI, 2), -1, 0);
    case Linear::Shl:
        return isImm(2) && imm(2) < 20 ? add(Form::constant(0), operand(MI, 1), 1 << imm(2), 0) : Form();
    case Linear::Lea:
        return lea(MI);
    }
    return Form();
}

// The stack pointer after the instruction's implicit push or pop.
Form Walk::stackPointer(Implicit implicit, ArrayRef<MemRef> refs) const
{
    switch (implicit) {
    case Implicit::Push:
    case Implicit::PushMem:
        return add(reg[RSP], Form::constant(-(int)(refs.empty() ? 8 : refs.back().size)), 1, 0);
    case Implicit::Pop:
    case Implicit::PopMem:
        return add(reg[RSP], Form::constant(refs.empty() ? 8 : refs.front().size), 1, 0);
    case Implicit::Leave:
        return add(reg[RBP], Form::constant(8), 1, 0);
    default:
        return reg[RSP];
    }
}

// Every register that the instruction writes loses its form.
void Walk::clobber(const MachineInstr &MI)
{
    for (const MachineOperand &MO : MI.operands()) {
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
}

// What the instruction does to the registers.
void Walk::execute(MachineInstr &MI)
{
    const OpInfo &I = T.info(MI);
    const bool follow = (P.O.derive || I.implicit != Implicit::None) && I.linear != Linear::None;
    const int dst = follow ? T.gpr(MI.getOperand(0).getReg().asMCReg()) : NoGpr;
    const Form value = follow ? result(MI, I.linear) : Form(), rsp = stackPointer(I.implicit, P.refsOf[&MI].refs);
    clobber(MI);
    if (dst >= 0)
        reg[dst] = value;
    if (I.implicit != Implicit::None && I.implicit != Implicit::Movs && I.implicit != Implicit::Stos &&
        I.implicit != Implicit::Lods)
        reg[RSP] = rsp;
}

void Walk::run()
{
    bool hoisted = false;
    for (MachineInstr *MI : S.MIs) {
        if (!hoisted && MI->isTerminator()) { // words at the block's end are written before its first jump
            needHoisted(MI);
            hoisted = true;
        }
        describe(MI);
        execute(*MI);
    }
    if (!hoisted)
        needHoisted(nullptr);
}

uint32_t Walk::known() const
{
    if (!P.O.derive || (!S.MIs.empty() && S.MIs.back()->isInlineAsm() && S.MIs.back()->isTerminator()))
        return 0;
    uint32_t kout = 0;
    for (int r = 0, open; r < 16; r++)
        if (resolve(reg[r], open).known && open < 0)
            kout |= 1u << r;
    return kout;
}

// Any such register will do.
void Walk::induction()
{
    S.induction = NoGpr;
    for (int r = 0; r < 16 && S.induction < 0; r++) {
        const Form &f = reg[r];
        if (r != RSP && f.known && f.c != 0 && f.terms.size() == 1 && f.terms[0].first == r && f.terms[0].second == 1)
            S.induction = r, S.step = f.c;
    }
}

void Walk::write()
{
    if (S.silent) {
        Slot s;
        s.gpr = S.induction, s.reg = T.gpr64[S.induction], s.top = true;
        S.slots.push_back(s);
        words++;
    }
    S.slotWords = words;
    S.updates.clear();
    const uint32_t kout = known();
    for (int r = 0; r < 16; r++)
        if (int open; S.uout >> r & 1 && kout >> r & 1 && !reg[r].isSource(r))
            S.updates.push_back({r, resolve(reg[r], open)});
}

uint32_t Planner::exitOf(Segment &S, uint32_t kin)
{
    Walk walk(*this, S, kin, false);
    walk.run();
    return walk.known();
}

uint32_t Planner::neededBy(Segment &S, uint32_t kin)
{
    Walk walk(*this, S, kin, false);
    walk.run();
    return walk.needed;
}

unsigned Planner::wordsOf(Segment &S, uint32_t kin)
{
    Walk walk(*this, S, kin, false);
    walk.run();
    return walk.words;
}

void Planner::write(Segment &S)
{
    S.slots.clear(), S.insns.clear(), S.updates.clear();
    Walk walk(*this, S, S.kin, true);
    walk.run();
    walk.write();
}

void Planner::searchInduction(Segment &S)
{
    Walk walk(*this, S, 0xffff, false);
    walk.run();
    walk.induction();
}

} // namespace peet
