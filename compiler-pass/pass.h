// SPDX-License-Identifier: Apache-2.0
// What the parts of the recording pass share: the target's names resolved once per function, the
// description of memory references, and the plan of a function (its blocks, slots and forms).  Called
// by: pass.cpp only.  operands.cpp says what an instruction references, accesses.cpp what waits for its turn,
// segments.cpp, derive.cpp and solve.cpp (planner.h) decide what must be recorded, cursor.cpp where the cursor is, insert.cpp writes the recording code,
// emit.cpp the schema.
#ifndef PEET_PASS_H
#define PEET_PASS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/LiveRegUnits.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSchedule.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCSymbol.h"
#include "llvm/Target/TargetMachine.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace peet {

enum Granularity { Iteration = 0, Block = 1, Ref = 2 };

struct Options {
    std::string costs; // file to write the table of costs to; empty: none
    Granularity granularity = Iteration;
    bool derive = true;
    bool domains = false; // views of memory: domains.cpp
    static Options get(); // from the environment that peetcc sets
};

// Register numbers of forms: 0..15 the GPRs by encoding.  16: thread pointer.  Slots from 32.
enum { RSP = 4, RBP = 5, SrcFS = 16, SrcSlot = 32, NoGpr = -1, RipGpr = -2 };

// How an instruction changes a GPR, as far as the decoder can follow.
enum class Linear : uint8_t { None, Copy, Imm64, Imm32, Zero, AddImm, SubImm, Inc, Dec, AddReg, SubReg, Lea, Shl };

// References that no memory operand spells out.
enum class Implicit : uint8_t { None, Push, Pop, PushMem, PopMem, Call, CallMem, Ret, Leave, JmpMem, Movs, Stos, Lods };

enum class Shape : uint8_t { Plain, Range, Conditional, Lanes };

// One reference of an instruction, before any decision about recording.
struct MemRef {
    uint8_t kind = 0; // enum peet_ref_kind
    uint16_t size = 0, flags = 0;
    uint8_t order = 0; // enum peet_order
    int base = NoGpr, index = NoGpr;
    unsigned scale = 1;
    int64_t disp = 0;
    bool symbolic = false, rip = false, fs = false;
    Shape shape = Shape::Plain;
    // Lanes and Conditional
    llvm::MCRegister vecIndex, mask;
    unsigned lanes = 0, indexBytes = 0;
    bool kmask = false; // mask is k1..k7, else the sign bits of a vector
    unsigned vecIndexBytes = 0, maskVecBytes = 0, maskEltBytes = 0;
};

struct OpInfo {
    bool done = false;
    std::string name, mnemonic;
    uint8_t klass = 0;
    Linear linear = Linear::None;
    Implicit implicit = Implicit::None;
    uint8_t eltBytes = 0; // string operations
    bool rep = false, prefetch = false, noref = false, opaque = false;
    int memOp = -1;
    int memSize = -1; // -1 not asked yet, 0 unknown
    bool gather = false, scatter = false, vmask = false;
    unsigned indexBytes = 0, laneBytes = 0;
};

class Accesses;

// The target seen by names: built once per function, opcode facts cached per module.
class Target {
  public:
    Target(llvm::MachineFunction &MF);
    const OpInfo &info(const llvm::MachineInstr &MI);
    // The references of MI in program order; false and a reason if it cannot be handled.
    bool refs(const llvm::MachineInstr &MI, const Accesses &A, llvm::SmallVectorImpl<MemRef> &out, bool &opaque,
        std::string &why);
    int gpr(llvm::MCRegister R) const
    {
        auto I = gprOf.find(R);
        return I == gprOf.end() ? NoGpr : I->second.first;
    }
    int gprBits(llvm::MCRegister R) const
    {
        auto I = gprOf.find(R);
        return I == gprOf.end() ? 0 : I->second.second;
    }
    int peetReg(llvm::MCRegister R) const; // enum peet_reg
    unsigned opcode(const char *name) const;
    llvm::MCRegister reg(llvm::StringRef name) const;
    unsigned vectorBytes(llvm::MCRegister R) const; // 16, 32, 64 by the register's name
    bool isExtVector(llvm::MCRegister R) const;     // xmm16 and up, or zmm: needs EVEX

    llvm::MachineFunction &MF;
    const llvm::TargetInstrInfo *TII;
    const llvm::TargetRegisterInfo *TRI;
    llvm::MCRegister gpr64[16], gpr32[16], gpr8[16], rip, eflags, fpsw, noreg, fs;
    llvm::SmallVector<llvm::MCRegister, 40> vectors; // zmm0..31, then mask registers
    bool avx = false, avx512bw = false;

  private:
    void describe(unsigned Opcode, OpInfo &I);
    void findRegisters();
    void findVectors(const llvm::StringMap<unsigned> &regs);
    unsigned memSize(const llvm::MachineInstr &MI, OpInfo &I);
    friend class References;
    llvm::DenseMap<unsigned, std::pair<int, int>> gprOf;
    llvm::DenseMap<unsigned, uint8_t> peetRegOf;
};

// What must happen in simulated-time order, asked once per function.
class Accesses {
  public:
    Accesses(Target &T, llvm::MachineFunction &MF);
    // Must MI wait for its turn?
    bool waits(const llvm::MachineInstr &MI);
    // With domains: may it reference memory of which there are several views?  (domains.cpp)
    bool isViewed(const llvm::MachineInstr &MI);
    // May others refer to it: what goes to a view, and local variables whose address is given away?  (domains.cpp)
    bool mayBeShared(const llvm::MachineInstr &MI);
    // enum peet_hook_clock, or -1: it reads no clock
    int clock(const llvm::MachineInstr &MI) const;
    // enum peet_hook_mark of a call, or -1: it is no marker
    int mark(const llvm::MachineInstr &MI) const;
    // The order of an access.  The quick instruction selection of -O0 folds atomic loads into other instructions
    // and forgets that they were; what the address was loaded with in the IR still tells.  Unordered: either.
    llvm::AtomicOrdering order(const llvm::MachineInstr &MI, const llvm::MachineMemOperand &MMO) const;
    // Does it refer to memory that others may know of?
    bool looks(const llvm::MachineInstr &MI);
    bool isPause(const llvm::MachineInstr &MI) const;
    // Can inline assembly refer to memory?
    bool asmReferences(const llvm::MachineInstr &MI) const;
    // Is an assembly statement more than its instructions: a directive, a clock, a marker, a system call?
    bool asmIsSpecial(llvm::StringRef text) const; // its operands are in it
    // Puts hooks behind clocks and markers in assembly text.  Returns the bytes that it added.
    unsigned rewriteAsm(llvm::MachineInstr &MI);

  private:
    bool isPrivateStack(const llvm::MachineMemOperand &MMO);
    bool refersBeyondStack(const llvm::MachineInstr &MI);
    bool isSharedStack(const llvm::MachineMemOperand &MMO);
    bool isSettled(const llvm::MachineMemOperand &MMO);
    bool asmWaits(const llvm::MachineInstr &MI) const;
    Target &T;
    llvm::MachineFunction &MF;
    bool ordered = false; // the function had such accesses when it was still IR
    llvm::DenseMap<const llvm::Value *, bool> privates, handed;
    llvm::DenseMap<const llvm::Value *, llvm::AtomicOrdering> loads; // by address, at -O0
};
uint8_t orderOf(llvm::AtomicOrdering o);

// A sum of multiples of what the decoder knows, plus a constant, modulo 2^64.
struct Form {
    bool known = false;
    int64_t c = 0;
    llvm::SmallVector<std::pair<int, int32_t>, 3> terms; // (source, multiplier)
    static Form constant(int64_t c)
    {
        Form f;
        f.known = true;
        f.c = c;
        return f;
    }
    static Form source(int s)
    {
        Form f;
        f.known = true;
        f.terms.push_back({s, 1});
        return f;
    }
    bool isSource(int s) const
    {
        return known && c == 0 && terms.size() == 1 && terms[0].first == s && terms[0].second == 1;
    }
};
Form add(const Form &a, const Form &b, int32_t mult, int64_t c);

enum class SlotKind : uint8_t { Gpr, VecIndex, VecMask, KMask };
struct Slot {
    SlotKind kind = SlotKind::Gpr;
    int gpr = NoGpr;
    llvm::MCRegister reg;
    unsigned bytes = 8; // of a vector store
    unsigned eltBytes = 0;
    unsigned word = 0; // index of its first slot word
    bool top = false;  // at the block's top, else before `at` (nullptr: end of the MBB)
    llvm::MachineInstr *at = nullptr;
};

struct RefPlan {
    MemRef m;
    Form address; // without symbolic displacement
    Form count;   // Range
    unsigned indexSlot = 0, maskSlot = 0;
};

struct InsnPlan {
    llvm::MachineInstr *MI;
    llvm::MCSymbol *begin = nullptr, *end = nullptr;
    llvm::SmallVector<RefPlan, 2> refs;
    bool opaque = false;
    bool viewed = false, prefixed = false; // its reference adds the base of gs, by a prefix of one byte within it
};

struct Segment {
    unsigned id = 0;  // index in the function
    unsigned mbb = 0; // index in layout
    llvm::MachineBasicBlock *MBB = nullptr;
    llvm::SmallVector<llvm::MachineInstr *, 8> MIs; // real instructions
    bool sync = false, entry = false, check = false, recorded = true, opaque = false;
    // A loop of one block whose references can all be followed writes nothing while it turns; behind its
    // jump it records where its induction register has come to.
    bool silent = false, outerHeader = false;
    int induction = NoGpr;
    int64_t step = 0;
    // Before its first instruction an access waits, or a marker is noted (enum peet_hook_mark); behind its
    // last one the clock is read (enum peet_hook_clock).
    bool turn = false;
    int mark = -1, clock = -1;
    llvm::MCSymbol *turnLabel = nullptr; // where the wait returns to
    int tailOf = -1;                     // unrecorded tail: executed unless the next record is takenSegment
    int takenSegment = -1;
    int cursor = NoGpr; // register that holds the cursor at its record; NoGpr: it is to be loaded
    int after = NoGpr;  // register that holds the cursor behind its record
    bool kept = false;  // one register holds it all through a loop
    llvm::MachineInstr *insertBefore = nullptr; // top of the recording code; nullptr: end of the MBB
    llvm::MCSymbol *label = nullptr;
    uint32_t kin = 0, kout = 0, uin = 0, uout = 0; // registers known / needed, bit per GPR
    uint32_t hoist = 0;                            // registers recorded at its end for the loop that follows
    std::vector<Slot> slots;
    unsigned slotWords = 0;
    std::vector<InsnPlan> insns;
    std::vector<std::pair<int, Form>> updates;
};

struct Function {
    llvm::MachineFunction *MF;
    std::vector<llvm::MachineBasicBlock *> layout;
    std::vector<Segment> segments;
    std::vector<std::pair<unsigned, unsigned>> mbbSegments; // first, count; by layout index
    llvm::DenseMap<const llvm::MachineBasicBlock *, unsigned> layoutOf;
    // blocks of loops that do nothing but take time, and where those are left
    llvm::SmallPtrSet<const llvm::MachineBasicBlock *, 4> delays, delayEnds;
    llvm::MCSymbol *start = nullptr;                               // label at the function's first byte
    unsigned asmStatements = 0;                                    // opaque ones, and other opaque instructions
    llvm::DenseMap<const llvm::MachineInstr *, unsigned> asmAdded; // bytes of hooks in assembly text
};

// accesses.cpp: does an instruction have code of the plain program's?
bool isReal(const llvm::MachineInstr &MI);
// The first segment of a block that has a record or code; -1: none.
int firstSegment(const Function &F, unsigned mbb);
// Loops that only take time: the function's delays and delayEnds.
void findDelays(Function &F, Accesses &A);
// Gives a turn to the headers of loops that only wait, and to where delays end.
void findWaitingLoops(Function &F);
// assembly.cpp: inline assembly becomes its instructions.
void liftAssembly(Target &T, llvm::MachineFunction &MF);
// modifies.cpp: read-modify-writes without a lock become a load, an operation and a store, at granularity ref.
void splitModifies(Target &T, llvm::MachineFunction &MF);
// segments.cpp: the block that a jump goes to; nullptr: it names none.
llvm::MachineBasicBlock *targetOf(const llvm::MachineInstr &MI);
// solve.cpp: decide what is recorded where.  False and a reason if some instruction cannot be handled.
bool plan(Target &T, Function &F, const Options &O, llvm::MachineInstr *&culprit, std::string &why);
// What is live where code goes (insert.cpp); before anything is inserted.
struct Liveness {
    llvm::DenseMap<const llvm::MachineInstr *, llvm::LiveRegUnits> before, after;
    std::vector<llvm::LiveRegUnits> atEnd;               // by layout index
    llvm::DenseMap<unsigned, llvm::LiveRegUnits> behind; // silent segments: when the loop is left
    const llvm::LiveRegUnits &at(const Segment &S) const
    {
        return S.silent      ? behind.find(S.id)->second
            : S.insertBefore ? before.find(S.insertBefore)->second
                             : atEnd[S.mbb];
    }
};
// The cursor gets into a register before that block's first jump.
struct Preload {
    unsigned block;
    int to, from;
}; // from: a register that holds it by then; NoGpr: it is to be loaded
// cursor.cpp: says of each segment which registers hold the cursor.
std::vector<Preload> placeCursors(Target &T, Function &F, const Liveness &L);
// Registers that hold nothing, the best first.
std::vector<int> deadRegisters(const Target &T, const llvm::LiveRegUnits &live, uint32_t avoid);
// Where a block's last code goes: before its first jump, behind the record of a silent loop; nullptr: at its end.
llvm::MachineInstr *wayOut(const Function &F, unsigned mbb);
// insert.cpp: write the recording code.  False and a reason if it cannot.
bool insert(Target &T, Function &F, const Options &O, std::string &why);
// emit.cpp: write the schema.
void emit(Target &T, Function &F, const Options &O);

// domains.cpp: references go to the running context's view of memory.  After emit().
void view(Target &T, Function &F);

llvm::MCSymbol *label(llvm::MachineFunction &MF, const char *what, unsigned n);
void appendAsm(llvm::MachineFunction &MF, llvm::MachineBasicBlock &MBB, const std::string &text);

// How the caller's frame is found at each place of a function as the compiler made it (frames.cpp).  To be made before
// anything is inserted.
class Frames {
  public:
    explicit Frames(const llvm::MachineFunction &MF);
    // The state before this place.
    unsigned at(const llvm::MachineBasicBlock &MBB, llvm::MachineBasicBlock::const_iterator it) const;
    // Directives for code behind the function's end that is entered in that state, the stack pointer so much further
    // down.
    std::string become(unsigned state, int down = 0);
    // Code that runs below the red zone: what it has pushed, in bytes, goes when the stack pointer comes back.
    std::string below(unsigned state, const std::string &code, int pushed = 0) const;
    // Directives behind the text of an instruction that moves the stack pointer down by that many bytes (up: negative).
    std::string moved(unsigned state, int bytes) const;
    // What was said last is as the function's own last state again.
    std::string settle()
    {
        return become(end);
    }

  private:
    struct State {
        unsigned reg = 7; // in DWARF's numbers: the stack pointer
        int64_t offset = 8;
        std::map<unsigned, int64_t> saved; // registers of the caller: where, from the frame's address
    };
    bool known;
    unsigned now, end;
    std::vector<State> states;
    llvm::DenseMap<const llvm::MachineInstr *, unsigned> before;
    llvm::DenseMap<const llvm::MachineBasicBlock *, unsigned> atEnd;
};

} // namespace peet
#endif
