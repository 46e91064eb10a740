// SPDX-License-Identifier: Apache-2.0
// The plan of one function while it is made: what segments.cpp, derive.cpp and solve.cpp share.  Called by: plan()
// in solve.cpp only.
//
// A register is *known* at a point if on every path to it the decoder holds its value: the value was recorded, or it
// follows from known registers by copies, constants, lea, adds, pushes and pops.  The decoder knows nothing where a
// function is entered from elsewhere: at its entry, after calls, at landing pads.
#ifndef PEET_PLANNER_H
#define PEET_PLANNER_H

#include "pass.h"

namespace peet {

constexpr int SrcEntry = 1 << 20; // source of a form: what a register that is not known held at the segment's entry
constexpr unsigned BigFunctionWords = 600, BigSegmentWords = 200;

// The references of an instruction, and whether it has others that cannot be described.
struct InsnRefs {
    llvm::SmallVector<MemRef, 2> refs;
    bool opaque = false;
};

class Planner {
  public:
    Planner(Target &T, Function &F, const Options &O) : T(T), F(F), O(O), A(T, *F.MF) {}
    bool run(llvm::MachineInstr *&culprit, std::string &why);

  private:
    friend class Walk;

    // segments.cpp
    bool readRefs(llvm::MachineInstr *&culprit, std::string &why);
    unsigned slotsOf(llvm::MachineInstr &MI);
    Segment &open(unsigned mbb, bool sync);
    void split();
    bool splitBlock(unsigned mbb, bool afterAsmGoto);
    void findTails();
    bool makeTail(unsigned mbb);
    void findChecks();
    void markHeader(unsigned mbb, unsigned from);

    // derive.cpp: a walk through one segment with the registers in kin known at its entry.  Returns the registers known
    // at its exit.
    uint32_t exitOf(Segment &S, uint32_t kin);
    uint32_t neededBy(Segment &S, uint32_t kin);
    unsigned wordsOf(Segment &S, uint32_t kin);
    void write(Segment &S);
    void searchInduction(Segment &S);

    // solve.cpp
    void findInductions();
    bool canBeInduction(unsigned mbb) const;
    void findSilent();
    void solveKnown(const llvm::BitVector *assumeOut, uint32_t extra);
    bool knownThrough(unsigned mbb, uint32_t in);
    uint32_t withStrides(const llvm::BitVector &outside, const Segment &header, uint32_t candidates, uint32_t kept);
    bool hoistFor(llvm::MachineLoop &L);
    void hoist();
    bool entrances(llvm::MachineLoop &L, llvm::BitVector &outside) const;
    uint32_t neededIn(llvm::MachineLoop &L);
    void solveNeeded();
    bool neededThrough(unsigned mbb);
    bool accept(llvm::MachineInstr *&culprit, std::string &why);
    uint32_t usedAtEntry(const Segment &S) const;
    uint32_t outOf(unsigned mbb) const;
    unsigned exitSegment(unsigned mbb) const;

    Target &T;
    Function &F;
    const Options &O;
    Accesses A;
    llvm::DenseMap<llvm::MachineInstr *, InsnRefs> refsOf;
    std::vector<llvm::SmallVector<unsigned, 4>> preds; // by layout index
};

} // namespace peet
#endif
