// SPDX-License-Identifier: Apache-2.0
// The plugin: a machine pass that runs on the final x86-64 code of each function, after register
// allocation, scheduling and layout, and makes it record itself.  What it cannot handle it refuses as a
// compile error naming function and reason; it never drops a reference silently.
#include "pass.h"

#include "costtable.h"

#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/InitializePasses.h"
#include "llvm/Passes/PassBuilder.h"
#if __has_include("llvm/Plugins/PassPlugin.h")
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif
#include "llvm/Target/RegisterTargetPassConfigCallback.h"

using namespace llvm;

namespace peet {

Options Options::get()
{
    Options O;
    const char *env = getenv("PEET_PASS_OPTIONS");
    SmallVector<StringRef, 4> parts;
    StringRef(env ? env : "").split(parts, ',', -1, false);
    for (StringRef p : parts) {
        auto [key, value] = p.split('=');
        if (key == "costs")
            O.costs = value.str();
        else if (key == "granularity")
            O.granularity = value == "ref" ? Ref : value == "block" ? Block : Iteration;
        else if (key == "derive")
            O.derive = value != "0";
        else if (key == "domains")
            O.domains = value != "0";
    }
    return O;
}

namespace {

class Recorder : public MachineFunctionPass {
  public:
    static char ID;
    Recorder() : MachineFunctionPass(ID) {}
    StringRef getPassName() const override
    {
        return "peet recording";
    }
    bool runOnMachineFunction(MachineFunction &MF) override;
};
char Recorder::ID = 0;

void refuse(MachineFunction &MF, const std::string &why, const DebugLoc &DL)
{
    std::string text = "peet cannot record this function: " + why;
    MF.getFunction().getContext().diagnose(DiagnosticInfoUnsupported(MF.getFunction(), text, DL));
}

bool Recorder::runOnMachineFunction(MachineFunction &MF)
{
    const Triple &TT = MF.getTarget().getTargetTriple();
    if (TT.getArch() != Triple::x86_64 || !TT.isOSBinFormatELF() || TT.isX32()) {
        refuse(MF, "target " + TT.str() + " is not x86-64 ELF", DebugLoc());
        return false;
    }
    if (MF.getFunction().hasFnAttribute(Attribute::Naked) || MF.empty())
        return false; // all inline assembly: opaque like any code not compiled by peetcc
    if (MF.hasBBSections()) {
        refuse(MF, "basic-block sections and function splitting are not supported", DebugLoc());
        return false;
    }
    Options O = Options::get();
    Target T(MF);
    Function F;
    F.MF = &MF;
    MachineInstr *culprit = nullptr;
    std::string why;
    liftAssembly(T, MF);
    if (O.granularity == Ref)
        splitModifies(T, MF);
    if (!plan(T, F, O, culprit, why)) {
        refuse(MF, why, culprit ? culprit->getDebugLoc() : DebugLoc());
        return false;
    }
    F.start = label(MF, "f", 0);
    BuildMI(MF.front(), MF.front().begin(), DebugLoc(), T.TII->get(TargetOpcode::ANNOTATION_LABEL)).addSym(F.start);
    if (!insert(T, F, O, why)) {
        refuse(MF, why, DebugLoc());
        return true;
    }
    emit(T, F, O);
    if (O.domains)
        view(T, F);
    return true;
}

void addRecorder(TargetMachine &, legacy::PassManagerBase &, TargetPassConfig *Config)
{
    Config->insertPass(&StackMapLivenessID, new Recorder());
}

RegisterTargetPassConfigCallback registration(addRecorder);

} // namespace
} // namespace peet

extern "C" void LLVMInitializeX86AsmParser(void);
extern "C" void LLVMInitializeX86Disassembler(void);

// flang has no use for an assembler's parser and does not initialise it; our schema is assembler text.  Inline assembly may
// hold bytes (assembly.cpp).
extern "C" __attribute__((visibility("default"))) ::llvm::PassPluginLibraryInfo llvmGetPassPluginInfo()
{
    LLVMInitializeX86AsmParser();
    LLVMInitializeX86Disassembler();
    std::string costs = peet::Options::get().costs, why;
    if (!costs.empty() && !peet::writeCosts(costs.c_str(), why))
        llvm::report_fatal_error(llvm::Twine("peet: table of costs: ") + why, false);
    return {LLVM_PLUGIN_API_VERSION, "peet", "0.1.0", [](PassBuilder &) {}};
}
