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
void listIsas(llvm::raw_ostream &os);

} // namespace qfx::tool

#endif // TOOLS_OPT_LISTS_H
