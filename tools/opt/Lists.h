// What --list-* and --print-backend show.
#ifndef TOOLS_OPT_LISTS_H
#define TOOLS_OPT_LISTS_H

namespace llvm {
class raw_ostream;
}

namespace qfx::tool {

void listPasses(llvm::raw_ostream &os);
void listOps(llvm::raw_ostream &os);
void listBackends(llvm::raw_ostream &os);
/// Observer and fake-quantizer classes with their arguments, and the named constructors.
void listObservers(llvm::raw_ostream &os);
/// The tables of docs/Observers.md.
void printObserverDocs(llvm::raw_ostream &os);
void listIsas(llvm::raw_ostream &os);

} // namespace qfx::tool

#endif // TOOLS_OPT_LISTS_H
