// SPDX-License-Identifier: Apache-2.0
// Writes the table of instruction costs (schema/costs_format.h) of every processor that LLVM has a scheduling model
// of, when peet is built: clang loads the plugin with PEET_PASS_OPTIONS=costs=FILE.  Costs are those of llvm-mca: its
// library turns scheduling classes into uses of resources.  Called by: pass.cpp.
#include "variants.h"

#include "bytes.h"
#include "costtable.h"
#include "program/costs_format.h"

#include "llvm/ADT/APInt.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/MC/MCInstrDesc.h"
#include "llvm/MC/MCSchedule.h"
#include "llvm/MCA/CustomBehaviour.h"
#include "llvm/MCA/InstrBuilder.h"
#include "llvm/MCA/Support.h"
#include "llvm/Support/Error.h"
#include <algorithm>
#include <cmath>
#include <fcntl.h>
#include <map>
#include <unistd.h>

using namespace llvm;

namespace peet {

namespace {

// llvm-mca does not know what a call costs beyond the call itself; told by this, we put the model's own latency.
enum { NoLatency = 9999 };

class Table {
  public:
    Table(Processors &P, const Processors::Model &m)
        : P(P), STI(*m.subtarget), SM(STI.getSchedModel()), model(m), instruments(STI, *P.instructions, false),
          builder(STI, *P.instructions, *P.registers, P.analysis.get(), instruments, NoLatency),
          masks(SM.getNumProcResourceKinds())
    {
        mca::computeProcResourceMasks(SM, masks);
    }
    std::string write(const std::vector<unsigned> &opcodes);

  private:
    unsigned resource(uint64_t mask) const
    {
        return std::find(masks.begin(), masks.end(), mask) - masks.begin();
    }
    // A buffer's bit is the highest of its resource's mask, which is the resource's own.
    unsigned buffered(uint64_t bit) const
    {
        return std::find_if(masks.begin(), masks.end(), [&](uint64_t m) { return m && bit_floor(m) == bit; }) -
            masks.begin();
    }
    void processor(Bytes &B) const;
    std::string cost(const MCInst &I);
    unsigned index(const MCInst &I);

    Processors &P;
    const MCSubtargetInfo &STI;
    const MCSchedModel &SM;
    const Processors::Model &model;
    mca::InstrumentManager instruments;
    mca::InstrBuilder builder;
    SmallVector<uint64_t, 64> masks;
    std::map<std::string, unsigned> known;
    std::vector<std::string> costs;
};

// Resource 0 of LLVM's models is no resource: ours begin with its number 1.
void Table::processor(Bytes &B) const
{
    const MCExtraProcessorInfo *X = SM.hasExtraProcessorInfo() ? &SM.getExtraProcessorInfo() : nullptr;
    unsigned moves = 0, window = SM.MicroOpBufferSize;
    for (unsigned i = 1; X && i < X->NumRegisterFiles; i++)
        moves = std::max<unsigned>(moves, X->RegisterFiles[i].MaxMovesEliminatedPerCycle);
    if (X && X->ReorderBufferSize)
        window = X->ReorderBufferSize;
    auto queue = [&](unsigned id) { return id ? std::max(SM.getProcResource(id)->BufferSize, 0) : 0; };
    B.u(SM.IssueWidth);
    B.u(SM.isOutOfOrder() ? window : 0);
    B.u(SM.LoadLatency);
    B.u(SM.MispredictPenalty);
    B.u(X ? X->MaxRetirePerCycle : 0);
    B.u(X ? queue(X->LoadQueueID) : 0);
    B.u(X ? queue(X->StoreQueueID) : 0);
    B.u(moves);
    B.u(!SM.isOutOfOrder());
    B.u(SM.getNumProcResourceKinds() - 1);
    for (unsigned r = 1; r < SM.getNumProcResourceKinds(); r++) {
        const MCProcResourceDesc *D = SM.getProcResource(r);
        B.str(D->Name);
        B.u(D->NumUnits);
        B.i(D->BufferSize);
        B.u(D->SubUnitsIdxBegin ? D->NumUnits : 0);
        for (unsigned i = 0; D->SubUnitsIdxBegin && i < D->NumUnits; i++)
            B.u(D->SubUnitsIdxBegin[i] - 1);
    }
}

std::string Table::cost(const MCInst &I)
{
    const MCInstrDesc &D = P.instructions->get(I.getOpcode());
    unsigned sched = P.schedClass(model, I);
    if (!sched)
        return "";
    const MCSchedClassDesc &C = *SM.getSchedClassDesc(sched);
    Expected<std::unique_ptr<mca::Instruction>> made = builder.createInstruction(I, {});
    if (!made) {
        consumeError(made.takeError());
        return "";
    }
    const mca::Instruction &M = **made;
    const mca::InstrDesc &ID = M.getDesc();
    int latency = MCSchedModel::computeInstrLatency(STI, C);
    if (latency < 0)
        latency = 0;
    APInt mask;
    unsigned cpu = SM.getProcessorID();
    Bytes B;
    B.u(M.getNumMicroOps());
    B.u(latency);
    B.u((P.analysis->isZeroIdiom(I, mask, cpu) || P.analysis->isDependencyBreaking(I, mask, cpu) ? PEET_COSTS_ZERO_IDIOM
                                                                                                 : 0) |
        (M.isOptimizableMove() ? PEET_COSTS_ELIMINATED : 0) | (M.getBeginGroup() ? PEET_COSTS_BEGINS_GROUP : 0) |
        (M.getEndGroup() ? PEET_COSTS_ENDS_GROUP : 0));
    B.u(std::lround(MCSchedModel::getReciprocalThroughput(STI, C) * 1000));
    B.u(ID.Resources.size());
    for (auto &[bit, use] : ID.Resources) {
        B.u(resource(bit) - 1);
        B.u(use.CS.begin());
        B.u(use.CS.end() - use.CS.begin());
        B.u(use.NumUnits << 1 | use.isReserved());
    }
    B.u(popcount(ID.UsedBuffers));
    for (uint64_t left = ID.UsedBuffers; left; left &= left - 1)
        B.u(buffered(left & -left) - 1);

    // Writes and reads of data in the order of emit.cpp's registers().
    std::vector<unsigned> writes;
    for (const mca::WriteDescriptor &W : ID.Writes)
        if (!W.isImplicitWrite() || !ignoredRegister(P.registers->getName(W.RegisterID)))
            writes.push_back(W.Latency == NoLatency ? latency : W.Latency);
    while (!writes.empty() && writes.back() == (unsigned)latency)
        writes.pop_back();
    B.u(writes.size());
    for (unsigned w : writes)
        B.u(w);
    std::vector<int> advances;
    bool data = P.computesAddress(D);
    for (const mca::ReadDescriptor &R : ID.Reads) {
        if (R.isImplicitRead()) {
            StringRef n = P.registers->getName(R.RegisterID);
            if (ignoredRegister(n) || implicitAddress(D, n))
                continue;
        } else if (D.operands()[R.OpIndex].OperandType == MCOI::OPERAND_MEMORY && !data)
            continue;
        advances.push_back(STI.getReadAdvanceCycles(&C, R.UseIndex, 0));
    }
    while (!advances.empty() && !advances.back())
        advances.pop_back();
    B.u(advances.size());
    for (int a : advances)
        B.i(a);
    return B.s;
}

// The number of an instruction's cost, from 1; 0: it has none.
unsigned Table::index(const MCInst &I)
{
    std::string c = cost(I);
    if (c.empty())
        return 0;
    auto [at, fresh] = known.try_emplace(c, costs.size() + 1);
    if (fresh)
        costs.push_back(c);
    return at->second;
}

std::string Table::write(const std::vector<unsigned> &opcodes)
{
    Bytes own, varied, B;
    unsigned nvaried = 0;
    for (unsigned at = 0; at < opcodes.size(); at++) {
        std::vector<unsigned> variants = P.all(opcodes[at]);
        unsigned first = index(P.sample(opcodes[at], variants[0])), n = 0;
        Bytes list;
        own.u(first);
        for (unsigned i = 1; i < variants.size(); i++) {
            MCInst I = P.sample(opcodes[at], variants[i]);
            if (P.prefixedForm(opcodes[at]) != opcodes[at] && !STI.checkFeatures("+bmi"))
                continue; // the prefix is ignored
            unsigned c = index(I);
            if (c == first)
                continue;
            list.u(variants[i]);
            list.u(c);
            n++;
        }
        if (!n)
            continue;
        varied.u(at);
        varied.u(n);
        varied.s += list.s;
        nvaried++;
    }
    processor(B);
    B.u(costs.size());
    for (const std::string &c : costs)
        B.s += c;
    B.s += own.s;
    B.u(nvaried);
    return B.s + varied.s;
}

bool save(const char *path, const std::string &text, std::string &why)
{
    std::string part = std::string(path) + ".part";
    int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t at = 0;
    while (fd >= 0 && at < text.size()) {
        ssize_t n = ::write(fd, text.data() + at, text.size() - at);
        if (n < 0)
            break;
        at += n;
    }
    if (fd < 0 || at < text.size() || close(fd) || rename(part.c_str(), path)) {
        why = part + ": " + strerror(errno);
        return false;
    }
    return true;
}

} // namespace

bool writeCosts(const char *path, std::string &why)
{
    Processors *P = Processors::get(why);
    if (!P)
        return false;
    std::vector<unsigned> opcodes;
    for (unsigned o = TargetOpcode::GENERIC_OP_END + 1; o < P->instructions->getNumOpcodes(); o++)
        if (P->instructions->get(o).getSchedClass())
            opcodes.push_back(o);
    auto name = [&](unsigned o) { return P->instructions->getName(o); };
    std::sort(opcodes.begin(), opcodes.end(), [&](unsigned a, unsigned b) { return name(a) < name(b); });

    // llvm-mca's library warns of the first call and the first return that it meets: we know.
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC), loud = fcntl(2, F_DUPFD_CLOEXEC, 3);
    if (quiet >= 0 && loud >= 0)
        dup2(quiet, 2);
    Bytes B;
    B.str(LLVM_VERSION_STRING);
    B.u(opcodes.size());
    StringRef last;
    for (unsigned o : opcodes) {
        size_t shared = 0;
        while (shared < last.size() && shared < name(o).size() && last[shared] == name(o)[shared])
            shared++;
        last = name(o);
        B.u(shared);
        B.str(last.substr(shared));
    }
    B.u(P->models.size());
    B.u(P->names.size());
    for (auto &[cpu, m] : P->names) {
        B.str(cpu);
        B.u(m);
    }
    for (const Processors::Model &m : P->models) {
        std::string table = Table(*P, m).write(opcodes);
        B.u(table.size());
        B.s += table;
    }
    if (quiet >= 0 && loud >= 0)
        dup2(loud, 2);
    close(quiet);
    close(loud);

    std::string text = PEET_COSTS_MAGIC;
    for (uint32_t v : {(uint32_t)PEET_COSTS_VERSION, (uint32_t)B.s.size()})
        for (unsigned i = 0; i < 4; i++)
            text.push_back(v >> 8 * i);
    return save(path, text + B.s, why);
}

} // namespace peet
